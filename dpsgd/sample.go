package dpsgd

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/rng"
)

// bernoulli is an event of probability exactly q, a float64 in [2^-64, 1]. A
// uniform integer below 2^128 is compared with q 2^128, which is an integer:
// the last bit of q is worth at least 2^-116. Its lower half is only drawn
// when the upper one leaves the comparison open.
type bernoulli struct {
	always bool
	hi, lo uint64
}

func newBernoulli(q float64) bernoulli {
	if q >= 1 {
		return bernoulli{always: true}
	}
	hi, rest := math.Modf(math.Ldexp(q, 64))
	return bernoulli{hi: uint64(hi), lo: uint64(math.Ldexp(rest, 64))}
}

func (b bernoulli) draw(s *rng.Stream) bool {
	if b.always {
		return true
	}
	u := s.Uint64()
	return u < b.hi || u == b.hi && b.lo > 0 && s.Uint64() < b.lo
}

// batcher draws Poisson samples of the records and deals them to blocks.
type batcher struct {
	include bernoulli
	records int
	blocks  int

	rows   []int // of the batch, block by block, ascending in each
	starts []int // block b is rows[starts[b]:starts[b+1]]
	picked [][]pick
}

type pick struct{ row, block int }

// drawLength is how many records share a stream of random numbers, so that
// goroutines share the work.
const drawLength = 1 << 13

// newBatcher fixes the number of blocks from public numbers.
func newBatcher(q float64, records int, group grouping) *batcher {
	blocks := group.blocks(q * float64(records))
	return &batcher{
		include: newBernoulli(q), records: records, blocks: blocks,
		starts: make([]int, blocks+1),
		picked: make([][]pick, (records+drawLength-1)/drawLength),
	}
}

// draw makes the batch of one step. Every record takes part, or not, and finds
// its block by draws of its own.
func (b *batcher) draw(workers int, key Key) {
	parallel(workers, len(b.picked), func(_, part int) {
		picked, s := b.picked[part][:0], key.Derive("part", uint64(part)).Stream()
		for i := part * drawLength; i < min((part+1)*drawLength, b.records); i++ {
			if b.include.draw(s) {
				picked = append(picked, pick{i, int(s.Uint64N(uint64(b.blocks)))})
			}
		}
		b.picked[part] = picked
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
