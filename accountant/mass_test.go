package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// masses returns all mass of a law under Q and under P, with what lies at 0 and at infinity.
func (l *sumLaw) masses() (q, p float64) {
	q, p = l.zero, l.inf
	for i := range l.q {
		q, p = q+l.q[i], p+l.p[i]
	}
	return q, p
}

func splitOf(t *testing.T, a *allocation, tail float64) *splitLaw {
	t.Helper()
	l := a.newSplit(a.spread()/8, tail)
	require.NotNil(t, l)
	l.fft.ctx = t.Context()
	return l
}

// Tails are cut at probabilities from where one sees them: what is cut is at 0 or at infinity, or
// merged, and no mass is lost.
func TestAllocationLosesNoMass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ steps, sigma float64 }{{2, 3}, {7, 2}, {100, 1.5}, {1000, 1.2}} {
		a := newAllocation(c.steps, c.sigma)
		for _, tail := range []float64{1e-2, 1e-5, 1e-17} {
			for _, up := range []bool{true, false} {
				l, err := a.build(t.Context(), a.spread()/8, tail, up)
				require.NoError(t, err)
				q, p := l.masses()
				if up {
					require.GreaterOrEqual(t, min(q, p), 1-1e-12, "%+v, tail %v", c, tail)
				} else {
					require.LessOrEqual(t, max(q, p), 1+1e-12, "%+v, tail %v", c, tail)
				}
				if tail < 1e-12 {
					require.InDelta(t, 1, q, 1e-9)
					require.InDelta(t, 1, p, 1e-9)
				}
			}
		}
		for _, tail := range []float64{1e-4, math.Exp(-32)} {
			l := splitOf(t, a, tail)
			for _, reverse := range []bool{false, true} {
				sum, err := l.sum(reverse, true)
				require.NoError(t, err)
				q, p := sum.masses()
				require.GreaterOrEqual(t, min(q, p), 1-1e-12, "%+v, split at %v", c, tail)
				require.InDelta(t, 1, q, 8*tail+1e-9)
				require.InDelta(t, 1, p, 8*tail+1e-9)
			}
		}
	}
}

// One ratio, a sum and a shorter grid, each with tails that are far from nothing.
func TestSumsOfRatiosKeepTheirMasses(t *testing.T) {
	t.Parallel()
	for _, up := range []bool{true, false} {
		one, err := ratioLaw(1, 1.0/16, 0.05, up, maxRatioPoints)
		require.NoError(t, err)
		if q, p := one.masses(); up {
			require.GreaterOrEqual(t, min(q, p), 1.0)
		} else {
			require.Less(t, max(q, p), 1.0)
		}
		work := 0
		three := one.plus(one, one.h, 0, &work).plus(one, one.h, 0, &work)
		four := three.plus(one, one.h, 0, &work)
		q3, _ := three.masses()
		q1, _ := one.masses()
		q, p := four.masses()
		require.InEpsilon(t, q3*q1, q, 1e-12)
		listed := func(l *sumLaw) float64 { _, p := l.masses(); return p - l.inf }
		require.InEpsilon(t, (3*listed(three)*q1+listed(one)*q3)/4, p-four.inf, 1e-12)
		require.InDelta(t, (3*three.inf+one.inf)/4, four.inf, 1e-15)
		require.Equal(t, up, four.zero > 0)
		four.cut(0.02)
		cutQ, cutP := four.masses()
		require.InEpsilon(t, q, cutQ, 1e-12)
		require.InEpsilon(t, p, cutP, 1e-12)
	}
}

