package rng

import (
	"math"
	"math/big"
	"math/bits"
	"sync/atomic"
)

//	X = number of m >= 1 with U < P[X >= m].
//
// Only the bits of U that the comparisons need are read. The first 63 bits are the integer u, and U is in [u,
// u+1)/2^63. A table is made at the first draw. For every tail T the table holds an integer e with e <= 2^63
// T <= e + slack. If u < e, then U < T. If u >= e + slack, then U >= T. In all other cases, less than one of
// 2^50 draws, extend decides exactly. So the distribution is exact. Mostly the first 13 bits decide.

// inversion samples an integer X >= 0. It compares one uniform real U with the tails P[X >= m].
type inversion struct {
	law  law
	made atomic.Pointer[table]
}

type table struct {
	tails []uint64 // e of P[X >= 1], P[X >= 2], ..., falling; the last is 0
	slack uint64
	guide [1 << guideBits]uint16 // for each slot, the first bits of u: X, or open + start of the search
	_     [3]uint16              // eight bytes can be read from every slot
}

const (
	uBits     = 63
	guideBits = 13
	open      = 1 << 15 // the slot alone does not determine X
)

func (v *inversion) find(s *Stream, u uint64) uint64 {
	if x, ok := v.table().find(u); ok {
		return x
	}
	return extend(s, v.law, u, uBits)
}

func (v *inversion) table() *table {
	if t := v.made.Load(); t != nil {
		return t
	}
	t := newTable(v.law)
	v.made.Store(t) // another goroutine may have stored the same
	return t
}

func (t *table) find(u uint64) (x uint64, ok bool) {
	if m := t.guide[u>>(uBits-guideBits)]; m < open {
		return uint64(m), true
	}
	return t.search(u)
}

func (t *table) search(u uint64) (x uint64, ok bool) {
	m := int(t.guide[u>>(uBits-guideBits)] % open)
	tails := t.tails[m:]
	for i, e := range tails {
		if u >= e {
			return uint64(m + i), u-e >= t.slack
		}
	}
	panic("rng: table does not end with 0")
}

func newTable(l law) *table {
	const extra = 32
	t := &table{slack: 1}
	for _, tail := range l.tails(uBits + extra) {
		e := new(big.Int).Rsh(tail.lo, extra).Uint64()
		t.tails = append(t.tails, e)
		t.slack = max(t.slack, rshUp(tail.hi, extra).Uint64()-e)
		if e == 0 {
			break // further tails are in [0, slack] as well
		}
	}
	t.index()
	return t
}

func (t *table) index() {
	// A slot determines X = m if every u in the slot is below all tails before the m-th, and at least slack
	// above the m-th tail.
	m := len(t.tails) - 1
	for g := range t.guide {
		least := uint64(g) << (uBits - guideBits)
		largest := uint64(g+1)<<(uBits-guideBits) - 1
		for m > 0 && t.tails[m-1] <= largest {
			m--
		}
		t.guide[g] = uint16(m)
		if least < t.tails[m] || least-t.tails[m] < t.slack {
			t.guide[g] |= open
		}
	}
}

// extend samples the law l by inversion. The first n bits of the uniform real U are u.
func extend(s *Stream, l law, u uint64, n uint) uint64 {
	// It reads more bits as needed.
	//
	//	loop:  for m = 1, 2, ...:  if U < P[X >= m] for certain: next m
	//	                           if U >= P[X >= m] for certain: return m-1
	//	                           else leave this loop
	//	       u = 2^64 u + next word;  n = n + 64
	//
	// The interval that contains U shrinks as n grows. So the loop ends with probability 1.

	const extra = 32
	low, high := new(big.Int).SetUint64(u), new(big.Int) // 2^(n+extra) U is in [low, high)
	low.Lsh(low, extra)
	for ; ; n += 64 {
		high.Add(low, new(big.Int).Lsh(big.NewInt(1), extra))
		for i, tail := range l.tails(n + extra) {
			if high.Cmp(tail.lo) <= 0 {
				continue
			}
			if low.Cmp(tail.hi) >= 0 {
				return uint64(i)
			}
			break
		}
		word := new(big.Int).SetUint64(s.Uint64())
		low.Add(low.Lsh(low, 64), word.Lsh(word, extra))
	}
}

// Bernoulli is an event of probability exactly q, a float64 in [2^-64, 1]. With 53 significant bits, q is a
// multiple of 2^-116, so q 2^136 is an integer. A trial compares this integer with a uniform integer below
// 2^136. Usually the leading byte decides, so one word serves eight trials.
type Bernoulli struct {
	always bool
	first  byte
	hi, lo uint64
}

// NewBernoulli returns a trial with success probability min(q, 1).
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

// Among draws n independent trials and calls take with the index of each success.
func (b Bernoulli) Among(n int, s *Stream, take func(i int)) {
	for i := 0; i < n; i += 8 {
		for marks := b.Eight(s, n-i); marks != 0; marks &= marks - 1 {
			take(i + bits.TrailingZeros8(marks))
		}
	}
}

// Eight draws min(n, 8) independent trials. Bit i of the result is set if the event happens in trial i.
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
	return byte(taken >> 7 * 0x0102040810204080 >> 56) // moves byte i to bit 56+i
}

func (b Bernoulli) rest(s *Stream) bool {
	u := s.Uint64()
	return u < b.hi || u == b.hi && b.lo > 0 && s.Uint64() < b.lo
}

// atMost returns a word whose byte i is 0x80 if byte i of `word` is at most b.first. The other bytes are 0.
func (b Bernoulli) atMost(word uint64) uint64 {
	// If the top bits of the byte and of b.first are equal, the lower bits decide. The lower bits are
	// subtracted from b.first with the top bit set. The top bit stays set if the byte is not larger, and no
	// byte borrows from another byte.

	const ones = 0x0101010101010101
	const top = ones << 7
	first := ones * uint64(b.first)
	notLess := (first | top) - word&^top
	return (first&^word | notLess&^(first^word)) & top
}
