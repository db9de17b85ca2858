package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The event of a stable sparse vector costs 1/B1 + 2 Failures/B2, and fails with the tail of the threshold
// noise above the threshold.
func TestStableSVTIsItsFormula(t *testing.T) {
	for _, e := range []StableSVT{{4, 8, 40, 1}, {1, 2, 0, 7}, {100, 3, 999, 50}} {
		epsilon := 1/e.B1 + 2*float64(e.Failures)/e.B2
		d, failure := rdpAt(t, math.Inf(1), e)
		require.GreaterOrEqual(t, d, epsilon)
		require.InEpsilon(t, epsilon, d, 1e-11)
		tail := math.Exp(-float64(e.Threshold+1) / e.B1)
		require.GreaterOrEqual(t, failure, tail*(1-1e-13))
		require.InEpsilon(t, tail, failure, 1e-11)
	}
}

// At a real order the log moment of sampled integer noise is taken on the chord between whole orders, which
// it lies below.
func TestSampledIntegerNoiseIsOnTheChord(t *testing.T) {
	for _, e := range []PoissonSampled{{0.1, DiscreteGaussian{2, 1}}, {0.5, DiscreteGaussian{1, 1}}, {0.01, GNMax{Sigma: 3, Discrete: true}}} {
		for _, order := range []float64{2, 3, 10} {
			at := func(a float64) float64 {
				d, _ := rdpAt(t, a, e)
				return d * (a - 1)
			}
			require.GreaterOrEqual(t, at(order+0.5), (at(order)+at(order+1))/2*(1-1e-9), "%+v at %v", e, order)
		}
	}
}

// A moved vote has norm sqrt(2) among noisy counts, 1 in a test of the largest, and changes two counts with
// Laplace noise.
func TestRhoOfVotes(t *testing.T) {
	for _, discrete := range []bool{false, true} {
		require.InEpsilon(t, 1.0/9, PropertiesOf(GNMax{Sigma: 3, Discrete: discrete}).Rho, 1e-12)
		require.InEpsilon(t, 2.0/3*math.Tanh(1.0/6), PropertiesOf(LNMax{Scale: 3, Discrete: discrete}).Rho, 1e-12)
		require.InEpsilon(t, 1.0/18, PropertiesOf(Threshold{Sigma: 3, Discrete: discrete}).Rho, 1e-12)
	}
}

// Several Gaussian releases from one sample are one of less noise.
func TestSeveralReleasesFromOneSample(t *testing.T) {
	several := PoissonSampled{0.1, Composed{[]Event{Repeated{Gaussian{2}, 3}, Gaussian{5}}}}
	one := PoissonSampled{0.1, Gaussian{1 / math.Sqrt(3.0/4+1.0/25)}}
	for _, order := range []float64{1.5, 2, 20} {
		got, _ := rdpAt(t, order, several)
		want, _ := rdpAt(t, order, one)
		require.InEpsilon(t, want, got, 1e-9)
	}
}

// A sensitivity of the root of 2 is a shift by one on two coordinates.
func TestShiftsOfIntegerNoiseAreCounted(t *testing.T) {
	epsilon := func(e Event) Bound {
		return pldEpsilon(t, PLDConfig{Relation: AddRemove}, 1e-6, e)
	}
	root, twice := epsilon(DiscreteGaussian{4, math.Sqrt2}), epsilon(Repeated{DiscreteGaussian{4, 1}, 2})
	require.InDelta(t, twice.Upper, root.Upper, 2e-3)
	require.Greater(t, root.Lower, epsilon(DiscreteGaussian{4, 1}).Upper+0.1)
}