// What transforms may lack is left out above, and below it is taken from the law that is to be less.
func TestSplitLawsAllowForTheNoiseOfTransforms(t *testing.T) {
	t.Parallel()
	a := newAllocation(1000, 1.2)
	require.Greater(t, len(splitOf(t, a, 1e-6).weights), 2, "ratios may be large")
	const lack = 0.01
	for _, small := range []float64{a.steps, a.steps - 1} {
		for _, biased := range []bool{false, true} {
			l := splitOf(t, a, 1e-6)
			noisy, err := l.of(small, biased)
			require.NoError(t, err)
			noisy.all += lack
			sum, err := l.sum(false, true)
			require.NoError(t, err)
			require.GreaterOrEqual(t, sum.inf, lack)
			if !biased {
				require.GreaterOrEqual(t, sum.zero, lack)
			}
		}
	}
	for _, reverse := range []bool{false, true} {
		l := splitOf(t, a, 1e-6)
		before, _, _, err := l.small(a.steps, 0, l.jumpSize(false), reverse, false)
		require.NoError(t, err)
		for _, biased := range []bool{false, true} {
			noisy, err := l.of(a.steps, biased)
			require.NoError(t, err)
			noisy.each += 1e-7
		}
		after, _, _, err := l.small(a.steps, 0, l.jumpSize(false), reverse, false)
		require.NoError(t, err)
		q, p := before.masses()
		noisyQ, noisyP := after.masses()
		require.Equal(t, reverse, noisyQ < q)
		if !reverse {
			require.Less(t, noisyP, p)
		}
	}
	l := splitOf(t, a, 1e-6)
	plain, less := l.large(l.h, 0, false), l.large(l.h, l.mean, false)
	q, p := plain.masses()
	lessQ, lessP := less.masses()
	require.InEpsilon(t, q, lessQ, 1e-9)
	require.InEpsilon(t, p-l.mean*q, lessP, 1e-9)
}

// Errors of a law are those of all it is made of.
func TestErrorsOfLawsAddUp(t *testing.T) {
	t.Parallel()
	law := func() *tilted {
		t := &tilted{h: 0.01, p: make([]float64, 50)}
		for i := range t.p {
			t.p[i] = 1
		}
		t.normalise()
		t.err, t.noise, t.inf, t.lossError = 1e-3, 2e-3, 3e-3, 4e-3
		return t
	}
	c := &convolver{ctx: t.Context(), maxLength: 1 << 16, accuracy: 1e-12}
	out, err := c.convolve(1, factor{law(), 3}, factor{law(), 2})
	require.NoError(t, err)
	require.GreaterOrEqual(t, out.err, 5e-3)
	require.GreaterOrEqual(t, out.noise, 10e-3)
	require.GreaterOrEqual(t, out.inf, 15e-3)
	require.GreaterOrEqual(t, out.lossError, 20e-3)
	for _, up := range []bool{true, false} {
		moved := law().onto(0.03, 1, up)
		require.GreaterOrEqual(t, moved.err, 1e-3)
		require.GreaterOrEqual(t, moved.noise, 2e-3)
		require.GreaterOrEqual(t, moved.inf, 3e-3)
		require.GreaterOrEqual(t, moved.lossError, 4e-3)
	}
}

// No loss of an order of the pairs is above what pure gives for it.
func TestPureIsTheLargestLossOfAnOrder(t *testing.T) {
	t.Parallel()
	for _, k := range []pairKey{
		{pairSampledResponse, 0.3, 1.5, 0}, {pairSampledLaplace, 0.3, 1.5, 0}, {pairSampledDiscreteLaplace, 0.3, 2, 3},
		{pairDrawnResponse, 0.3, 1.5, 0}, {pairDrawnDiscreteLaplace, 0.3, 2, 3}, {pairLaplace, 1.5, 0, 0}, {pairRange, 1.5, 0, 0},
		{pairResponse, 1.5, 0, 0}, {pairKary, 1.5, 4, 0}, {pairDiscreteLaplace, 2, 3, 0}, {pairSampled, 0.3, 1, 0}, {pairSampledDiscreteGaussian, 0.3, 1, 1},
	} {
		for _, reverse := range []bool{false, true} {
			s := &schedule{}
			require.NoError(t, s.add(k, 1))
			losses := componentsOf(t, s, reverse)[0].roughLaw.loss
			largest := losses[len(losses)-1]
			require.GreaterOrEqual(t, s.pure(reverse)*(1+1e-12), largest, "%+v reverse %v", k, reverse)
			if !math.IsInf(s.pure(reverse), 1) {
				require.InEpsilon(t, s.pure(reverse), largest, 0.01, "%+v reverse %v", k, reverse)
			}
		}
	}
}
