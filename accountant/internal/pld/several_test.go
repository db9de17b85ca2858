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

// LowerOf returns what the sum over the steps shows, in one order, computed as for a delta of e^depth.
func LowerOf(t *testing.T, steps, count int64, sigma float64, reverse bool, delta, depth float64) float64 {
	below := sumOf(1, Several(steps, count, sigma))
	below.about = depth
	v := testkit.Must(composer().oneOrder(t.Context(), below, reverse, Target{DeltaUp: delta, DeltaLow: delta, Gap: 1e-3, OnlyLower: true}))
	return v.Lower
}

// The masses of a sum on a small lattice, each within the bounds that a tilt gives, against sums of
// positive products. Where outcomes are rarer than the rounding of a transform the bounds are what counts.
func TestSeveralBoundsEveryMass(t *testing.T) {
	t.Parallel()
	for _, s := range []several{{4, 1, 1}, {5, 2, 0.5}, {9, 3, 2}} {
		f := s.term(800, -1)
		m := mixture{float64(s.count) / float64(s.steps), s.sigma}
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

// Each order of the pair has the first law rounded down and the second up.
func TestSeveralRoundsBothLaws(t *testing.T) {
	t.Parallel()
	for _, s := range []several{{4, 2, 1}, {50, 3, 0.7}, {1000, 40, 2}} {
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

// Little memory leaves hardly a lattice, and next to nothing that is shown.
func TestSeveralInLittleMemory(t *testing.T) {
	require.Less(t, several{7, 3, 1}.outcomes(t.Context(), false, -20, 16).loss[0], 1e-9)
}

// normalCDF is the law of standard normal noise.
func normalCDF(x float64) float64 { return math.Exp(mathx.LogNormalCDF(x)) }
