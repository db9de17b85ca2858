package rng

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/pate-go/pate/internal/mathx"
)

// RoundedNormal samples round((mean + sd Z)/grid) for a standard normal Z. The float64 parameters are taken
// exactly, as dyadic rationals. Use RoundedNormal if the size of the noise depends on protected values. The
// distribution is rounded continuous noise, not a discrete Gaussian. Z is drawn to as many bits as needed.
// The time and the number of words read depend on mean, sd and the noise.
type RoundedNormal struct {
	mean, sd, grid *big.Int // all three scaled by the same power of two
	digit          uint     // bits of a real number that are drawn at a time
}

// NewRoundedNormal returns a sampler. All arguments must be finite, and sd and grid must be above 0.
func NewRoundedNormal(mean, sd, grid float64) (*RoundedNormal, error) {
	switch {
	case !mathx.IsFinite(mean):
		return nil, errors.New("rng: mean of rounded normal noise must be finite")
	case !(sd > 0) || math.IsInf(sd, 1):
		return nil, errors.New("rng: standard deviation of rounded normal noise must be finite and above 0")
	case !(grid > 0) || math.IsInf(grid, 1):
		return nil, fmt.Errorf("rng: grid of rounded normal noise must be finite and above 0, not %g", grid)
	}
	n := &RoundedNormal{digit: 64}
	n.mean, n.sd, n.grid = integers(mean, sd, grid)
	return n, nil
}

func integers(x, y, z float64) (*big.Int, *big.Int, *big.Int) {
	var m [3]*big.Int
	var exp [3]int
	least := math.MaxInt
	for i, f := range []float64{x, y, z} {
		mantissa, e := math.Frexp(f)
		m[i], exp[i] = big.NewInt(int64(math.Ldexp(mantissa, 53))), e
		if f != 0 {
			least = min(least, e)
		}
	}
	for i := range m {
		m[i].Lsh(m[i], uint(max(exp[i]-least, 0)))
	}
	return m[0], m[1], m[2]
}

// Sample draws one value, clamped to the range of int64.
//
//	loop:  k = number of successes of Bernoulli(exp(-1/2)) before the first failure
//	       unless Bernoulli(exp(-k(k-1)/2)): again
//	       x uniform real in [0, 1)
//	       unless Bernoulli(exp(-x(2k+x)/2)): again
//	       B = random sign
//	       return floor((mean + sd B (k+x))/grid + 1/2)
func (n *RoundedNormal) Sample(s *Stream) int64 {
	// This is Algorithm N of Karney (2016). The density of k+x is proportional to exp(-k/2 - k(k-1)/2 -
	// x(2k+x)/2) = exp(-(k+x)^2/2). Only the bits of x that a comparison needs are drawn. Every decision is a
	// function of earlier bits, so later bits are uniform and independent of all decisions. So x and the
	// decisions have the joint distribution of an x drawn in full. With probability 1 finitely many bits
	// decide the floor.
	for {
		var k uint64
		for bernoulliRatio(s, 1, 2) {
			k++
		}
		if k > 1 && !bernoulliRatio(s, k*(k-1), 2) {
			continue
		}
		x := &lazy{src: s, digit: n.digit}
		if !acceptNormal(k, x) {
			continue
		}
		return n.round(k, x, s.Uint64()&1 == 1)
	}
}

// lazy holds the first bits of a uniform real, which is in [head, head+1)/2^bits.
type lazy struct {
	src   interface{ Uint64() uint64 }
	digit uint // in [1, 64]
	head  big.Int
	bits  uint
}

func (x *lazy) extend() {
	var word big.Int
	x.head.Lsh(&x.head, x.digit)
	x.head.Or(&x.head, word.SetUint64(x.src.Uint64()>>(64-x.digit)))
	x.bits += x.digit
}

// acceptNormal returns true with probability exp(-x(2k+x)/2).
func acceptNormal(k uint64, x *lazy) bool {
	// It draws trials of Bernoulli(exp(-y)), y = x(2k+x)/(2k+2) < 1, until k+1 successes or a failure. Each
	// trial is by von Neumann's method with uniform reals U_1, U_2, ..., as in [bernoulliRatio]:
	//
	//	j = 1;  while U_j < y/j: j = j + 1;  return j odd
	for range k + 1 {
		j := uint64(1)
		for below(&lazy{src: x.src, digit: x.digit}, j, k, x) {
			j++
		}
		if j&1 == 0 {
			return false
		}
	}
	return true
}

// below reports whether u < x(2k+x)/((2k+2) j).
func below(u *lazy, j, k uint64, x *lazy) bool {
	// It draws bits of u and x until the comparison is decided. With b bits of u and of x, u is in [v,
	// v+1)/2^b, x is in [a, a+1)/2^b, and
	//
	//	u (2k+2) j 4^b     is in [v, v+1) (2k+2) j 2^b
	//	x (2k+x) 4^b       is in [a (2k 2^b + a), (a+1) (2k 2^b + a+1))
	one := big.NewInt(1)
	var factor, twice, left, right, low, high big.Int
	factor.SetUint64(j)
	factor.Mul(&factor, low.SetUint64(k+1)).Lsh(&factor, 1)
	for {
		u.extend()
		for x.bits < u.bits {
			x.extend()
		}
		for u.bits < x.bits {
			u.extend()
		}
		twice.Lsh(twice.SetUint64(k), x.bits+1) // 2k 2^b
		left.Lsh(left.Mul(&u.head, &factor), u.bits)
		right.Lsh(right.Mul(right.Add(&u.head, one), &factor), u.bits)
		low.Mul(low.Add(&twice, &x.head), &x.head)
		high.Add(&x.head, one)
		high.Mul(twice.Add(&twice, &high), &high)
		switch {
		case right.Cmp(&low) <= 0:
			return true
		case left.Cmp(&high) >= 0:
			return false
		}
	}
}

// round returns floor((mean + sd y)/grid + 1/2), where y is -(k+x) if negative is set, and k+x otherwise.
func (n *RoundedNormal) round(k uint64, x *lazy, negative bool) int64 {
	one := big.NewInt(1)
	for ; ; x.extend() {
		var low, high, scaled, grid big.Int
		low.Lsh(low.SetUint64(k), x.bits)
		low.Add(&low, &x.head)
		high.Add(&low, one)
		from, to := &low, &high // k+x, or -(k+x), in units of 2^-bits
		if negative {
			from, to = high.Neg(&high), low.Neg(&low)
		}
		for _, end := range []*big.Int{from, to} { // over 2 grid 2^bits
			end.Mul(end, n.sd)
			end.Add(end, scaled.Lsh(n.mean, x.bits)).Lsh(end, 1)
			end.Add(end, scaled.Lsh(n.grid, x.bits))
		}
		grid.Lsh(n.grid, x.bits+1)
		from.Div(from, &grid) // rounds down, as grid is positive
		to.Div(to.Sub(to, one), &grid)
		if from.Cmp(to) == 0 {
			return saturate(from)
		}
	}
}

func saturate(x *big.Int) int64 {
	switch {
	case x.IsInt64():
		return x.Int64()
	case x.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}
