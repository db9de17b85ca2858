package student

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

// TestAPartOfALargePool has all labelled rows, as far as they fit, and others.
func TestAPartOfALargePool(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	labelled := []int{5, 8000, 19_999}
	rows := partOf(30_000, labelled, rnd)
	require.Len(t, rows, MaxSpread)
	require.True(t, slices.IsSorted(rows))
	require.Len(t, slices.Compact(slices.Clone(rows)), MaxSpread)
	for _, r := range labelled {
		require.Contains(t, rows, r)
	}
	many := make([]int, MaxSpread+7)
	for i := range many {
		many[i] = 2 * i
	}
	rows = partOf(30_000, many, rnd)
	require.Len(t, rows, MaxSpread)
	for _, r := range rows {
		require.Zero(t, r%2)
	}
	require.Equal(t, []int{0, 1, 2}, partOf(3, []int{1}, rnd))
}

// TestCentreTakesAwayWhatChanceNamed: rows far from any label lean to the class that was named once more than
// the other, and after centring to what they differ by; rows that no label reached stay zero.
func TestCentreTakesAwayWhatChanceNamed(t *testing.T) {
	labels := []int{0, 0, 1, Unlabelled, Unlabelled}
	soft := dense.New(5, 2)
	copy(soft.Data, []float32{.9, .1, .8, .2, .3, .7, .6, .4, 0, 0})
	require.Equal(t, []int{0, 0, 1, 0, Unlabelled}, harden(soft))
	centre(soft, labels, []int{0, 1})
	require.Equal(t, []int{0, 0, 1, 1, Unlabelled}, harden(soft), "0.6 is less than the two thirds that were named")
}

// TestCentreLeavesUnevenClasses: eighty of a hundred labels are no chance, and one class
// has nothing to be compared with.
func TestCentreLeavesUnevenClasses(t *testing.T) {
	labels := make([]int, 100)
	for i := range 20 {
		labels[i] = 1
	}
	soft := dense.New(100, 2)
	for i := range 100 {
		soft.Data[2*i], soft.Data[2*i+1] = .7, .3
	}
	centre(soft, labels, []int{0, 1})
	require.Equal(t, []float32{.7, .3}, soft.Data[:2])

	one := dense.New(2, 1)
	one.Data[0], one.Data[1] = 1, 1
	centre(one, []int{0, Unlabelled}, []int{0})
	require.Equal(t, []float32{1, 1}, one.Data)
}

// TestSpreadSolves: what comes out is the solution, which a thousand rounds of the plain iteration reach.
func TestSpreadSolves(t *testing.T) {
	const n, classes = 400, 3
	rnd := rand.New(rand.NewPCG(1, 2))
	z, labels := dense.New(n, 3), make([]int, n)
	for i := range z.Data {
		z.Data[i] = float32(rnd.NormFloat64())
	}
	for i := range labels {
		if labels[i] = Unlabelled; i%20 == 0 {
			labels[i] = rnd.IntN(classes)
		}
	}
	found := testkit.Must(findNeighbours(t.Context(), z, 10))
	g := found.graph(10)
	got := testkit.Must(g.spread(t.Context(), labels, []int{0, 1, 2}, classes))
	want, next := dense.New(n, classes), dense.New(n, classes)
	for range 1000 {
		for i, y := range labels {
			out := dense.Row(next, i)
			clear(out)
			for e := g.start[i]; e < g.start[i+1]; e++ {
				for c, v := range dense.Row(want, int(g.to[e])) {
					out[c] += alpha * g.weight[e] * v
				}
			}
			if y != Unlabelled {
				next.Data[i*classes+y] += 1 - alpha
			}
		}
		want, next = next, want
	}
	for i := range n {
		normalise(dense.Row(want, i))
		for c, v := range dense.Row(want, i) {
			require.InDelta(t, v, dense.Row(got, i)[c], 1e-3, "row %d", i)
		}
	}
}

// TestCandidatesBecomeAsSureAsTheyAreRight: whatever a candidate claims for the
// class it answers, after tempering it claims about the rate at which it is right.
func TestCandidatesBecomeAsSureAsTheyAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		claim float32
		right int // of 100
	}{
		"certain, right 60 times":      {1, 60},
		"doubting, right 90 times":     {.6, 90},
		"as sure as right":             {.8, 80},
		"certain, no better than coin": {1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			scores, labels := dense.New(100, 2), make([]int, 100)
			for i := range labels {
				answer := i % 2
				labels[i] = answer
				if i >= c.right {
					labels[i] = 1 - answer
				}
				scores.Data[2*i+answer], scores.Data[2*i+1-answer] = c.claim, 1-c.claim
			}
			temper(scores, bestPower(scores, labels))
			for i := range labels {
				require.InDelta(t, float64(c.right)/100, scores.Data[2*i+i%2], .08)
				require.InDelta(t, 1, scores.Data[2*i]+scores.Data[2*i+1], 1e-5)
			}
		})
	}
}
