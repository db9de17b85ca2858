package rng

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// DiscreteGaussian samples the integers with probability proportional to
// exp(-k^2/(2 sigma^2)). Its variance is at most sigma^2, and shifting it by an
// integer s costs at most the Renyi divergence a s^2/(2 sigma^2) of the
// continuous Gaussian at every order a (Canonne, Kamath, Steinke 2020,
// Proposition 5).
//
// A DiscreteGaussian is read-only and safe for concurrent use, each goroutine
// with its own Stream.
type DiscreteGaussian struct {
	sigma   float64
	logNorm float64 // log of the sum of exp(-k^2/(2 sigma^2))
	t       uint64  // scale of the proposals, floor(sigma)+1

	// Fixed point with 60 fractional bits, see exponent.
	inverse uint64 // floor(2^(60+shift)/sigma), or 2^64-1 if that is less
	shift   uint
	ratio   uint64 // floor(2^60 sigma/t)
	slack   uint64 // bound on the error of the exponent, in 2^-64

	exact exactExponent
}

// NewDiscreteGaussian returns a sampler for sigma in [2^-10, 2^40]. Sigma is
// taken exactly as the dyadic rational the float64 is; nothing is rounded.
func NewDiscreteGaussian(sigma float64) (*DiscreteGaussian, error) {
	if !(sigma >= minScale && sigma <= maxScale) {
		return nil, fmt.Errorf("rng: sigma of discrete Gaussian noise must be in [2^-10, 2^40], not %g", sigma)
	}
	d := &DiscreteGaussian{sigma: sigma, logNorm: logTheta(sigma), t: uint64(sigma) + 1, slack: 1 << 11}
	num, qBits := dyadic(sigma)
	d.exact = newExactExponent(num, qBits, d.t)

	_, exp := math.Frexp(sigma)
	d.shift = uint(max(exp+2, 0)) // 3 + floor(log2 sigma)
	p := new(big.Int).SetUint64(num)
	inv := new(big.Int).Lsh(big.NewInt(1), 60+d.shift+qBits)
	if inv.Quo(inv, p).IsUint64() {
		d.inverse = inv.Uint64()
	} else {
		d.inverse = math.MaxUint64
	}
	ratio := new(big.Int).Lsh(p, 60)
	ratio.Rsh(ratio.Quo(ratio, new(big.Int).SetUint64(d.t)), qBits)
	d.ratio = ratio.Uint64()
	return d, nil
}

// Sigma is the sigma sampled, as given to NewDiscreteGaussian.
func (d *DiscreteGaussian) Sigma() float64 { return d.sigma }

// LogProb is the logarithm of the probability of k.
func (d *DiscreteGaussian) LogProb(k int64) float64 {
	z := float64(k) / d.sigma
	return -z*z/2 - d.logNorm
}

// Sample draws one value (Canonne, Kamath, Steinke 2020, Algorithm 3).
//
//	t = floor(sigma) + 1
//	loop:  Y = discrete Laplace of scale t
//	       if Bernoulli(exp(-(|Y| - sigma^2/t)^2 / (2 sigma^2))): return Y
//
// Y is returned with probability proportional to
// exp(-|Y|/t) exp(-(|Y| - sigma^2/t)^2/(2 sigma^2)), and completing the square
// that is exp(-Y^2/(2 sigma^2)) times exp(-sigma^2/(2 t^2)), a constant. This
// holds for any t; about three proposals in four are accepted with this one.
func (d *DiscreteGaussian) Sample(s *Stream) int64 {
	for {
		y := laplace(s, d.t, 0)
		if d.accept(s, uint64(max(y, -y))) {
			return y
		}
	}
}

// accept is true with probability exp(-g), g = z^2/2, z = y/sigma - sigma/t.
//
// It works in machine words on an enclosure of g, and hands over to exact
// integers, in the middle of the algorithm and without losing a word, whenever
// the enclosure cannot decide. So it reads the same words and gives the same
// answers as exact arithmetic throughout (acceptBig), always.
func (d *DiscreteGaussian) accept(s *Stream, y uint64) bool {
	whole, frac, ok := d.exponent(y)
	if !ok {
		return d.acceptBig(s, y)
	}
	for range whole {
		if !bernoulliExp1(s) {
			return false
		}
	}
	if whole == tailWhole { // a lower bound of g: the rest is exact
		p, q := d.exact.of(y)
		return bernoulliExpBig(s, p.Sub(p, new(big.Int).Mul(q, big.NewInt(tailWhole))), q)
	}
	// BernoulliExp's loop with x = g - whole in frac/2^64 +- slack/2^64. Trial k
	// succeeds iff k U < x; the word u says that 2^64 k U is in [k u, k u + k).
	for k := uint64(1); ; k++ {
		u := s.src.Uint64()
		hi, lo := bits.Mul64(k, u)
		if hi > 0 || lo >= frac+d.slack {
			return k&1 == 1 // k U >= x
		}
		if next, carry := bits.Add64(lo, k+d.slack, 0); carry == 0 && next <= frac {
			continue // k U < x
		}
		p, q := d.exact.of(y)
		return resumeBernoulliExp(s, p.Mod(p, q), q, k, u)
	}
}

