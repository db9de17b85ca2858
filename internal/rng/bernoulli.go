package rng

import (
	"math/big"
	"math/bits"
)

// BernoulliExp is true with probability exactly exp(-p/q); q must be positive,
// or it panics (Canonne, Kamath, Steinke 2020, Algorithm 1).
//
//	while p >= q: if not Bernoulli(exp(-1)): false;  p = p - q
//	k = 1;  while Bernoulli(p/(q k)): k = k + 1;  return k odd
//
// For x = p/q <= 1 the loop reaches k = j+1 with probability x^j/j!, so it ends
// at k = j+1 with probability x^j/j! - x^(j+1)/(j+1)!, and the sum over even j
// is the series 1 - x + x^2/2! - ... of exp(-x).
func BernoulliExp(s *Stream, p, q uint64) bool {
	if q == 0 {
		panic("rng: BernoulliExp: q is 0")
	}
	frac, _ := bits.Div64(p%q, 0, q)
	return bernoulliExp(s, exponent{p / q, frac, 1}, func() (*big.Int, *big.Int) {
		return new(big.Int).SetUint64(p), new(big.Int).SetUint64(q)
	})
}

// exponent encloses an exponent x >= 0: the integer part is whole, and 2^64
// times the rest lies in [frac, frac+slack].
type exponent struct{ whole, frac, slack uint64 }

// bernoulliExp is true with probability exp(-x). It runs Algorithm 1 in machine
// words on the enclosure of x, and hands over to exact integers, p/q = x, in the
// middle and without losing a word, whenever the enclosure cannot decide. So it
// reads the same words and gives the same answers as bernoulliExpBig, always.
//
// Trial k succeeds iff k U < x; the word u says that 2^64 k U is in
// [k u, k u + k).
func bernoulliExp(s *Stream, x exponent, exact func() (p, q *big.Int)) bool {
	for range x.whole {
		if !bernoulliExp1(s) {
			return false
		}
	}
	return bernoulliExpFrom(s, s.src.Uint64(), x, exact)
}

// bernoulliExpFrom is bernoulliExp for x < 1, the first word u given.
func bernoulliExpFrom(s *Stream, u uint64, x exponent, exact func() (p, q *big.Int)) bool {
	for k := uint64(1); ; k++ {
		hi, lo := bits.Mul64(k, u)
		if top, carry := bits.Add64(x.frac, x.slack, 0); hi > 0 || carry == 0 && lo >= top {
			return k&1 == 1 // k U >= x
		}
		if next, carry := bits.Add64(lo, k, 0); carry == 0 && next <= x.frac {
			u = s.src.Uint64() // k U < x
			continue
		}
		p, q := exact()
		return resumeBernoulliExp(s, p.Mod(p, q), q, k, u)
	}
}

// bernoulliExpBig is bernoulliExp in exact arithmetic, and takes any x.
func bernoulliExpBig(s *Stream, exact func() (p, q *big.Int)) bool {
	p, q := exact()
	for ; p.Cmp(q) >= 0; p.Sub(p, q) {
		if !bernoulliExp1(s) {
			return false
		}
	}
	return resumeBernoulliExp(s, p, q, 1, s.src.Uint64())
}

// resumeBernoulliExp continues the loop of Algorithm 1 inside trial k, whose
// first word u has been read; p < q. With d = q k a trial compares the uniform
// real U = (u+V)/2^64 with p/d: U < p/d iff V < (2^64 p - u d)/d, and V is
// uniform on [0, 1) again.
func resumeBernoulliExp(s *Stream, p, q *big.Int, k, u uint64) bool {
	var d, n, word big.Int
	for ; ; k++ {
		d.Mul(q, d.SetUint64(k))
		for n.Set(p); n.Cmp(&d) < 0; u = s.src.Uint64() {
			n.Sub(n.Lsh(&n, 64), word.Mul(word.SetUint64(u), &d))
			if n.Sign() <= 0 {
				return k&1 == 1
			}
		}
	}
}

// inverseE is floor(2^64 exp(-1)).
const inverseE = 6786177901268885274

// bernoulliExp1 is true with probability exp(-1). A word that is not inverseE
// itself tells on which side of exp(-1) the uniform real lies.
func bernoulliExp1(s *Stream) bool {
	u := s.src.Uint64()
	if u == inverseE {
		return extend(s, coin{}, u, 64) == 1
	}
	return u < inverseE
}
