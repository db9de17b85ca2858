package rng

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// The scale or sigma of discrete noise must be in [minScale, maxScale]. Larger scales could overflow sums in
// int64.
const (
	minScale = 0x1p-10
	maxScale = 0x1p40
)

// DiscreteLaplace samples integers k with probability tanh(1/(2b)) exp(-|k|/b), where b is the scale. With
// this noise a query of sensitivity s is (s/b)-differentially private.
type DiscreteLaplace struct {
	scale float64 // num/2^shift, exactly
	num   uint64
	shift uint

	fine  uint      // a cell has 2^fine integers
	cells inversion // exact distribution of G / 2^fine, rounded down, for a geometric G
	slope uint64    // floor(2^64/s) for s = scale/2^fine; fine > 0 only
	slack uint64    // slack of exponent
}

const laplaceCells = 4

// NewDiscreteLaplace returns a sampler for exactly the given scale, which must be in [2^-10, 2^40].
func NewDiscreteLaplace(scale float64) (*DiscreteLaplace, error) {
	if !(scale >= minScale && scale <= maxScale) {
		return nil, fmt.Errorf("rng: scale of discrete Laplace noise must be in [2^-10, 2^40], not %g", scale)
	}
	d := &DiscreteLaplace{scale: scale, fine: cellBits(scale, laplaceCells), slack: 2}
	d.num, d.shift = dyadic(scale)
	d.cells.law = geometric{d.num, d.shift + d.fine}
	if d.fine > 0 {
		slope := new(big.Int).Lsh(big.NewInt(1), 64+d.shift+d.fine)
		d.slope = slope.Quo(slope, new(big.Int).SetUint64(d.num)).Uint64()
	}
	return d, nil
}

func (d *DiscreteLaplace) Scale() float64 { return d.scale }

// LogProb returns the logarithm of the probability of k.
func (d *DiscreteLaplace) LogProb(k int64) float64 {
	return math.Log(math.Tanh(1/(2*d.scale))) - math.Abs(float64(k))/d.scale
}

// Sample draws a geometric value and a sign. Sample rejects minus zero, because zero would count twice.
func (d *DiscreteLaplace) Sample(s *Stream) int64 {
	for {
		if y, ok := signed(d.geometric(s)); ok {
			return y
		}
	}
}

// Geometric draws k = 0, 1, ... with probability (1-r) r^k, where r = exp(-1/scale).
func (d *DiscreteLaplace) Geometric(s *Stream) int64 {
	g, _ := d.geometric(s)
	return int64(g)
}

func (d *DiscreteLaplace) geometric(s *Stream) (g, bit uint64) {
	//	s = scale/2^fine
	//	X by inversion of P[X >= m] = exp(-m/s)
	//	loop:  J uniform in {0..2^fine-1};  until Bernoulli(exp(-J/(2^fine s)))
	//	return 2^fine X + J
	//
	// P[X = x, J = j] is proportional to exp(-x/s) exp(-j/(2^fine s)) = exp(-(2^fine x + j)/scale).
	w := s.Uint64()
	g = d.cells.find(s, w>>1)
	if d.fine > 0 {
		j := s.Uint64() >> (64 - d.fine)
		for !d.accept(s, j) {
			j = s.Uint64() >> (64 - d.fine)
		}
		g = g<<d.fine | j
	}
	return g, w & 1
}

func (d *DiscreteLaplace) accept(s *Stream, j uint64) bool {
	return bernoulliExp(s, d.exponent(j), func() (p, q *big.Int) { return d.exactExponent(j) })
}

// exponent returns an enclosure of j/scale, for j < 2^fine <= scale/16.
func (d *DiscreteLaplace) exponent(j uint64) exponent {
	x, _ := bits.Mul64(j<<(64-d.fine), d.slope) // in (y-2, y], y = 2^64 j/scale: slope and x are rounded down
	return exponent{0, x, d.slack}
}

func (d *DiscreteLaplace) exactExponent(j uint64) (p, q *big.Int) {
	p = new(big.Int).SetUint64(j)
	return p.Lsh(p, d.shift), new(big.Int).SetUint64(d.num)
}

// dyadic writes x in [2^-10, 2^40] as m/2^shift with m < 2^53 and shift <= 62. Either m is odd, or shift is
// 0.
func dyadic(x float64) (m uint64, shift uint) {
	frac, exp := math.Frexp(x) // x = frac 2^exp, frac in [1/2, 1)
	m = uint64(math.Ldexp(frac, 53))
	drop := bits.TrailingZeros64(m)
	if exp -= 53 - drop; exp >= 0 {
		return m >> drop << exp, 0
	}
	return m >> drop, uint(-exp)
}
