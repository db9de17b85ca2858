package pld

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
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

// Tails are cut at probabilities from where one sees them: what is cut is at 0 or at infinity, or merged,
// and no mass is lost.
func TestAllocationLosesNoMass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ steps, sigma float64 }{{2, 3}, {7, 2}, {100, 1.5}, {1000, 1.2}} {
		a := newAllocation(c.steps, c.sigma)
		for _, tail := range []float64{1e-2, 1e-5, 1e-17} {
			for _, up := range []bool{true, false} {
				l := testkit.Must(a.build(t.Context(), a.spread()/8, tail, up))
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
				sum := testkit.Must(l.sum(reverse, true))
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
		one := testkit.Must(ratioLaw(1, 1.0/16, 0.05, up, maxRatioPoints))
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
			noisy := testkit.Must(l.of(small, biased))
			noisy.all += lack
			sum := testkit.Must(l.sum(false, true))
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
			noisy := testkit.Must(l.of(a.steps, biased))
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

// The lattice of the sum and the geometric grid are two ways to one law, out to where one large ratio is
// most of the sum.
func TestAllocationTwoWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ steps, sigma, far float64 }{{2, 3, 3}, {7, 2, 3}, {100, 1.5, 3}, {1000, 1.2, 5}, {12345, 4, 3}, {50, 0.6, 6}} {
		a := newAllocation(c.steps, c.sigma)
		h := a.spread() / 20
		for _, reverse := range []bool{false, true} {
			var above, below [2]*profile
			for i, up := range []bool{true, false} {
				points := testkit.Must(a.split(t.Context(), h, -26, reverse, up))
				l := testkit.Must(a.law(t.Context(), h, -26, up))
				for j, law := range []*pointLaw{points, a.points(l)} {
					cells := law.cells(h, func(float64, float64) int { return 1 })
					if reverse {
						cells = cells.mirror()
					}
					if i == 0 {
						above[j] = newProfile(cells.upper(0), 0, true)
					} else {
						below[j] = newProfile(cells.lower(0), 0, false)
					}
				}
			}
			for _, x := range []float64{0.3, 1, c.far} {
				if reverse && x > 1 {
					continue // next to nothing
				}
				eps := x * a.spread()
				for i := range 2 {
					for j := range 2 {
						assert.LessOrEqual(t, below[i].delta(eps), above[j].delta(eps)*(1+1e-9), "%+v", c)
						assert.InEpsilon(t, below[i].delta(eps), above[j].delta(eps), 0.2, "%+v reverse %v %d %d at %v", c, reverse, i, j, x)
					}
				}
			}
		}
	}
}
