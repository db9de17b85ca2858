package rng

import (
	"math/big"
	"math/bits"
)

// bernoulli is true with probability exactly n/d, clipped to [0, 1]; d > 0.
//
//	loop:  if n >= d: true
//	       u = next word;  n = 2^64 n - u d;  if n <= 0: false
//
// It compares a uniform real U, of which u is the next 64 bits, with n/d: with
// U = (u+V)/2^64 and V uniform on [0,1) again, U < n/d iff V < (2^64 n - u d)/d.
// Nearly always the first word decides. Certain success reads no word.
func bernoulli(s *Stream, n, d uint64) bool {
	for n < d {
		hi, lo := bits.Mul64(s.src.Uint64(), d)
		if hi >= n { // 2^64 n - u d <= 0
			return false
		}
		if n-hi > 1 || lo == 0 { // 2^64 n - u d >= 2^64 > d
			return true
		}
		n = -lo // 2^64 - lo, which is below 2^64
	}
	return true
}

// bernoulliBig is bernoulli on integers of any size. It reads the same words
// and gives the same answers.
func bernoulliBig(s *Stream, n, d *big.Int) bool {
	n = new(big.Int).Set(n)
	var u big.Int
	for n.Cmp(d) < 0 {
		u.SetUint64(s.src.Uint64())
		if n.Sub(n.Lsh(n, 64), u.Mul(&u, d)); n.Sign() <= 0 {
			return false
		}
	}
	return true
}

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
	for ; p >= q; p -= q {
		if !bernoulliExp1(s) {
			return false
		}
	}
	return bernoulliExpFraction(s, p, q)
}

// bernoulliExpFraction is BernoulliExp for p < q.
func bernoulliExpFraction(s *Stream, p, q uint64) bool {
	for k := uint64(1); ; k++ {
		hi, d := bits.Mul64(q, k)
		if hi != 0 {
			return bernoulliExpFractionBig(s, new(big.Int).SetUint64(p), new(big.Int).SetUint64(q), k)
		}
		if !bernoulli(s, p, d) {
			return k&1 == 1
		}
	}
}

// bernoulliExp1 is true with probability exp(-1). The trial k = 1 always
// succeeds and reads nothing.
func bernoulliExp1(s *Stream) bool {
	for k := uint64(2); ; k++ {
		if !bernoulli(s, 1, k) {
			return k&1 == 1
		}
	}
}

// bernoulliExpBig is BernoulliExp on integers of any size. It reads the same
// words and gives the same answers.
func bernoulliExpBig(s *Stream, p, q *big.Int) bool {
	p = new(big.Int).Set(p)
	for ; p.Cmp(q) >= 0; p.Sub(p, q) {
		if !bernoulliExp1(s) {
			return false
		}
	}
	return bernoulliExpFractionBig(s, p, q, 1)
}

// bernoulliExpFractionBig runs the loop of Algorithm 1 from trial k on, p < q.
func bernoulliExpFractionBig(s *Stream, p, q *big.Int, k uint64) bool {
	var d big.Int
	for ; ; k++ {
		if !bernoulliBig(s, p, d.Mul(q, d.SetUint64(k))) {
			return k&1 == 1
		}
	}
}

// resumeBernoulliExp continues that loop inside trial k, whose first word u has
// been read.
func resumeBernoulliExp(s *Stream, p, q *big.Int, k, u uint64) bool {
	d := new(big.Int).SetUint64(k)
	d.Mul(d, q)
	n := new(big.Int).SetUint64(u)
	n.Sub(new(big.Int).Lsh(p, 64), n.Mul(n, d)) // as in bernoulli
	if n.Sign() <= 0 || !bernoulliBig(s, n, d) {
		return k&1 == 1
	}
	return bernoulliExpFractionBig(s, p, q, k+1)
}
