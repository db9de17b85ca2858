package stability

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// mstabWorld enumerates every pair of neighbouring histograms under a statistic.
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
		winner, d, err := Plurality(h, VoteMoves, LowestIndex)
		require.NoError(t, err)
		return winner, d
	}
}

// TestSmallWorldMStab tries every histogram of at most six votes and every neighbour. What
// an adversary can gain is at most what is charged.
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

// TestSmallWorldControls tries broken variants on the same world.
func TestSmallWorldControls(t *testing.T) {
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 1, Delta: 0.01})
	for name, statistic := range map[string]func(h []int) (int, int64){
		"gap - 1":      func(h []int) (int, int64) { w, d := margin(h); return w, d - 1 },
		"gap":          margin,
		"half the gap": func(h []int) (int, int64) { w, d := margin(h); return w, (d + 1) / 2 },
		"votes, not moves": func(h []int) (int, int64) {
			w, d, err := Plurality(h, VoteAppears, LowestIndex)
			require.NoError(t, err)
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

// TestComposition enumerates five questions on both kinds of neighbours at once, and an
// exponential mechanism beside them. The account covers it.
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
