package aggregate

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A world is histograms, and every ordered pair of neighbours among them: both
// directions of a pair are in it.
type world struct {
	histograms [][]int
	index      map[string]int
	pairs      [][2]int
}

func newWorld(histograms [][]int) world {
	w := world{histograms: histograms, index: map[string]int{}}
	for i, c := range histograms {
		w.index[fmt.Sprint(c)] = i
	}
	return w
}

// join adds the pair of histogram i and what it becomes when class changes[0]
// changes by changes[1] and so on, if that is in the world.
func (w *world) join(i int, changes ...int) {
	other := append([]int(nil), w.histograms[i]...)
	for ; len(changes) > 0; changes = changes[2:] {
		other[changes[0]] += changes[1]
	}
	if j, ok := w.index[fmt.Sprint(other)]; ok {
		w.pairs = append(w.pairs, [2]int{i, j})
	}
}

// moves joins histograms between which one vote moves.
func (w *world) moves() {
	for i, c := range w.histograms {
		for a := range c {
			for b := range c {
				if a != b {
					w.join(i, a, -1, b, 1)
				}
			}
		}
	}
}

// changes joins histograms between which one vote appears or disappears.
func (w *world) changes() {
	for i, c := range w.histograms {
		for a := range c {
			w.join(i, a, 1)
			w.join(i, a, -1)
		}
	}
}

// smallWorld is every way so many teachers can vote or abstain: one of them votes
// otherwise, stops or starts voting.
func smallWorld(teachers, classes int) world {
	var all [][]int
	for votes := range teachers + 1 {
		all = append(all, histograms(votes, classes)...)
	}
	w := newWorld(all)
	w.moves()
	w.changes()
	return w
}

// movedVote is every way so many votes can fall, one of which moves.
func movedVote(votes, classes int) world {
	w := newWorld(histograms(votes, classes))
	w.moves()
	return w
}

// changedVote is every way so many votes can fall, with one more or less.
func changedVote(votes, classes int) world {
	all := histograms(votes, classes)
	all = append(all, histograms(votes+1, classes)...)
	w := newWorld(append(all, histograms(votes-1, classes)...))
	w.changes()
	return w
}

// histograms lists every way so many votes can fall.
func histograms(votes, classes int) [][]int {
	if classes == 1 {
		return [][]int{{votes}}
	}
	var out [][]int
	for n := range votes + 1 {
		for _, rest := range histograms(votes-n, classes-1) {
			out = append(out, append([]int{n}, rest...))
		}
	}
	return out
}

type lawFunc = func(Histogram) (Law, error)

// neighbours are the laws of every pair of w.
func (w world) neighbours(t require.TestingT, law lawFunc) [][2]Law {
	laws := make([]Law, len(w.histograms))
	for i, c := range w.histograms {
		var err error
		laws[i], err = law(histogram(t, c...))
		require.NoError(t, err)
	}
	pairs := make([][2]Law, len(w.pairs))
	for i, p := range w.pairs {
		pairs[i] = [2]Law{laws[p[0]], laws[p[1]]}
	}
	return pairs
}

// worst is the largest value over all pairs, for each x.
func worst(pairs [][2]Law, xs []float64, divergence func(x float64, p, q Law) float64) []float64 {
	out := make([]float64, len(xs))
	for _, pair := range pairs {
		for i, x := range xs {
			out[i] = max(out[i], divergence(x, pair[0], pair[1]))
		}
	}
	return out
}

// outcomes calls f with the two log probabilities of every answer, declining included.
func outcomes(p, q Law, f func(lp, lq float64)) {
	for i := range p.LogLabels {
		f(p.LogLabels[i], q.LogLabels[i])
	}
	f(p.LogDeclined, q.LogDeclined)
}

// renyi is D_a(p || q).
func renyi(a float64, p, q Law) float64 {
	if math.IsInf(a, 1) {
		return logRatio(p, q)
	}
	sum := newLogSums(1)
	outcomes(p, q, func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			sum[0].add(a*lp + (1-a)*lq)
		}
	})
	return sum[0].log() / (a - 1)
}

// logRatio is the largest log-ratio of p to q.
func logRatio(p, q Law) float64 {
	largest := math.Inf(-1)
	outcomes(p, q, func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			largest = max(largest, lp-lq)
		}
	})
	return largest
}

// hockeyStick is the least delta for which p is (epsilon, delta)-close to q.
func hockeyStick(epsilon float64, p, q Law) float64 {
	delta := 0.0
	outcomes(p, q, func(lp, lq float64) {
		if lp > lq+epsilon {
			delta -= math.Exp(lp) * math.Expm1(lq+epsilon-lp)
		}
	})
	return delta
}

func TestWorldsAreComplete(t *testing.T) {
	for teachers := 1; teachers <= 6; teachers++ {
		w := smallWorld(teachers, 3)
		require.Len(t, w.histograms, (teachers+1)*(teachers+2)*(teachers+3)/6)
		seen := map[[2]int]bool{}
		for _, p := range w.pairs {
			require.False(t, seen[p])
			seen[p] = true
		}
		for p := range seen {
			require.True(t, seen[[2]int{p[1], p[0]}], "both directions")
		}
		// brute force: assignments of votes that differ in one teacher
		votes := make([]int, teachers)
		found := map[[2]int]bool{}
		counts := func() int {
			c := make([]int, 3)
			for _, v := range votes {
				if v < 3 {
					c[v]++
				}
			}
			return w.index[fmt.Sprint(c)]
		}
		for code := range int(math.Pow(4, float64(teachers))) {
			for i := range votes {
				votes[i] = code & 3
				code >>= 2
			}
			from, old := counts(), votes[0]
			for v := range 4 {
				votes[0] = v
				if to := counts(); v != old {
					found[[2]int{from, to}] = true
				}
			}
		}
		require.Equal(t, found, seen)
	}
}