// acceptBig is accept in exact arithmetic.
func (d *DiscreteGaussian) acceptBig(s *Stream, y uint64) bool {
	p, q := d.exact.of(y)
	return bernoulliExpBig(s, p, q)
}

// Where |z| >= 8 the exponent is at least tailWhole.
const tailWhole = 32

// exponent encloses g = z^2/2 for z = y/sigma - sigma/t: whole 2^64 + frac is
// within slack of 2^64 g and on the same side of every integer; or ok is false.
// If whole = tailWhole, that is a lower bound of g and frac says nothing.
//
// The error, in units of 2^-60, with R = 2^(60+shift)/sigma and inverse =
// floor(R) >= 2^62: a = floor(y inverse/2^shift) falls short of y/sigma by less
// than y/2^shift + 1, which is below 9 2^60/2^62 + 1 < 4 while a < 9 2^60, and
// ratio falls short of sigma/t by less than 1. So m = |a - ratio| is within 4 of
// 2^60 |z|, and m^2/2^57 within 8 m/2^57 + 1 < 2^10 + 2 < slack of 2^64 g.
// Should inverse be cut at 2^64-1, then sigma <= 1/16 and a = 0 exactly if y = 0
// and a >= 9 2^60 otherwise; then z > 9 - 1.
func (d *DiscreteGaussian) exponent(y uint64) (whole, frac uint64, ok bool) {
	const tail = 9 << 60
	hi, lo := bits.Mul64(y, d.inverse)
	if hi>>d.shift != 0 {
		return tailWhole, 0, true
	}
	a := hi<<(64-d.shift) | lo>>d.shift
	if a >= tail {
		return tailWhole, 0, true
	}
	m := max(a, d.ratio) - min(a, d.ratio)
	hi, lo = bits.Mul64(m, m)
	whole, frac = hi>>57, hi<<7|lo>>57
	switch {
	case whole > tailWhole:
		return tailWhole, 0, true
	case whole == tailWhole, frac >= -d.slack, whole > 0 && frac < d.slack:
		return 0, 0, false // frac +- slack must not reach another integer
	}
	return whole, frac, true
}

// exactExponent gives g = (y t Q^2 - P^2)^2 / (2 P^2 Q^2 t^2) for sigma = P/Q.
type exactExponent struct {
	tQ2, p2, q *big.Int
}

func newExactExponent(num uint64, qBits uint, t uint64) exactExponent {
	p2 := new(big.Int).SetUint64(num)
	p2.Mul(p2, p2)
	bigT := new(big.Int).SetUint64(t)
	q := new(big.Int).Mul(bigT, bigT)
	q.Lsh(q.Mul(q, p2), 1+2*qBits)
	return exactExponent{tQ2: bigT.Lsh(bigT, 2*qBits), p2: p2, q: q}
}

// of returns numerator, for the caller to change, and denominator, shared.
func (e exactExponent) of(y uint64) (p, q *big.Int) {
	p = new(big.Int).SetUint64(y)
	p.Sub(p.Mul(p, e.tQ2), e.p2)
	return p.Mul(p, p), e.q
}

// logTheta is log sum_k exp(-k^2/(2 sigma^2)), to the last digit: the sum itself
// for a small sigma, by Poisson's formula sigma sqrt(2 pi) sum_k
// exp(-2 pi^2 sigma^2 k^2) for a large one.
func logTheta(sigma float64) float64 {
	sum := func(c float64) (s float64) {
		for k := 4.0; k > 0; k-- {
			s += 2 * math.Exp(-c*k*k)
		}
		return s
	}
	if sigma < 1/math.Sqrt(2*math.Pi) { // where both sums converge alike
		return math.Log1p(sum(1 / (2 * sigma * sigma)))
	}
	return math.Log(sigma) + math.Log(2*math.Pi)/2 + math.Log1p(sum(2*math.Pi*math.Pi*sigma*sigma))
}
