package dpsgd

import (
	"slices"

	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// sampler says which records are in the batch of a step, and which block each joins, by
// draws of its own.
type sampler interface {
	// draw appends those from record low up to high, in ascending order. They are those of
	// one part; parts are drawn by several goroutines at a time.
	draw(dst []pick, part, low, high int, key rng.Key, step int) []pick
}

// poisson draws every step by itself.
type poisson struct {
	include rng.Bernoulli
	blocks  int
}

// draw implements sampler.
func (p poisson) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	p.include.Among(high-low, s, func(i int) {
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
		b.sampler = &cyclic{include: rng.NewBernoulli(s.inTurn(probability)), bands: s.Bands, blocks: blocks, parts: make([]turns, parts)}
	} else if s.epochs() {
		b.sampler = &epochSampler{Sampling: s, start: start, blocks: blocks, parts: make([]epochPart, parts)}
	} else {
		b.sampler = poisson{rng.NewBernoulli(probability), blocks}
	}
	return b
}

// draw makes the batch of a step from the run's key.
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
