package rng

import (
	"math"
	"math/bits"
)

// Bernoulli is an event of probability exactly q, a float64 in [2^-64, 1]. It compares a uniform integer
// below 2^136 with q 2^136, an integer since the last bit of q is worth at least 2^-116. The leading byte
// usually decides, and a word has eight bytes. If it is equal, the rest is drawn.
type Bernoulli struct {
	always bool
	first  byte
	hi, lo uint64
}

// NewBernoulli returns the event of probability q; 1 or more is certain.
func NewBernoulli(q float64) Bernoulli {
	if q >= 1 {
		return Bernoulli{always: true}
	}
	digit := func(bits int) (d uint64) {
		whole, rest := math.Modf(math.Ldexp(q, bits))
		q = rest
		return uint64(whole)
	}
	return Bernoulli{first: byte(digit(8)), hi: digit(64), lo: digit(64)}
}

// Among calls take for each number below n for which the event happens, independently, in the
// draws of [Bernoulli.Eight].
func (b Bernoulli) Among(n int, s *Stream, take func(i int)) {
	for i := 0; i < n; i += 8 {
		for marks := b.Eight(s, n-i); marks != 0; marks &= marks - 1 {
			take(i + bits.TrailingZeros8(marks))
		}
	}
}

// Eight marks the next n numbers, or the next eight if n is more, for which the event happens, independently:
// the first by the lowest bit. It draws a word for eight numbers, so that draws for multiples of eight, and
// then for the rest, are the draws for all.
func (b Bernoulli) Eight(s *Stream, n int) (marks byte) {
	const ones = 0x0101010101010101
	const top = ones << 7
	exist := ^uint64(0)
	if n < 8 {
		exist = 1<<(8*n) - 1
	}
	taken := exist & top
	if !b.always {
		word := s.Uint64()
		taken &= b.atMost(word)
		differ := word ^ ones*uint64(b.first)
		equal := taken &^ (differ&^top + ^uint64(top) | differ)
		for ; equal != 0; equal &= equal - 1 {
			if !b.rest(s) {
				taken &^= equal & -equal
			}
		}
	}
	return byte(taken >> 7 * 0x0102040810204080 >> 56) // byte i has come to bit 56+i
}

// rest decides the event if the leading byte was equal.
func (b Bernoulli) rest(s *Stream) bool {
	u := s.Uint64()
	return u < b.hi || u == b.hi && b.lo > 0 && s.Uint64() < b.lo
}

// atMost returns the top bits of the bytes of word that are at most first. Where the top bits of the two are
// equal, those below decide: first's, with the top bit set, less the byte's keep that bit if they are not
// less, and no byte borrows from another.
func (b Bernoulli) atMost(word uint64) uint64 {
	const ones = 0x0101010101010101
	const top = ones << 7
	first := ones * uint64(b.first)
	notLess := (first | top) - word&^top
	return (first&^word | notLess&^(first^word)) & top
}
