package rng

import (
	"math/big"
	"math/bits"
)

// bernoulliRatio returns true with probability exactly exp(-p/q) (Canonne, Kamath, Steinke 2020, Algorithm
// 1).
func bernoulliRatio(s *Stream, p, q uint64) bool {
	//	while p >= q: if not Bernoulli(exp(-1)): false;  p = p - q
	//	k = 1;  while Bernoulli(p/(q k)): k = k + 1;  return k odd
	//
	// For x = p/q <= 1 the loop over k reaches j+1 with probability x^j/j!. So it ends at k = j+1 with
	// probability x^j/j! - x^(j+1)/(j+1)!. The sum over even j is the series 1 - x + x^2/2! - ... of exp(-x).
	frac, _ := bits.Div64(p%q, 0, q)
	return bernoulliExp(s, exponent{p / q, frac, 1}, func() (*big.Int, *big.Int) {
		return new(big.Int).SetUint64(p), new(big.Int).SetUint64(q)
	})
}

// exponent encloses a number x >= 0. The integer part is whole, and 2^64 times the fractional part is in
// [frac, frac+slack].
type exponent struct{ whole, frac, slack uint64 }

// bernoulliExp returns true with probability exp(-p/q), where exact returns p and q. The argument x encloses
// p/q.
func bernoulliExp(s *Stream, x exponent, exact func() (p, q *big.Int)) bool {
	// It runs Algorithm 1 (see bernoulliRatio) in 64-bit words on the enclosure of x. If the enclosure does
	// not decide, the loop continues with the exact fraction p/q = x.
	//
	// Trial k succeeds if and only if k U < x. If U starts with the word u, 2^64 k U is in [k u, k u + k).
	for range x.whole {
		if !bernoulliExp1(s) {
			return false
		}
	}
	return bernoulliExpFrom(s, s.Uint64(), x, exact)
}

// bernoulliExpFrom runs the loop of bernoulliExp for the fractional part of x. The first random word, u, is
// already drawn.
func bernoulliExpFrom(s *Stream, u uint64, x exponent, exact func() (p, q *big.Int)) bool {
	for k := uint64(1); ; k++ {
		hi, lo := bits.Mul64(k, u)
		if top, carry := bits.Add64(x.frac, x.slack, 0); hi > 0 || carry == 0 && lo >= top {
			return k&1 == 1 // k U >= x
		}
		if next, carry := bits.Add64(lo, k, 0); carry == 0 && next <= x.frac {
			u = s.Uint64() // k U < x
			continue
		}
		p, q := exact()
		return resumeBernoulliExp(s, p.Mod(p, q), q, k, u)
	}
}

func bernoulliExpBig(s *Stream, exact func() (p, q *big.Int)) bool {
	p, q := exact()
	for ; p.Cmp(q) >= 0; p.Sub(p, q) {
		if !bernoulliExp1(s) {
			return false
		}
	}
	return resumeBernoulliExp(s, p, q, 1, s.Uint64())
}

// resumeBernoulliExp continues the loop of bernoulliRatio at trial k, whose uniform real begins with the word
// u.
func resumeBernoulliExp(s *Stream, p, q *big.Int, k, u uint64) bool {
	// It needs p < q. Let d = q k, and let V be uniform on [0, 1). The trial compares the uniform real U =
	// (u+V)/2^64 with p/d. U < p/d if and only if V < (2^64 p - u d)/d.
	var d, n, word big.Int
	for ; ; k++ {
		d.Mul(q, d.SetUint64(k))
		for n.Set(p); n.Cmp(&d) < 0; u = s.Uint64() {
			n.Sub(n.Lsh(&n, 64), word.Mul(word.SetUint64(u), &d))
			if n.Sign() <= 0 {
				return k&1 == 1
			}
		}
	}
}

const inverseE = 6786177901268885274

func bernoulliExp1(s *Stream) bool {
	// One word decides unless it is floor(2^64 exp(-1)).
	u := s.Uint64()
	if u == inverseE {
		return extend(s, coin{}, u, 64) == 1
	}
	return u < inverseE
}
