package rng

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"

	"github.com/pate-go/pate/internal/mathx"
)

// DiscreteGaussian samples the integers with probability proportional to
// exp(-k^2/(2 sigma^2)). Its variance is at most sigma^2, and shifting it by an
// integer s costs at most the Renyi divergence a s^2/(2 sigma^2) of the
// continuous Gaussian at every order a (Canonne, Kamath, Steinke 2020,
// Proposition 5).
//
// A DiscreteGaussian is safe for concurrent use, each goroutine with its own
// Stream.
type DiscreteGaussian struct {
	sigma   float64 // num/2^shift, exactly
	num     uint64
	shift   uint
	logNorm float64 // log of the sum of exp(-k^2/(2 sigma^2))

	fine  uint      // 2^fine integers to a cell
	cells inversion // |Y| / 2^fine, before the choice within the cell
	curve uint64    // floor(2^77/s^2) for s = sigma/2^fine; fine > 0 only
	slack uint64    // of exponent
}

// A cell is as wide as leaves sigma in [2^7, 2^8) cells: the table fits the
// first cache, and more than 99 choices in a cell in 100 are accepted.
const gaussianCells = 7

// NewDiscreteGaussian returns a sampler for sigma in [2^-10, 2^40]. Sigma is
// taken exactly as the dyadic rational the float64 is; nothing is rounded.
func NewDiscreteGaussian(sigma float64) (*DiscreteGaussian, error) {
	if !(sigma >= minScale && sigma <= maxScale) {
		return nil, fmt.Errorf("rng: sigma of discrete Gaussian noise must be in [2^-10, 2^40], not %g", sigma)
	}
	d := &DiscreteGaussian{sigma: sigma, logNorm: mathx.LogTheta(sigma), fine: cellBits(sigma, gaussianCells), slack: 3}
	d.num, d.shift = dyadic(sigma)
	d.cells.law = halfGaussian{d.num, d.shift + d.fine}
	if d.fine > 0 {
		s2 := new(big.Int).SetUint64(d.num)
		curve := new(big.Int).Lsh(big.NewInt(1), 77+2*(d.shift+d.fine))
		d.curve = curve.Quo(curve, s2.Mul(s2, s2)).Uint64()
	}
	return d, nil
}

// Sigma is the sigma sampled, as given to NewDiscreteGaussian.
func (d *DiscreteGaussian) Sigma() float64 { return d.sigma }

// LogProb is the logarithm of the probability of k.
func (d *DiscreteGaussian) LogProb(k int64) float64 {
	z := float64(k) / d.sigma
	return -z*z/2 - d.logNorm
}

// Sample draws one value.
//
//	s = sigma/2^fine
//	loop:  X >= 0 with probability proportional to exp(-X^2/(2 s^2)), by inversion
//	       B = fair coin
//	       J uniform in {0..2^fine-1};  j = J/2^fine
//	       unless Bernoulli(exp(-j (2X + j)/(2 s^2))): again
//	       M = 2^fine X + J
//	       unless B = - and M = 0:  return B M
//
// M is reached with probability proportional to exp(-(X^2 + 2Xj + j^2)/(2 s^2))
// = exp(-(X+j)^2/(2 s^2)) = exp(-M^2/(2 sigma^2)). Zero can come from B = +
// alone, otherwise it would count twice. Up to sigma = 2^8 there is one integer
// to a cell, J = 0, and nothing is rejected there.
func (d *DiscreteGaussian) Sample(s *Stream) int64 {
	for {
		w := s.src.Uint64()
		m := d.cells.find(s, w>>1)
		if d.fine > 0 {
			j := s.src.Uint64() >> (64 - d.fine)
			if !d.accept(s, m, j) {
				continue
			}
			m = m<<d.fine | j
		}
		if y, ok := signed(m, w&1); ok {
			return y
		}
	}
}

// signed gives m the sign that bit stands for; minus zero is not ok.
func signed(m, bit uint64) (y int64, ok bool) {
	return int64((m ^ -bit) + bit), m|(bit^1) != 0
}

// accept is true with probability exp(-g), g = j (2x + j/2^fine)/(2^fine 2 s^2).
func (d *DiscreteGaussian) accept(s *Stream, x, j uint64) bool {
	exact := func() (p, q *big.Int) { return d.exactExponent(x, j) }
	if x >= 1<<12 {
		return bernoulliExpBig(s, exact)
	}
	return bernoulliExp(s, d.exponent(x, j), exact)
}

// exponent encloses g for x < 2^12.
//
// With i = j/2^fine, g = i (2x+i) 2^14/2^64 c 2^50 for c = 2^78/(2 s^2), which is
// at most 2^63 as s >= 2^7. So 2^64 g = v c/2^64, where v = 2^50 i (2x+i) < 2^63.
// Rounding 2^50 (2x+i) down and then the product with i takes less than 2 off v,
// hence at most 1 off the result; rounding c down takes off less than 1/2, and
// rounding the result less than 1: 3 in all. As v < 2^63 and c <= 2^63, g < 1/4.
func (d *DiscreteGaussian) exponent(x, j uint64) exponent {
	i := j << (64 - d.fine)
	v, _ := bits.Mul64(i, x<<51+i>>14)
	g, _ := bits.Mul64(v, d.curve)
	return exponent{0, g, d.slack}
}

// exactExponent is g as a fraction, J (2 2^fine X + J)/(2 sigma^2).
func (d *DiscreteGaussian) exactExponent(x, j uint64) (p, q *big.Int) {
	bigJ := new(big.Int).SetUint64(j)
	p = new(big.Int).SetUint64(x)
	p.Add(p.Lsh(p, d.fine+1), bigJ)
	p.Lsh(p.Mul(p, bigJ), 2*d.shift)
	q = new(big.Int).SetUint64(d.num)
	return p, q.Lsh(q.Mul(q, q), 1)
}

// cellBits is how often to halve scale until it is below 2^(cells+1).
func cellBits(scale float64, cells int) uint {
	_, exp := math.Frexp(scale) // scale in [2^(exp-1), 2^exp)
	return uint(max(0, exp-1-cells))
}
