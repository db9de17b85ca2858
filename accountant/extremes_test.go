package accountant

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// Absurd but valid parameters, by every accountant: a bound or +Inf, never NaN, never a hang.
func TestAccountantsAtExtremes(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{5e-324, 30, math.MaxFloat64} {
		for i, e := range []Event{
			PureDP{x}, LNMax{Scale: x}, Gaussian{x}, ZCDP{x}, DiscreteGaussian{x, 1}, WithFailure{PureDP{x}, 1e-6},
			PoissonSampled{1e-9, Gaussian{x}}, PoissonSampled{1e-9, PureDP{x}},
			TruncatedPoisson{0.5, math.MaxInt64, math.MaxInt64, Gaussian{x}}, TruncatedPoisson{1e-9, 100, math.MaxInt64, PureDP{1}},
			SampledWithoutReplacement{1, math.MaxInt64, Gaussian{x}}, Selection{x, 1e-300, PureDP{0.1}}, Selection{1, 1e-9, PureDP{x}},
			PoissonSelection{x, Gaussian{30}}, Group{math.MaxInt64, Gaussian{x}}, Group{1 << 40, PoissonSampled{0.1, Gaussian{x}}},
			Laplace{x}, DiscreteLaplace{x, 3}, DiscreteLaplace{x, math.MaxInt64}, ExponentialMechanism{x}, GNMax{Sigma: x}, MStab{x, 1},
			AboveThreshold{x, 1, 9}, StableSVT{x, 1, 1, math.MaxInt64}, KaryResponse{x, math.MaxInt64}, Composed{[]Event{PureDP{x}, PureDP{0.1}, LNMax{Scale: 7}, Gaussian{3}}},
		} {
			if skipped(i+int(math.Log(x)/100), 8) {
				continue
			}
			for _, n := range []int64{1, math.MaxInt64} {
				for _, rel := range []Relation{AddRemove, ReplaceOne} {
					for name, a := range newAccounts(t, rel) {
						if name == "pld" || strings.Contains(name, " ") || a.Compose(e, n) != nil {
							continue // pld has its own; a theorem alone is part of the best
						}
						start := time.Now()
						for _, delta := range []float64{0, 1e-300, 1e-5} {
							b := epsAt(t, a, delta)
							require.GreaterOrEqual(t, b.Upper, 0.0, "%s %#v x %d at %v", name, e, n, delta) // NaN fails
						}
						d := deltaAt(t, a, 1).Upper
						require.True(t, d >= 0 && d <= 1, "%s %#v x %d", name, e, n)
						require.Less(t, time.Since(start), time.Minute, "%s %#v x %d", name, e, n)
					}
				}
			}
		}
	}
}

// The exact composition of very many runs against the Gaussian it tends to.
func TestOptimalOfVeryMany(t *testing.T) {
	for _, n := range []int64{1e4, 1e6, 1e9} {
		eps := 1 / math.Sqrt(float64(n))
		o, err := NewOptimal(AddRemove)
		got := upperOf(t, o, err, 1e-5, Repeated{PureDP{eps}, n})
		limit := testkit.Must(GaussianEpsilon(1, 1e-5))
		require.InEpsilon(t, limit, got, 3/math.Sqrt(float64(n)))
	}
}

// TestGaussianEpsilonWithoutNoise: noise that no float64 of epsilon describes ends in infinity, and the
// search ends.
func TestGaussianEpsilonWithoutNoise(t *testing.T) {
	for _, sigma := range []float64{5e-324, 1e-308, 1e-200} {
		epsilon := testkit.Must(GaussianEpsilon(sigma, 1e-5))
		require.True(t, math.IsInf(epsilon, 1), "%g: %g", sigma, epsilon)
	}
	epsilon := testkit.Must(GaussianEpsilon(1e-150, 1e-5))
	require.InEpsilon(t, 5e299, epsilon, 1e-9)
}
