package pld

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

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

func TestAllocationLosesNoMass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ steps, sigma float64 }{{2, 3}, {7, 2}, {100, 1.5}, {1000, 1.2}} {
		a := newAllocation(c.steps, c.sigma)
		for _, tail := range []float64{1e-2, 1e-5, 1e-17} {
			for _, up := range []bool{true, false} {
				q, p := testkit.Must(a.build(t.Context(), a.spread()/8, tail, up)).masses()
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
				q, p := testkit.Must(l.sum(reverse, true)).masses()
				require.GreaterOrEqual(t, min(q, p), 1-1e-12, "%+v, split at %v", c, tail)
				require.InDelta(t, 1, q, 8*tail+1e-9)
				require.InDelta(t, 1, p, 8*tail+1e-9)
			}
		}
	}
}

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

func TestSplitLawsAllowForTheNoiseOfTransforms(t *testing.T) {
	t.Parallel()
	a := newAllocation(1000, 1.2)
	require.Greater(t, len(splitOf(t, a, 1e-6).weights), 2, "ratios may be large")
	const lack = 0.01
	for _, small := range []float64{a.steps, a.steps - 1} {
		for _, biased := range []bool{false, true} {
			l := splitOf(t, a, 1e-6)
			noisy := testkit.Must(l.sumOfSmall(small, biased))
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
			noisy := testkit.Must(l.sumOfSmall(a.steps, biased))
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

func TestAllocationTwoWays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ steps, sigma, far float64 }{{2, 3, 3}, {7, 2, 3}, {100, 1.5, 3}, {1000, 1.2, 5}, {12345, 4, 3}, {50, 0.6, 6}} {
		a := newAllocation(c.steps, c.sigma)
		h := a.spread() / 20
		for _, reverse := range []bool{false, true} {
			var above, below [2]*profile
			for i, up := range []bool{true, false} {
				points := testkit.Must(a.split(t.Context(), h, -26, reverse, up))
				for j, law := range []*pointLaw{points, a.points(testkit.Must(a.law(t.Context(), h, -26, up)))} {
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

func LowerOf(t *testing.T, steps, count int64, sigma float64, reverse bool, delta, depth float64) float64 {
	below := sumOf(1, Several(steps, count, sigma))
	below.about = depth
	v := testkit.Must(composer().oneOrder(t.Context(), below, reverse, Target{DeltaUp: delta, DeltaLow: delta, Gap: 1e-3, OnlyLower: true}))
	return v.Lower
}

func TestSeveralBoundsEveryMass(t *testing.T) {
	t.Parallel()
	for _, s := range []several{{4, 1, 1, 1}, {5, 2, 0.5, 0.1}, {9, 3, 2, 1}} {
		f := s.term(800, -1)
		m := s.mixture()
		z := math.Inf(-1)
		for i := range f.none { // masses of f by the normal law itself
			end := m.at(f.h * (float64(f.lo+i) + 0.5))
			if i == len(f.none)-1 {
				end = math.Inf(1)
			}
			assert.InDelta(t, normalCDF(end)-normalCDF(z), f.none[i], 1e-13)
			assert.InDelta(t, normalCDF(end-1/s.sigma)-normalCDF(z-1/s.sigma), f.one[i], 1e-13)
			z = end
		}
		exact := func(count int64) []float64 {
			sum := []float64{1}
			for i := range s.steps {
				p := f.none
				if i < count {
					p = f.one
				}
				next := make([]float64, len(sum)+len(p)-1)
				for a, x := range sum {
					for b, y := range p {
						next[a+b] += x * y
					}
				}
				sum = next
			}
			return sum
		}
		c := &convolver{ctx: context.Background(), maxLength: 1 << 16, accuracy: 1e-16}
		for _, count := range []int64{0, s.count} {
			want, lo := exact(count), f.lo*int(s.steps)
			total := 0.0
			for _, x := range want {
				total += x
			}
			require.InDelta(t, 1, total, 1e-12, "nothing is left out")
			rare := 0
			for _, lambda := range []float64{-3, 0, 1, 4} {
				law, ok := s.sum(c, f, lambda, count)
				require.True(t, ok)
				known := 0
				for i := 0; i+1 < len(want); i += 2 {
					truth := math.Log(want[i] + want[i+1])
					least, most := law.least(lo+i, 2), law.most(lo+i, 2)
					require.LessOrEqual(t, least, truth+2e-14, "%+v tilt %v count %d", s, lambda, count)
					require.GreaterOrEqual(t, most, truth-2e-14, "%+v tilt %v count %d", s, lambda, count)
					switch {
					case most-least < 1e-9:
						known++
					case math.IsInf(least, -1):
						rare++
					}
				}
				assert.Greater(t, known, 5, "%+v tilt %v", s, lambda)
			}
			assert.Greater(t, rare, 20, "%+v count %d", s, count)
		}
	}
}

func TestSeveralRoundsBothLaws(t *testing.T) {
	t.Parallel()
	for _, s := range []several{{4, 2, 1, 1}, {50, 3, 0.7, 0.3}, {1000, 40, 2, 1}} {
		for _, depth := range []float64{-1, -60} {
			for _, reverse := range []bool{false, true} {
				o := s.outcomes(t.Context(), reverse, depth, 1<<19)
				p, q := 0.0, 0.0
				for i, l := range o.loss {
					p, q = p+math.Exp(o.logp[i]), q+math.Exp(o.logp[i]-l)
				}
				first, second := p, q
				if reverse {
					first, second = q, p
				}
				assert.Less(t, first, 1.0, "%+v", s)
				assert.Greater(t, first, 1-1e-8, "%+v", s)
				if !reverse || s.sigma > 1 { // where the second law is, the first is too
					assert.Greater(t, second, 1.0, "%+v", s)
				}
			}
		}
	}
}

func TestSeveralInLittleMemory(t *testing.T) {
	require.Less(t, several{7, 3, 1, 1}.outcomes(t.Context(), false, -20, 16).loss[0], 1e-9)
}

func normalCDF(x float64) float64 { return math.Exp(mathx.LogNormalCDF(x)) }
