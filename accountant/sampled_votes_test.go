package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A vote that takes part with probability q and moves from one count to another: the divergence of both
// noisy counts, over all pairs of integers. A charge for a single count is half of it.
func TestSampledDiscreteVotesMoveTwoCounts(t *testing.T) {
	const sigma, q, reach = 2.0, 0.2, 40
	noise := law(reach+1, func(x float64) float64 { return math.Exp(-x * x / (2 * sigma * sigma)) })
	at := func(x int) float64 { return noise[x+reach+1] }
	for _, a := range []float64{2, 3, 5, 16} {
		moment := 0.0
		for x := -reach; x <= reach; x++ {
			for y := -reach; y <= reach; y++ {
				without := at(x) * at(y)
				with := (1-q)*without + q*at(x-1)*at(y+1)
				moment += math.Pow(with/without, a) * without
			}
		}
		truth := math.Log(moment) / (a - 1)
		claim, failure := rdpAt(t, a, PoissonSampled{q, GNMax{Sigma: sigma, Discrete: true}})
		require.Zero(t, failure)
		assert.GreaterOrEqual(t, claim, truth*(1-1e-12), "order %v", a)
		assert.InEpsilon(t, truth, claim, 1e-6, "order %v", a)
	}
}

// A group of up to 2^c records costs 3^c times the divergence of one at the 2^c-fold order: three triangle
// inequalities per doubling (Mironov 2017, Proposition 2).
func TestGroupsOfASampleCostThreePerDoubling(t *testing.T) {
	sample := PoissonSampled{0.001, Gaussian{4}}
	for _, c := range []struct {
		size            int64
		doublings, cost float64
	}{{2, 1, 3}, {3, 2, 9}, {4, 2, 9}, {5, 3, 27}, {8, 3, 27}} {
		for _, a := range []float64{2, 2.5, 8} {
			got, _ := rdpAt(t, a, Group{c.size, sample})
			want, _ := rdpAt(t, a*math.Exp2(c.doublings), Repeated{sample, int64(c.cost)})
			assert.InEpsilon(t, want, got, 1e-12, "groups of %d, order %v", c.size, a)
		}
	}
}
