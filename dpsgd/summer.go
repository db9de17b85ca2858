package dpsgd

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
)

const spanLength = 4096

func spansOf(n int) int { return (n + spanLength - 1) / spanLength }

func spans(workers, n int, f func(worker, i, low, high int)) {
	parallel.Each(workers, spansOf(n), func(worker, i int) {
		f(worker, i, i*spanLength, min((i+1)*spanLength, n))
	})
}

// With noise, each goroutine sums integers, and the sums of the goroutines are added. Without noise there is
// a fixed number of float64 sums (lanes), so that the order of additions does not depend on the goroutines.

type summer struct {
	data    Data
	group   grouping
	workers []*summingWorker
	floats  [][]float64 // lanes; nil if there is a grid
	tallies []Tally     // one per block
	broken  atomic.Bool // set if a worker exceeded its clip norm
	blind   bool        // ignores broken, for tests of the effect of such a worker
}

type summingWorker struct {
	Worker
	packed PackedWorker // nil if rows are not packed or Worker is not a PackedWorker
	sum    []float32
	ints   []int64 // nil if there is no grid
	busy   bool    // Start was called in this step
	full   bool    // ints holds sums of this step
}

func newSummer(model Model, data Data, integers, workers int) *summer {
	parameters := len(model.Parameters())
	s := &summer{data: data, group: groupingOf(parameters)}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if integers == 0 {
		s.floats = make([][]float64, max(4, min(16, 1<<22/parameters))) // about 32 MB in all
		for l := range s.floats {
			s.floats[l] = kernel.Make[float64](parameters)
		}
		workers = min(workers, len(s.floats))
	}
	for range workers {
		w := &summingWorker{Worker: model.Worker(), sum: kernel.Make[float32](parameters)}
		if p, ok := w.Worker.(PackedWorker); ok && data.Packed != nil {
			w.packed = p
		}
		if integers > 0 {
			w.ints = kernel.Make[int64](integers)
		}
		s.workers = append(s.workers, w)
	}
	return s
}

// add sums the clipped gradients of the batch. With noise, the sums are integers in units of 1/perUnit. With
// noise, add fails if a sum of n gradients has a norm above n clip norms.
func (s *summer) add(ctx context.Context, batch *batcher, clip Clip, perUnit float64) (Tally, error) {
	for _, w := range s.workers {
		w.busy, w.full = false, false
	}
	s.tallies = append(s.tallies[:0], make([]Tally, batch.blocks)...)
	jobs := batch.blocks
	if s.floats != nil {
		jobs = len(s.floats)
	}
	parallel.Each(len(s.workers), jobs, func(worker, i int) {
		w := s.workers[worker]
		if !w.busy {
			w.Start()
			w.busy = true
		}
		if s.floats == nil {
			if ctx.Err() == nil {
				s.tallies[i] = w.addBlock(s, batch, i, clip, func(rows int) {
					square := w.fold(perUnit)
					if most := float64(rows) * clip.Norm() * (1 + 0x1p-19); !s.blind && !(square <= most*most) {
						s.broken.Store(true)
					}
				})
			}
			return
		}
		fresh := true
		for b := i; b < batch.blocks && ctx.Err() == nil; b += len(s.floats) {
			s.tallies[b] = w.addBlock(s, batch, b, clip, func(int) {
				foldFloats(s.floats[i], w.sum, fresh)
				fresh = false
			})
		}
		if fresh {
			clear(s.floats[i])
		}
	})
	var total Tally
	for _, t := range s.tallies {
		total.add(t)
	}
	if s.broken.Load() {
		return Tally{}, errors.New("dpsgd: a Worker added more than the clip norm allows: it breaks its second obligation")
	}
	return total, ctx.Err()
}

func (s *summer) after(batch *batcher, b int) []int {
	next, end := b+len(s.workers), batch.blocks
	if lanes := len(s.floats); lanes > 0 {
		if next = b + lanes; next >= batch.blocks { // b is the last block of its lane
			next, end = b%lanes+len(s.workers), min(lanes, batch.blocks)
		}
	}
	if next >= end {
		return nil
	}
	return batch.block(next)
}

// addBlock adds the clipped gradients of a block to w.sum, piece by piece. After each piece, addBlock
// calls fold, which must use and clear w.sum.
func (w *summingWorker) addBlock(s *summer, batch *batcher, block int, clip Clip, fold func(rows int)) (tally Tally) {
	size := s.group.rows
	rows := batch.block(block)
	if len(rows) > s.group.limit {
		size = 1
	}
	for len(rows) > 0 {
		n := min(size, len(rows))
		if w.packed != nil {
			expected := rows[n:]
			if len(expected) == 0 {
				expected = s.after(batch, block)
			}
			w.packed.Expect(expected)
		}
		tally.add(w.AddClipped(w.sum, s.data, rows[:n], clip))
		rows = rows[n:]
		fold(n)
	}
	return tally
}

// fold adds w.sum, in units of 1/perUnit, to the step's sums in w.ints. It clears w.sum and returns the
// previous squared norm of w.sum.
func (w *summingWorker) fold(perUnit float64) (square float64) {
	n := len(w.sum)
	if w.full {
		return kernel.FoldInt64(w.ints[:n], w.sum, perUnit)
	}
	w.full = true
	for low := 0; low < n; low += spanLength {
		high := min(low+spanLength, n)
		clear(w.ints[low:high])
		square += kernel.FoldInt64(w.ints[low:high], w.sum[low:high], perUnit)
	}
	clear(w.ints[n:])
	return square
}

func (s *summer) total() []int64 {
	var parts [][]int64
	for _, w := range s.workers {
		if w.full {
			parts = append(parts, w.ints)
		}
	}
	if len(parts) == 0 {
		clear(s.workers[0].ints)
		return s.workers[0].ints
	}
	all := parts[0]
	if len(parts) > 1 {
		spans(len(s.workers), len(all), func(_, _, low, high int) {
			sum := all[low:high]
			for _, part := range parts[1:] {
				for j, v := range part[low:high] {
					sum[j] += v
				}
			}
		})
	}
	return all
}

func foldFloats(lane []float64, sum []float32, fresh bool) {
	for low := 0; low < len(sum); low += spanLength {
		high := min(low+spanLength, len(sum))
		if fresh {
			clear(lane[low:high])
		}
		kernel.FoldFloat64(lane[low:high], sum[low:high])
	}
}

func (s *summer) readFloats(dst []float64, low int) {
	clear(dst)
	for _, lane := range s.floats {
		kernel.AddFloat64(dst, lane[low:low+len(dst)])
	}
}
