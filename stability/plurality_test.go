package stability

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

func graph(n, classes int, change Change) (nodes, edges [][]int) {
	nodes = testkit.Histograms(n, classes)
	return nodes, testkit.Neighbours(nodes, change == VoteMoves)
}

func winners(h []int, ties Ties) (set []int) {
	for j, n := range h {
		if n == slices.Max(h) {
			set = append(set, j)
		}
	}
	if ties == LowestIndex {
		set = set[:1]
	}
	return set
}

func radii(nodes, edges [][]int, ties Ties) []int64 {
	radius := make([]int64, len(nodes))
	var queue []int
	for i, h := range nodes {
		radius[i] = -1
		own := winners(h, ties)
		unstable := len(own) > 1
		for _, j := range edges[i] {
			other := winners(nodes[j], ties)
			unstable = unstable || len(other) > 1 || other[0] != own[0]
		}
		if unstable {
			radius[i] = 0
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range edges[i] {
			if radius[j] < 0 {
				radius[j] = radius[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return radius
}

func TestPluralityIsBreadthFirstSearch(t *testing.T) {
	for _, change := range []Change{VoteMoves, VoteAppears} {
		for _, ties := range []Ties{LowestIndex, AnyTies} {
			compared := 0
			for classes := 2; classes <= 4; classes++ {
				teachers := 8
				if change == VoteAppears {
					teachers = 17 // so that there are enough to cast any vote
				}
				if change == VoteAppears && classes == 4 {
					teachers = 12
				}
				nodes, edges := graph(teachers, classes, change)
				radius := radii(nodes, edges, ties)
				for i, h := range nodes {
					if change == VoteAppears && sum(h) > teachers/2 {
						continue // the search ends at the last teacher
					}
					winner, distance := testkit.Must2(Plurality(h, change, ties))
					require.Equal(t, winners(h, LowestIndex)[0], winner)
					require.Equal(t, radius[i], distance, "%v, change %v, ties %v", h, change, ties)
					compared++
				}
			}
			t.Logf("change %d, ties %d: %d histograms", change, ties, compared)
		}
	}
}

func TestOtherStatisticsAreNotAdmissible(t *testing.T) {
	type verdict struct{ sensitivity, atChange float64 }
	lead := func(h []int) float64 { _, lead := margin(h); return float64(lead) }
	distance := func(ties Ties) func(h []int) float64 {
		return func(h []int) float64 {
			_, d := testkit.Must2(Plurality(h, VoteMoves, ties))
			return float64(d)
		}
	}
	for name, c := range map[string]struct {
		statistic func(h []int) float64
		want      verdict
	}{
		"distance":          {distance(LowestIndex), verdict{1, 0}},
		"tie-safe distance": {distance(AnyTies), verdict{1, 0}},
		"(gap-2)/2":         {func(h []int) float64 { return max(0, (lead(h)-2)/2) }, verdict{1, 0}},
		"gap/2":             {func(h []int) float64 { return lead(h) / 2 }, verdict{1, 1}},
		"floor of gap/2":    {func(h []int) float64 { return math.Floor(lead(h) / 2) }, verdict{1, 1}},
		"ceil of gap/2":     {func(h []int) float64 { return math.Ceil(lead(h) / 2) }, verdict{1, 1}},
		"(gap-1)/2":         {func(h []int) float64 { return max(0, (lead(h)-1)/2) }, verdict{1, 0.5}},
		"gap-1":             {func(h []int) float64 { return max(0, lead(h)-1) }, verdict{2, 1}},
		"gap":               {lead, verdict{2, 2}},
	} {
		var got verdict
		for classes := 2; classes <= 4; classes++ {
			nodes, edges := graph(7, classes, VoteMoves)
			for i, h := range nodes {
				for _, j := range edges[i] {
					a, b := c.statistic(h), c.statistic(nodes[j])
					got.sensitivity = max(got.sensitivity, math.Abs(a-b))
					if winners(h, LowestIndex)[0] != winners(nodes[j], LowestIndex)[0] {
						got.atChange = max(got.atChange, a, b)
					}
				}
			}
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestPluralityRefuses(t *testing.T) {
	for _, counts := range [][]int{nil, {1}, {1, -1}, {1, maxCount + 1}} {
		require.Error(t, testkit.Err2(Plurality(counts, VoteMoves, LowestIndex)))
	}
	require.ErrorContains(t, testkit.Err2(Plurality([]int{1, 2}, 0, LowestIndex)), "Change")
	require.ErrorContains(t, testkit.Err2(Plurality([]int{1, 2}, VoteMoves, 3)), "Ties")
}

func mstabWorld(t *testing.T, m *MStab, statistic func(h []int) (int, int64)) (worst func(eps float64) float64) {
	var pairs [][2][]float64
	for _, classes := range []int{2, 3} {
		nodes, edges := graph(6, classes, VoteMoves)
		law := func(h []int) []float64 {
			winner, d := statistic(h)
			released, failed := m.Law(d)
			p := make([]float64, classes+1)
			p[winner], p[classes] = math.Exp(released), math.Exp(failed)
			return p
		}
		for i := range nodes {
			for _, j := range edges[i] {
				pairs = append(pairs, [2][]float64{law(nodes[i]), law(nodes[j])})
			}
		}
	}
	return func(eps float64) (worst float64) {
		for _, p := range pairs {
			worst = max(worst, testkit.EitherHockeyStick(p[0], p[1], eps))
		}
		return worst
	}
}

func exactDistance(t *testing.T) func(h []int) (int, int64) {
	return func(h []int) (int, int64) {
		winner, d := testkit.Must2(Plurality(h, VoteMoves, LowestIndex))
		return winner, d
	}
}

func TestSmallWorldMStab(t *testing.T) {
	for _, cfg := range []MStabConfig{
		{Noise: Laplace, Epsilon: 0.5, Delta: 0.1},
		{Noise: Laplace, Epsilon: 1, Delta: 0.15},
		{Noise: Laplace, Epsilon: 2, Delta: 0.01},
		{Noise: Gaussian, Sigma: 1, Delta: 0.05},
		{Noise: Gaussian, Sigma: 3, Delta: 0.2},
		{Noise: OneShot, Epsilon: 0.5, Delta: 0.1},
		{Noise: OneShot, Epsilon: 1, Delta: 0.01},
	} {
		m := newMStab(t, cfg)
		worst, largest := mstabWorld(t, m, exactDistance(t)), 0.0
		for _, eps := range []float64{0, 0.1, 0.3, 0.5, 0.8, 1, 1.5, 2, 3} {
			exact, claim := worst(eps), deltaOf(t, m.Event(), eps)
			require.LessOrEqual(t, exact, claim*(1+1e-9), "%+v at %g", cfg, eps)
			largest = max(largest, exact/claim)
		}
		t.Logf("%+v: largest share of the claim %.4f", cfg, largest)
		require.Greater(t, largest, 0.5, "and the claim is not idle")
	}
}

func TestSmallWorldControls(t *testing.T) {
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 1, Delta: 0.01})
	for name, statistic := range map[string]func(h []int) (int, int64){
		"gap - 1":      func(h []int) (int, int64) { w, d := margin(h); return w, d - 1 },
		"gap":          margin,
		"half the gap": func(h []int) (int, int64) { w, d := margin(h); return w, (d + 1) / 2 },
		"votes, not moves": func(h []int) (int, int64) {
			w, d := testkit.Must2(Plurality(h, VoteAppears, LowestIndex))
			return w, d
		},
	} {
		require.Greater(t, mstabWorld(t, m, statistic)(1), 1.5*m.failure, name)
	}
	t.Run("lowest index for ties at random", func(t *testing.T) {
		// (1, 1) may go to class 1, while class 0 has distance 0 + ... at (2, 1).
		_, d, err := Plurality([]int{2, 0}, VoteMoves, LowestIndex)
		require.NoError(t, err)
		require.EqualValues(t, 1, d)
		_, d, err = Plurality([]int{2, 0}, VoteMoves, AnyTies)
		require.NoError(t, err)
		require.EqualValues(t, 0, d, "its neighbour (1, 1) may have another winner")
	})
	t.Run("the gap - 1 of lecture notes", func(t *testing.T) {
		// Continuous noise, threshold log(1/delta)/eps, (epsilon, delta) = (1, 0.01).
		law := ContinuousLaplace{Epsilon: 1, Threshold: math.Log(100)}
		low, _ := law.Law(-1 + 2) // (0, 2): gap 2
		require.InEpsilon(t, 0.01359140914229522, math.Exp(low), 1e-12, "false release, whose neighbour (1, 1) has another winner")
		right, _ := law.Law(0)
		require.InEpsilon(t, 0.005, math.Exp(right), 1e-12)
		a, _ := law.Law(0)
		b, _ := law.Law(2)
		require.InEpsilon(t, 2, b-a, 1e-12, "log-ratio of equal answers: twice the epsilon claimed")
	})
}

func margin(h []int) (int, int64) {
	winner, second := winners(h, LowestIndex)[0], 0
	for j, n := range h {
		if j != winner {
			second = max(second, n)
		}
	}
	return winner, int64(h[winner] - second)
}

func TestComposition(t *testing.T) {
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 0.5, Delta: 0.02, Questions: 5})
	claim := accountant.Composed{Events: []accountant.Event{m.Event(), accountant.ExponentialMechanism{Epsilon: 0.8}}}
	at := func(label int, d int64) []float64 {
		released, failed := m.Law(d)
		p := []float64{0, 0, math.Exp(failed)}
		p[label] = math.Exp(released)
		return p
	}
	p, q := []float64{0.5, 0.5}, []float64{1 / (1 + math.Exp(0.8)), 1 / (1 + math.Exp(-0.8))}
	for _, other := range [][2][]float64{{at(0, 0), at(1, 0)}, {at(0, 3), at(0, 4)}, {at(0, 0), at(1, 0)}, {at(1, 9), at(1, 8)}, {at(0, 5), at(0, 6)}} {
		p, q = product(p, other[0]), product(q, other[1])
	}
	largest := 0.0
	for _, eps := range []float64{0, 0.5, 1, 1.5, 2, 3} {
		exact, charged := testkit.EitherHockeyStick(p, q, eps), deltaOf(t, claim, eps)
		require.LessOrEqual(t, exact, charged)
		largest = max(largest, exact/charged)
	}
	t.Logf("largest share of the claim: %.4f", largest)
}

func product(p, q []float64) []float64 {
	var out []float64
	for _, x := range p {
		for _, y := range q {
			out = append(out, x*y)
		}
	}
	return out
}
