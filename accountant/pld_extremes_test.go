package accountant

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// Parameters at the edge of the valid ones: an answer that is in order, or a wide one, within seconds.
func TestPLDExtremes(t *testing.T) {
	t.Parallel()
	noises, deltas := []float64{0.01, 1, 1e6}, []float64{0.5, 1e-5, 1e-300}
	counts := []int64{1, 1e9}
	for _, q := range []float64{1e-9, 0.01, 1 - 1e-9} {
		for _, sigma := range noises {
			for _, n := range counts {
				p := newPLD(t, PLDConfig{MaxMemory: 1 << 20}, sgd(q, sigma, n))
				for _, delta := range deltas {
					b := epsAt(t, p, delta)
					require.False(t, math.IsNaN(b.Lower) || math.IsNaN(b.Upper))
					require.LessOrEqual(t, b.Lower, b.Upper)
					require.LessOrEqual(t, 0.0, b.Lower)
					all := testkit.Must(GaussianEpsilon(sigma/math.Sqrt(float64(n)), delta))
					require.LessOrEqual(t, b.Lower, all*(1+1e-9)+1e-12, "sampling does not cost: q=%v sigma=%v n=%v delta=%v", q, sigma, n, delta)
					if q >= 1-1e-9 && b.GapReached {
						require.InDelta(t, all, b.Upper, 2e-3*math.Max(1, all))
					}
				}
			}
		}
	}
}

// Parameters that exhaust float64: no panic, and the interval is in order.
func TestPLDAbsurdParameters(t *testing.T) {
	t.Parallel()
	for _, e := range []Event{
		ExponentialMechanism{2e-162}, ExponentialMechanism{1e-320}, ExponentialMechanism{1e9}, PureDP{1e-320}, PureDP{1e300},
		Laplace{1e300}, Laplace{1e-9}, DiscreteLaplace{1e300, 3}, DiscreteLaplace{1e-9, 3}, DiscreteGaussian{1e-3, 1}, DiscreteGaussian{3e4, 1},
		PoissonSampled{1e-300, Gaussian{1}}, PoissonSampled{0.5, Gaussian{1e200}}, PoissonSampled{0.5, Gaussian{1e-200}},
		PoissonSampled{1 - 1e-16, Gaussian{1}}, KaryResponse{1e-320, 5}, KaryResponse{1e300, math.MaxInt64}, KaryResponse{1, 3},
		PoissonSampled{1e-300, PureDP{1}}, PoissonSampled{0.5, PureDP{1e-320}}, PoissonSampled{0.5, PureDP{1e300}}, PoissonSampled{1 - 1e-16, PureDP{40}},
		GNMax{Sigma: 1e-3, Discrete: true}, Threshold{Sigma: 3e4, Discrete: true}, LNMax{Scale: 1e300, Discrete: true}, LNMax{Scale: 1e-300},
	} {
		for _, n := range []int64{1, 1000} {
			relation := AddRemove
			if _, ok := e.(KaryResponse); ok {
				relation = ReplaceOne
			}
			p := newPLD(t, PLDConfig{Relation: relation, MaxMemory: 8 << 20}, Repeated{e, n})
			b := epsAt(t, p, 0.01)
			require.True(t, 0 <= b.Lower && b.Lower <= b.Upper, "%T%v: %v", e, e, b)
			d := deltaAt(t, p, 0.01)
			require.True(t, 0 <= d.Lower && d.Lower <= d.Upper && d.Upper <= 1, "%T%v: %v", e, e, d)
		}
	}
}

func TestPLDStopsWithItsContext(t *testing.T) {
	p := newPLD(t, PLDConfig{Gap: 1e-5}, sgd(0.01, 1, 1e6))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Epsilon(ctx, 1e-5)
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Delta(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	b := epsAt(t, p, 1e-5)
	assert.Positive(t, b.Upper)
}

// Losses so small beside others, or beside where their grid begins, that a grid for them has more points
// than memory or than a float64 tells apart: an interval in order, of a few megabytes, and neither a hang
// nor a panic.
func TestPLDOfLossesTooSmallToTellApart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		events []Event
		delta  float64
	}{
		{"sampled, next to no loss", []Event{PoissonSampled{0.01, Gaussian{1e20}}}, 5e-324},
		{"sampled, no loss in a float64", []Event{PoissonSampled{5e-324, Laplace{1}}}, 5e-324},
		{"beside a large loss", []Event{sgd(1e-5, 1e9, 100), ExponentialMechanism{3.7}}, 1e-5},
		{"a bin of a million", []Event{BallsInBins{1e6, 1, Gaussian{1e12}}}, 1e-5},
		{"a bin of many", []Event{BallsInBins{1 << 53, math.MaxInt64, Gaussian{1e100}}}, 1e-5},
		{"some steps of many", []Event{RandomAllocation{3, 1e6, Gaussian{1e16}}}, 1e-5},
		{"odds beyond a float64", []Event{LNMax{Scale: 1e-310}}, 1e-5},
	} {
		p := newPLD(t, PLDConfig{MaxMemory: 8 << 20}, x.events...)
		b := epsAt(t, p, x.delta)
		require.GreaterOrEqual(t, b.Lower, 0.0, x.name)
		require.LessOrEqual(t, b.Lower, b.Upper, x.name)
		if math.IsInf(b.Upper, 1) {
			continue
		}
		d := deltaAt(t, p, b.Upper)
		require.LessOrEqual(t, d.Lower, x.delta, x.name)
		require.LessOrEqual(t, d.Lower, d.Upper, x.name)
	}
}

// More noise than an allocation is computed for costs no more than that.
func TestAllocationOfTooMuchNoise(t *testing.T) {
	t.Parallel()
	const steps = 1 << 30
	delta := func(sigma float64) Bound { // at epsilon 0
		p := newPLD(t, PLDConfig{}, BallsInBins{steps, 1, Gaussian{sigma}})
		return deltaAt(t, p, 0)
	}
	most := math.Sqrt(1 << 72 / float64(steps)) // that is accounted
	at, beyond := delta(most), delta(1000*most)
	require.Positive(t, at.Lower)
	require.Zero(t, beyond.Lower, "the noise that is there costs less")
	require.InEpsilon(t, at.Upper, beyond.Upper, 1e-3)
}
