package pld_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/testkit"
)

// Below the total variation distance no epsilon is 0; the certified lower end of delta at epsilon 0 is below it.
func TestPLDHoldsBelowTheTotalVariation(t *testing.T) {
	m := &pld.Composer{Gap: 1e-3, MaxMemory: 100 << 20}
	for _, n := range []int64{1, 2, 30, 1000} {
		for _, sigma := range []float64{0.5, 1, 4} {
			for _, other := range []pld.Pair{{}, pld.Gaussian(2000, 1), pld.Gaussian(2, 1).OnPoissonSample(2e-3)} {
				s := new(pld.Sum)
				s.Add(pld.Gaussian(sigma, 1).OnPoissonSample(1e-3), n)
				s.Add(other, 1)
				tv := testkit.Must(m.Delta(t.Context(), s, 0))
				to := pld.Target{DeltaUp: tv.Lower * 0.999, DeltaLow: tv.Lower * 0.999, Gap: 1e-3}
				v := testkit.Must(m.Epsilon(t.Context(), s, to))
				assert.Positive(t, v.Upper, "%d runs with sigma %v and %v", n, sigma, other)
			}
		}
	}
}

func TestVariationDoesNotUnderflow(t *testing.T) {
	m := &pld.Composer{Gap: 1e-3, MaxMemory: 100 << 20}
	s := new(pld.Sum)
	s.Add(pld.Gaussian(1, 1).OnPoissonSample(1e-170), 1)
	v := testkit.Must(m.Epsilon(t.Context(), s, pld.Target{DeltaUp: 1e-200, DeltaLow: 1e-200, Gap: 1e-3}))
	assert.Positive(t, v.Upper)
}

func TestAboveTheTotalVariationEpsilonIsZero(t *testing.T) {
	m := &pld.Composer{Gap: 1e-3, MaxMemory: 100 << 20}
	for _, c := range []struct {
		n     int64
		delta float64
	}{
		{30, 30 * 1e-7 * math.Erf(math.Sqrt(0.125)) * 1.001}, // the sum of all runs
		{1000, math.Sqrt(1000*1e-14*(math.E-1)) / 2 * 1.001}, // the chi-square divergence
	} {
		s := new(pld.Sum)
		s.Add(pld.Gaussian(1, 1).OnPoissonSample(1e-7), c.n)
		v := testkit.Must(m.Epsilon(t.Context(), s, pld.Target{DeltaUp: c.delta, DeltaLow: c.delta, Gap: 1e-3}))
		assert.Equal(t, pld.Interval{Reached: true}, v, "%d runs", c.n)
	}
}
