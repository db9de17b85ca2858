package dpsgd

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// lanes is the number of partial sums of a step. It is fixed so that a sum of
// doubles has one order of additions whatever the number of goroutines; each
// takes eight bytes a parameter.
const lanes = 16

// parallel calls f(worker, i) for all i below n from the given number of
// goroutines.
func parallel(workers, n int, f func(worker, i int)) {
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	if workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(w, int(i))
			}
		})
	}
	group.Wait()
}

// summer computes the clipped sum of a batch, as integers on a grid or, for
// non-private training, as doubles.
type summer struct {
	data    Data
	clip    Clip
	perUnit float64 // 1/unit of the grid; 0 for doubles
	workers []*summingWorker
	ints    [lanes][]int64
	floats  [lanes][]float64
}

// summingWorker is the working memory of a goroutine.
type summingWorker struct {
	Worker
	sum   []float32
	tally Tally
	busy  bool // started in this step
}

func newSummer(model Model, data Data, clip, unit float64, workers int) *summer {
	s := &summer{data: data, clip: FlatClip(clip)}
	parameters := len(model.Parameters())
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range min(workers, lanes) {
		s.workers = append(s.workers, &summingWorker{Worker: model.Worker(), sum: make([]float32, parameters)})
	}
	if unit > 0 {
		s.perUnit = 1 / unit
	}
	for l := range lanes {
		if unit > 0 {
			s.ints[l] = make([]int64, parameters)
		} else {
			s.floats[l] = make([]float64, parameters)
		}
	}
	return s
}

// add sums the clipped gradients of the batch into lanes, or returns ctx's
// error.
func (s *summer) add(ctx context.Context, batch *batcher) (Tally, error) {
	for _, w := range s.workers {
		w.busy, w.tally = false, Tally{}
	}
	parallel(len(s.workers), lanes, func(worker, lane int) {
		w := s.workers[worker]
		if !w.busy {
			w.Start()
			w.busy = true
		}
		clear(s.ints[lane])
		clear(s.floats[lane])
		for b := lane; b < batch.blocks && ctx.Err() == nil; b += lanes {
			s.addBlock(w, lane, batch.block(b))
		}
	})
	var total Tally
	for _, w := range s.workers {
		total.add(w.tally)
	}
	return total, ctx.Err()
}

// addBlock sums a block in single precision if it is small enough for the
// bound in grid, and row by row otherwise.
func (s *summer) addBlock(w *summingWorker, lane int, rows []int) {
	group := groupRows
	if len(rows) > groupRows {
		group = 1
	}
	for len(rows) > 0 {
		n := min(group, len(rows))
		w.tally.add(w.AddClipped(w.sum, s.data, rows[:n], s.clip))
		rows = rows[n:]
		if s.perUnit > 0 {
			foldInts(s.ints[lane], w.sum, s.perUnit)
		} else {
			foldFloats(s.floats[lane], w.sum)
		}
	}
}

// foldInts adds sum, in units rounded to the nearest integer, to dst and clears
// it. A double of magnitude below 2^51 plus 1.5 2^52 has its nearest integer in
// the low bits; perUnit is a power of two, so the product is exact.
func foldInts(dst []int64, sum []float32, perUnit float64) {
	const magic = 0x1.8p52
	offset := int64(math.Float64bits(magic))
	dst = dst[:len(sum)]
	for j, v := range sum {
		dst[j] += int64(math.Float64bits(float64(v)*perUnit+magic)) - offset
		sum[j] = 0
	}
}

func foldFloats(dst []float64, sum []float32) {
	dst = dst[:len(sum)]
	for j, v := range sum {
		dst[j] += float64(v)
		sum[j] = 0
	}
}
