package dpsgd

import (
	"slices"

	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

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

// drawLength is how many records share a stream of random numbers, so that goroutines share the work.
const drawLength = 1 << 13

// newBatcher returns a batcher for the phase that begins at step start, with a probability if sampling is
// Poisson. The number of blocks must come from public numbers.
func newBatcher(s Sampling, probability float64, start, records, blocks int) *batcher {
	parts := (records + drawLength - 1) / drawLength
	return &batcher{
		sampler: s.scheme().sampler(probability, start, parts, blocks),
		records: records, blocks: blocks, starts: make([]int, blocks+1), picked: make([][]pick, parts),
	}
}

func (b *batcher) draw(workers int, key rng.Key, step int) {
	parallel.Each(workers, len(b.picked), func(_, part int) {
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
