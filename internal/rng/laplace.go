package rng

import (
	"fmt"
	"math"
	"math/bits"
)

// The scales the samplers accept. Below, the noise is zero but for an event
// that never happens; above, sums with int64 could overflow.
const (
	minScale = 0x1p-10
	maxScale = 0x1p40
)

// DiscreteLaplace samples the integers with probability
// tanh(1/(2b)) exp(-|k|/b), b the scale: the discrete Laplace, or two-sided
// geometric, distribution. Shifting it by s costs s/b of pure privacy loss.
type DiscreteLaplace struct {
	scale float64
	t     uint64 // scale = t / 2^shift, exactly
	shift uint
}

// NewDiscreteLaplace returns a sampler for a scale in [2^-10, 2^40]. The scale
// is taken exactly as the dyadic rational the float64 is.
func NewDiscreteLaplace(scale float64) (*DiscreteLaplace, error) {
	if !(scale >= minScale && scale <= maxScale) {
		return nil, fmt.Errorf("rng: scale of discrete Laplace noise must be in [2^-10, 2^40], not %g", scale)
	}
	t, shift := dyadic(scale)
	return &DiscreteLaplace{scale: scale, t: t, shift: shift}, nil
}

// Scale is the scale sampled, as given to NewDiscreteLaplace.
func (d *DiscreteLaplace) Scale() float64 { return d.scale }

// LogProb is the logarithm of the probability of k.
func (d *DiscreteLaplace) LogProb(k int64) float64 {
	return math.Log(math.Tanh(1/(2*d.scale))) - math.Abs(float64(k))/d.scale
}

// Sample draws one value (Canonne, Kamath, Steinke 2020, Algorithm 2).
func (d *DiscreteLaplace) Sample(s *Stream) int64 { return laplace(s, d.t, d.shift) }

// Geometric draws from P[G = k] = (1-r) r^k, k = 0, 1, ..., with
// r = exp(-1/scale).
func (d *DiscreteLaplace) Geometric(s *Stream) int64 { return int64(geometric(s, d.t, d.shift)) }

// laplace is the discrete Laplace of scale t/2^shift.
//
//	loop:  G = geometric;  B = fair coin
//	       unless B = - and G = 0:  return B G
//
// Zero can come from B = + alone, otherwise it would count twice.
func laplace(s *Stream, t uint64, shift uint) int64 {
	for {
		g := int64(geometric(s, t, shift))
		if s.src.Uint64()>>63 == 0 {
			return g
		}
		if g != 0 {
			return -g
		}
	}
}

// geometric draws from P[G = k] = (1-r) r^k with r = exp(-2^shift/t).
//
//	loop:  U uniform in {0..t-1};  until Bernoulli(exp(-U/t))
//	V = number of successes of Bernoulli(exp(-1)) before the first failure
//	return floor((U + t V) / 2^shift)
//
// P[U = u, V = v] is proportional to exp(-u/t) exp(-v) = exp(-(u + t v)/t), so
// U + tV is geometric with ratio exp(-1/t), and its quotient by 2^shift is
// geometric with that ratio to the power 2^shift. The result saturates at
// 2^63-1; as the scale is at most 2^40 that takes 2^22 successes, which have
// probability exp(-2^22): guessing the key is far easier.
func geometric(s *Stream, t uint64, shift uint) uint64 {
	u := s.Uint64N(t)
	for !bernoulliExpFraction(s, u, t) {
		u = s.Uint64N(t)
	}
	var v uint64
	for bernoulliExp1(s) {
		v++
	}
	hi, lo := bits.Mul64(t, v)
	lo, carry := bits.Add64(lo, u, 0)
	hi += carry
	if hi>>shift != 0 {
		return math.MaxInt64
	}
	return min(hi<<(64-shift)|lo>>shift, math.MaxInt64)
}

// dyadic writes x in [2^-10, 2^40] as m/2^shift with m odd or shift = 0;
// m < 2^53 and shift <= 62.
func dyadic(x float64) (m uint64, shift uint) {
	frac, exp := math.Frexp(x) // x = frac 2^exp, frac in [1/2, 1)
	m = uint64(math.Ldexp(frac, 53))
	drop := bits.TrailingZeros64(m)
	if exp -= 53 - drop; exp >= 0 {
		return m >> drop << exp, 0
	}
	return m >> drop, uint(-exp)
}
