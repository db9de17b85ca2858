package dpsgd

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/rng"
)

// bernoulli is an event of probability exactly q, a float64 in [2^-64, 1]. It compares a
// uniform integer below 2^136 with q 2^136, which is an integer: the last bit of q is worth
// at least 2^-116. The leading byte usually decides, and a word has eight of them. If it is
// equal, the rest is drawn.
type bernoulli struct {
	always bool
	first  byte
	hi, lo uint64
}

func newBernoulli(q float64) bernoulli {
	if q >= 1 {
		return bernoulli{always: true}
	}
	digit := func(bits int) (d uint64) {
		whole, rest := math.Modf(math.Ldexp(q, bits))
		q = rest
		return uint64(whole)
	}
	return bernoulli{first: byte(digit(8)), hi: digit(64), lo: digit(64)}
}

// among calls take for each number below n for which the event happens, independently.
func (b bernoulli) among(n int, s *rng.Stream, take func(i int)) {
	if b.always {
		for i := range n {
			take(i)
		}
		return
	}
	for i := 0; i < n; i += 8 {
		word := s.Uint64()
		if b.first < 127 && !anyBelow(word, b.first+1) {
			continue
		}
		for j := range min(8, n-i) {
			if u := byte(word >> (8 * j)); u < b.first || u == b.first && b.rest(s) {
				take(i + j)
			}
		}
	}
}

// rest decides the event if the leading byte was equal.
func (b bernoulli) rest(s *rng.Stream) bool {
	u := s.Uint64()
	return u < b.hi || u == b.hi && b.lo > 0 && s.Uint64() < b.lo
}

// anyBelow reports whether a byte of word is below n, for n at most 128. If one is, and
// only then, the subtraction sets the top bit of a byte that had none, at the latest in the
// lowest such byte.
func anyBelow(word uint64, n byte) bool {
	const ones = 0x0101010101010101
	return (word-ones*uint64(n))&^word&(ones<<7) != 0
}

// sampler says which records are in the batch of a step, and which block each joins, by
// draws of its own.
type sampler interface {
	// draw appends those from record low up to high, in ascending order. They are those of
	// one part; parts are drawn by several goroutines at a time.
	draw(dst []pick, part, low, high int, key Key, step int) []pick
}

// poisson draws every step by itself.
type poisson struct {
	include bernoulli
	blocks  int
}

// draw implements sampler.
func (p poisson) draw(dst []pick, part, low, high int, key Key, step int) []pick {
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	p.include.among(high-low, s, func(i int) {
		dst = append(dst, pick{low + i, int(s.Uint64N(uint64(p.blocks)))})
	})
	return dst
}

// batcher draws batches of the records and deals them to blocks.
type batcher struct {
	sampler sampler
	records int
	blocks  int

	rows   []int // of the batch, block by block, ascending in each
	starts []int // block b is rows[starts[b]:starts[b+1]]
	picked [][]pick
}

type pick struct{ row, block int }

// drawLength is how many records share a stream of random numbers, so that goroutines share
// the work.
const drawLength = 1 << 13

// newBatcher returns a batcher for the phase that begins at step start, with a probability if
// sampling is Poisson. The number of blocks must come from public numbers.
func newBatcher(s Sampling, probability float64, start, records, blocks int) *batcher {
	parts := (records + drawLength - 1) / drawLength
	b := &batcher{records: records, blocks: blocks, starts: make([]int, blocks+1), picked: make([][]pick, parts)}
	if s.Scheme == Cyclic {
		b.sampler = &cyclic{include: newBernoulli(s.inTurn(probability)), bands: s.Bands, blocks: blocks, parts: make([]turns, parts)}
	} else if s.epochs() {
		b.sampler = &epochSampler{Sampling: s, start: start, blocks: blocks, parts: make([]epochPart, parts)}
	} else {
		b.sampler = poisson{newBernoulli(probability), blocks}
	}
	return b
}

// draw makes the batch of a step from the run's key.
func (b *batcher) draw(workers int, key Key, step int) {
	parallel(workers, len(b.picked), func(_, part int) {
		low := part * drawLength
		b.picked[part] = b.sampler.draw(b.picked[part][:0], part, low, min(low+drawLength, b.records), key, step)
	})
	clear(b.starts)
	for _, picked := range b.picked {
		for _, p := range picked {
			b.starts[p.block]++
		}
	}
	at := 0
	for k, n := range b.starts {
		b.starts[k], at = at, at+n
	}
	b.rows = slices.Grow(b.rows[:0], at)[:at]
	next := slices.Clone(b.starts)
	for _, picked := range b.picked {
		for _, p := range picked {
			b.rows[next[p.block]] = p.row
			next[p.block]++
		}
	}
}

func (b *batcher) block(k int) []int { return b.rows[b.starts[k]:b.starts[k+1]] }
