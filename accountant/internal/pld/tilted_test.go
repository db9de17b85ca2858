package pld

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

// The Gaussian, discretised like any other pair by composing it with next to nothing, still contains the
// closed form, down to delta 1e-250.
func TestPLDContainsTheExactGaussian(t *testing.T) {
	i := 0
	for _, mu := range []float64{0.01, 5} {
		for _, delta := range []float64{0.3, 1e-8, 1e-15, 1e-250} {
			want := mathx.GaussianEpsilon(1/mu, delta)
			s := &Sum{mu2: mu * mu}
			kind := []kind{pairResponse, pairRange, pairLaplace}[i%3]
			i++
			s.Add(Pair{kind, []float64{1e-12, 1e-187}[i%2], 0, 0}, 5) // 5e-12 at most
			v := testkit.Must(composer().oneOrder(t.Context(), s, false, Target{DeltaUp: delta, DeltaLow: delta, Gap: 1e-3}))
			assert.LessOrEqual(t, v.Lower, want+1e-11, "mu=%v delta=%v", mu, delta)
			assert.GreaterOrEqual(t, v.Upper, want-1e-11, "mu=%v delta=%v", mu, delta)
			if kind == pairResponse { // the absurd others leave noise, hence width
				assert.Less(t, v.Upper-v.Lower, 1e-3, "mu=%v delta=%v", mu, delta)
			}
		}
	}
}

// direct convolves step with itself n times without transforms; what leaves the top is infinite loss, what
// leaves the bottom goes to the lowest point.
func direct(step []float64, n, zero, size int) (law []float64, inf float64) {
	mul := func(a, b []float64, ia, ib float64) ([]float64, float64) {
		out, lost := make([]float64, size), ia+ib
		for i, x := range a {
			if x == 0 {
				continue
			}
			for j, y := range b {
				k := i + j - zero
				switch {
				case k >= size:
					lost += x * y
				case k < 0:
					out[0] += x * y
				default:
					out[k] += x * y
				}
			}
		}
		return out, lost
	}
	law, power := make([]float64, size), step
	law[zero] = 1
	pinf := 0.0
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			law, inf = mul(law, power, inf, pinf)
		}
		if n > 1 {
			power, pinf = mul(power, power, pinf, pinf)
		}
	}
	return law, inf
}

// coarse is the upper law of one step on the grid of step h through 0.
func coarse(m mixture, h, lambda float64) *tilted {
	one := func(float64, float64) int { return 1 }
	return m.cells(h, 0, -11, 12.5, false, one).upper(lambda)
}

func pointwiseDelta(law []float64, h float64, zero int, inf, eps float64) float64 {
	d := inf
	for k, x := range law {
		if l := h * float64(k-zero); l > eps {
			d += -math.Expm1(eps-l) * x
		}
	}
	return d
}

func TestTiltedFFTEqualsDirectConvolution(t *testing.T) {
	m := mixture{1e-4, 0.7}
	const steps = 20000
	conv := func() *convolver {
		c := composer().newConvolver(t.Context())
		c.accuracy = 1e-12
		return c
	}
	t.Run("reference on grid 5e-4", func(t *testing.T) {
		for _, c := range []struct{ delta, eps, lambda float64 }{{1e-9, 0.78030671, 8}, {1e-13, 2.21317617, 8}} {
			law := testkit.Must(conv().convolve(1, factor{coarse(m, 5e-4, c.lambda), steps}))
			certified := newProfile(law, c.lambda, true).epsilon(c.delta)
			law.err, law.noise = 0, 0 // the convolution itself
			assert.InDelta(t, c.eps, newProfile(law, c.lambda, true).epsilon(c.delta), 2e-8, "delta %v", c.delta)
			assert.InDelta(t, c.eps, certified, 1e-4)
			assert.Greater(t, certified, c.eps)
		}
	})
	t.Run("direct on grid 4e-3", func(t *testing.T) {
		const h, zero, size = 4e-3, 50, 1400
		plain := coarse(m, h, 0)
		step := make([]float64, size)
		lost := plain.inf
		for i, x := range plain.p {
			mass := x * math.Exp(plain.logM)
			if k := plain.lo + i + zero; k < size {
				step[max(0, k)] += mass
			} else {
				lost += mass
			}
		}
		law, inf := direct(step, steps, zero, size)
		for _, eps := range []float64{0.5, 0.8, 1.5, 2.2} {
			want := pointwiseDelta(law, h, zero, inf+steps*lost, eps)
			got := testkit.Must(conv().convolve(1, factor{coarse(m, h, 8), steps}))
			assert.InEpsilon(t, want, newProfile(got, 8, true).delta(eps), 1e-4, "eps %v", eps) // losses above 5.4 count in full in want
		}
	})
}

// Broken variants must give wrong answers, or the tests above show nothing.
func TestPLDNegativeControls(t *testing.T) {
	s := &Sum{}
	s.Add(Pair{pairSampled, 1e-4, 0.7, 0}, 20000)
	const delta = 1e-13
	t.Run("untilted transform", func(t *testing.T) {
		m := mixture{1e-4, 0.7}
		c := composer().newConvolver(t.Context())
		c.accuracy = 1e-14
		law := testkit.Must(c.convolve(1, factor{coarse(m, 5e-4, 0), 20000}))
		honest := newProfile(law, 0, true)
		assert.Greater(t, honest.epsilon(delta), 2.3, "the certified answer is wide")
		law.err, law.noise = 0, 0
		sold := newProfile(law, 0, true).epsilon(delta)
		assert.Greater(t, math.Abs(sold-2.21317617), 0.01, "without its error it is noise: %v", sold)
	})
	t.Run("lower bound sold as claim", func(t *testing.T) {
		v := testkit.Must(composer().Epsilon(t.Context(), sumOf(1000, sgd(0.01, 1)), Target{DeltaUp: 1e-5, DeltaLow: 1e-5, Gap: 1e-3}))
		assert.Less(t, v.Lower, 1.8282330, "a law dominated by the truth promises too little")
	})
	t.Run("wrap-around", func(t *testing.T) {
		q := &query{parts: componentsOf(t, s, false)}
		q.aimDelta(math.Log(delta), 1e-3)
		c := composer().newConvolver(t.Context())
		c.clamp = 1 << 12
		law := testkit.Must(q.compose(c, 1e-3, true))
		law.err, law.noise = 0, 0
		eps := newProfile(law, q.lambda, true).epsilon(delta)
		assert.Greater(t, math.Abs(eps-2.2111), 0.02, "a window too short")
	})
}
