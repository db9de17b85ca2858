package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func logUniform(lo, hi float64) *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, "log"))
	})
}

// leaves draws one of every single mechanism.
func leaves() *rapid.Generator[Event] {
	return rapid.Custom(func(t *rapid.T) Event {
		x := logUniform(0.05, 500).Draw(t, "x")
		y := logUniform(0.05, 50).Draw(t, "y")
		n := rapid.Int64Range(1, 50).Draw(t, "n")
		q := logUniform(1e-5, 1).Draw(t, "q")
		return rapid.SampledFrom([]Event{
			Gaussian{x}, Laplace{x}, DiscreteGaussian{x, y}, DiscreteLaplace{x, n}, ExponentialMechanism{1 / x},
			PureDP{1 / x}, RandomizedResponse{1 / x}, ZCDP{1 / x}, GNMax{Sigma: x}, Threshold{Sigma: x}, LNMax{Scale: x},
			MStab{1 / y, 60 * y}, AboveThreshold{1 / x, 1 / y, n}, StableSVT{x, y, 40 * n, n},
			PoissonSampled{q, Gaussian{x}}, GNSS{1 / y, x, 1 / x}, NonPrivate{},
		}).Draw(t, "leaf")
	})
}

// trees draws nested events.
func trees(depth int) *rapid.Generator[Event] {
	if depth == 0 {
		return leaves()
	}
	return rapid.Custom(func(t *rapid.T) Event {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return Composed{rapid.SliceOfN(trees(depth-1), 0, 3).Draw(t, "events")}
		case 1:
			return Repeated{trees(depth-1).Draw(t, "event"), rapid.Int64Range(0, 1000).Draw(t, "count")}
		case 2:
			return WithFailure{trees(depth-1).Draw(t, "event"), logUniform(1e-12, 1e-3).Draw(t, "delta")}
		case 3:
			return PoissonSampled{rapid.SampledFrom([]float64{0, 1}).Draw(t, "all or none"), trees(depth-1).Draw(t, "event")}
		}
		return leaves().Draw(t, "leaf")
	})
}

// Refinement stops at different points, so comparisons allow its tolerance.
const refineSlack = 1 + 1e-8

func TestMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := logUniform(1e-6, 1).Draw(t, "q")
		sigma := logUniform(0.05, 100).Draw(t, "sigma")
		steps := rapid.Int64Range(1, 1_000_000).Draw(t, "steps")
		delta := logUniform(1e-15, 0.1).Draw(t, "delta")
		more := rapid.Float64Range(1, 3).Draw(t, "more")
		eps := func(q, sigma float64, steps int64, delta float64) float64 {
			return epsilonOf(t, RDPConfig{}, delta, sgd(q, sigma, steps)).Upper
		}
		base := eps(q, sigma, steps, delta)
		assert.LessOrEqual(t, base, eps(math.Min(1, q*more), sigma, steps, delta)*refineSlack, "q")
		assert.LessOrEqual(t, base, eps(q, sigma, int64(float64(steps)*more)+1, delta)*refineSlack, "steps")
		assert.LessOrEqual(t, eps(q, sigma*more, steps, delta), base*refineSlack, "sigma")
		assert.LessOrEqual(t, eps(q, sigma, steps, math.Min(0.5, delta*more)), base*refineSlack, "delta")
	})
}

// Epsilon and Delta are each other's inverse, and composing adds cost.
func TestDeltaInvertsEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRDP(t, RDPConfig{Orders: DefaultOrders()}, trees(2).Draw(t, "event"))
		delta := logUniform(1e-12, 0.1).Draw(t, "delta")
		b := epsAt(t, r, delta)
		if math.IsInf(b.Upper, 1) {
			return
		}
		back := deltaAt(t, r, b.Upper)
		assert.LessOrEqual(t, back.Upper, delta*(1+1e-6))
		require.NoError(t, r.Compose(leaves().Draw(t, "another"), 1))
		c := epsAt(t, r, delta)
		assert.LessOrEqual(t, b.Upper, c.Upper)
	})
}

func TestExtremes(t *testing.T) {
	t.Parallel()
	for _, q := range []float64{1e-9, 0.5, 1 - 1e-12, 1} {
		for i, sigma := range []float64{0.01, 0.0399, 0.04, 0.3, 1, 30, 1e6} {
			if skipped(i+int(q*8), 6) {
				continue
			}
			for _, steps := range []int64{1, 1e9} {
				r := newRDP(t, RDPConfig{}, sgd(q, sigma, steps))
				previous := 0.0
				for _, delta := range []float64{0.5, 1e-5, 1e-300} {
					b := epsAt(t, r, delta)
					require.False(t, math.IsNaN(b.Upper) || math.IsInf(b.Upper, 0), "%v %v %v %v: %+v", q, sigma, steps, delta, b)
					require.GreaterOrEqual(t, b.Upper*refineSlack, previous, "%v %v %v %v", q, sigma, steps, delta)
					previous = b.Upper
				}
				for _, eps := range []float64{0, 1, 1e9} {
					b := deltaAt(t, r, eps)
					require.True(t, b.Upper >= 0 && b.Upper <= 1, "%+v", b)
				}
			}
		}
	}
}

func TestEveryCurveGrowsWithItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRDP(t, RDPConfig{}, leaves().Draw(t, "leaf"))
		values, _, err := r.RDP(DefaultOrders())
		require.NoError(t, err)
		for i, v := range values {
			require.False(t, math.IsNaN(v) || v < 0)
			if i > 0 {
				require.GreaterOrEqual(t, v*(1+1e-9), values[i-1], "order %v", DefaultOrders()[i])
			}
		}
	})
}

// Two unrelated methods for the same moment, up to large orders, where the integrand has two bumps far
// apart.
func TestQuadratureAgainstBinomialSum(t *testing.T) {
	worst := 0.0
	for _, q := range []float64{1e-7, 1e-4, 0.004, 0.05, 0.3, 0.9, 0.999} {
		for _, sigma := range []float64{0.04, 0.06, 0.1, 0.17, 0.3, 0.5, 0.8, 1.2, 2, 4, 10, 60, 1000} {
			g := newSampledGaussian(q, sigma)
			for _, n := range []int{2, 3, 5, 9, 17, 40, 64, 91, 150, 256, 400, 700, 1000} {
				want, got := g.binomial(n), g.quadrature(float64(n))
				e := relErr(got, want)
				worst = math.Max(worst, e)
				require.LessOrEqual(t, e, 1e-11, "q=%v sigma=%v order=%d: %v, want %v", q, sigma, n, got, want)
			}
		}
	}
	t.Logf("worst relative error %.2g", worst)
}

// TestSubnormalDelta: a smaller delta never costs less epsilon, also where floating-point numbers lose
// their leading bit.
func TestSubnormalDelta(t *testing.T) {
	account := newRDP(t, RDPConfig{Relation: AddRemove}, Gaussian{1})
	last := 0.0
	for _, delta := range []float64{1e-300, 1e-307, 1e-310, 1e-320, 5e-324} {
		b := epsAt(t, account, delta)
		require.Greater(t, b.Upper, last*(1+1e-4), "delta %v", delta)
		last = b.Upper
	}
}
