package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

const maxRows = dpsgd.MaxRows

type examples[T Float] struct {
	X            []T // row i starts at i*Stride
	Stride       int
	Unpack       func(dst []T, i int)  // if not nil, replaces X and sets dst to row i
	Fetch        func(i, from, to int) // if not nil, announces that columns of row i will be unpacked soon
	Y            []int
	Targets      []T // row i starts at i*TargetStride; may be empty
	TargetStride int
}

type worker[T Float] struct {
	arch    *architecture
	passes  []Pass[T]
	values  [][]T // of the input, then of each layer: rows x size; some share memory
	input   []T   // the current rows: values[0], or memory of the data
	deltas  [][]T // gradients with respect to values; nil before the first layer with parameters
	losses  []float64
	squares [][]float64 // one slice per tensor
	whole   grouping[T] // clips all tensors together
	layers  grouping[T] // clips the tensors of each layer together
	kept    []int       // rows of the current group without dropped rows
	rows    int         // largest number of rows at a time
	next    []int       // likely first rows of the following call of AddClipped
	ahead   ahead
}

func newWorker[T Float](a *architecture, rows int) *worker[T] {
	w := &worker[T]{
		arch: a, rows: rows,
		values: make([][]T, len(a.shapes)), deltas: make([][]T, len(a.shapes)),
		losses: make([]float64, rows), kept: make([]int, 0, rows),
	}
	w.values[0] = make([]T, rows*a.input().Size())
	previous := false // whether the previous layer works in place
	for l, layer := range a.layers {
		w.passes = append(w.passes, pass[T](layer, a.shapes[l], rows))
		_, flat := layer.(Flatten)
		_, over := layer.(InPlace)
		size := rows * a.shapes[l+1].Size()
		switch {
		case flat, over && !previous && l > 0:
			w.values[l+1], w.deltas[l+1] = w.values[l], w.deltas[l]
			if w.deltas[l+1] == nil {
				w.deltas[l+1] = make([]T, size)
			}
		default:
			w.values[l+1], w.deltas[l+1] = make([]T, size), make([]T, size)
		}
		if l < a.first {
			w.deltas[l+1] = nil
		}
		if !flat {
			previous = over
		}
	}
	for range a.tensors {
		w.squares = append(w.squares, make([]float64, rows))
	}
	w.ahead.cols = a.input().Size()
	if first, ok := w.passes[0].(*densePass[T]); ok {
		first.ahead = &w.ahead
	}
	w.whole = newGrouping[T]([]int{len(a.tensors)}, rows)
	var ends []int
	for _, s := range a.spans {
		if s.count > 0 {
			ends = append(ends, s.tensors+s.count)
		}
	}
	w.layers = newGrouping[T](ends, rows)
	return w
}

func pass[T Float](layer Layer, in Shape, rows int) Pass[T] {
	var p any
	switch any(T(0)).(type) {
	case float32:
		p = layer.Float32(in, rows)
	default:
		p = layer.Float64(in, rows)
	}
	return p.(Pass[T])
}

func (w *worker[T]) Start(parameters []T) {
	if len(parameters) != w.arch.parameters() {
		panic(fmt.Sprintf("nn: %d parameters for %d", len(parameters), w.arch.parameters()))
	}
	for l, s := range w.arch.spans {
		w.passes[l].Start(parameters[s.parameters : s.parameters+s.size])
	}
}

// AddClipped adds the clipped gradients of rows to sum, which must be zero. The argument clip has one norm,
// or one for every layer with parameters. AddClipped satisfies obligation 1 of [dpsgd.Worker]. If a clip norm
// is finite, AddClipped also satisfies obligations 2 and 3. In obligation 3, u is the unit roundoff of T.
//
// Obligations 1 and 3: AddClipped processes rows in groups. The group size depends only on the architecture
// and is a power of two from 8 to 256. A row's contribution does not depend on its group (see row exactness
// at [Pass]). A group is summed in runs of at most 48 rows. Then the sums of the runs are added one by one.
// Let n be the most rows of a run, and r the number of all runs. A contribution passes through at most n + r
// additions. In the worst case, 256 rows have 4 groups of 64 rows with 2 runs each, so n = 48 and r = 8.
//
// Obligation 2: Backward computes a bound on |g|^2 for a gradient g. The bound is at least |g|^2 (1 - 2^-22).
// The scale of g is rounded towards zero. Rounding of the scaled g adds at most two parts in 2^24. Together,
// both relative errors are below 2^-20.
func (w *worker[T]) AddClipped(sum []T, batch examples[T], rows []int, clip dpsgd.Clip) dpsgd.Tally {
	if n := len(clip.Norms); n != 1 && n != len(w.layers.ends) {
		panic(fmt.Sprintf("nn: %d clip norms for %d layers", n, len(w.layers.ends)))
	}
	var tally dpsgd.Tally
	w.ahead.fetch = batch.Fetch
	for len(rows) > 0 {
		n := min(w.rows, len(rows))
		next := rows[n:]
		if len(next) == 0 {
			next = w.next
		}
		w.ahead.rows, w.ahead.asked = next[:min(w.rows, len(next))], 0
		w.addGroup(sum, batch, rows[:n], clip, &tally)
		rows = rows[n:]
	}
	w.next = nil
	return tally
}

// addGroup adds the clipped gradients of at most w.rows rows. It drops each row with a gradient that is not
// finite, and computes the other rows again.
func (w *worker[T]) addGroup(sum []T, batch examples[T], rows []int, clip dpsgd.Clip, tally *dpsgd.Tally) {
	w.kept = append(w.kept[:0], rows...)
	private := slices.ContainsFunc(clip.Norms, func(norm float64) bool { return !math.IsInf(norm, 1) })
	for done := false; !done; {
		w.forward(batch, w.kept)
		w.lossOf(batch, w.kept)
		if private {
			w.backward(len(w.kept), w.squares)
		} else {
			w.screen(len(w.kept))
		}
		dropped := w.drop()
		tally.NonFinite += int64(dropped)
		done = dropped == 0
	}
	n := len(w.kept)
	for _, loss := range w.losses[:n] {
		tally.Loss += loss
	}
	var scales [][]T
	switch {
	case n == 0:
		return
	case !private:
		w.backward(n, nil)
	case len(clip.Norms) == 1:
		scales = w.whole.scales
		tally.Clipped += w.whole.scale(w.squares, n, clip)
	default:
		scales = w.layers.scales
		tally.Clipped += w.layers.scale(w.squares, n, clip)
	}
	for l, s := range w.arch.spans {
		if s.count == 0 {
			continue
		}
		var own [][]T
		if scales != nil {
			own = scales[s.tensors : s.tensors+s.count]
		}
		w.passes[l].AddScaled(sum[s.parameters:s.parameters+s.size], n, own)
	}
}

func (w *worker[T]) AppendNorms(dst []float64, batch examples[T], rows []int, clip dpsgd.Clip) []float64 {
	group := w.whole
	if len(clip.Norms) > 1 {
		group = w.layers
	}
	for len(rows) > 0 {
		n := min(w.rows, len(rows))
		w.forward(batch, rows[:n])
		w.lossOf(batch, rows[:n])
		w.backward(n, w.squares)
		group.scale(w.squares, n, clip)
		for i := range n {
			square := 0.0
			for tensor, s := range w.squares {
				scale := float64(group.scales[tensor][i])
				square += scale * scale * s[i]
			}
			if !mathx.IsFinite(w.losses[i]) || !mathx.IsFinite(square) {
				square = 0
			}
			dst = append(dst, math.Sqrt(square))
		}
		rows = rows[n:]
	}
	return dst
}

func (w *worker[T]) forward(batch examples[T], rows []int) {
	w.gather(batch, rows)
	for l, p := range w.passes {
		x := w.values[l]
		if l == 0 {
			x = w.input
		}
		if _, flat := w.arch.layers[l].(Flatten); !flat {
			p.Forward(w.values[l+1], x, len(rows))
		}
	}
}

func (w *worker[T]) gather(batch examples[T], rows []int) {
	size := w.arch.input().Size()
	w.input = w.values[0]
	together := batch.Unpack == nil && batch.Stride == size && len(rows) > 0 && &w.values[1][0] != &w.values[0][0]
	for i, r := range rows {
		together = together && r == rows[0]+i
	}
	if together {
		w.input = batch.X[rows[0]*size : (rows[0]+len(rows))*size]
		return
	}
	if batch.Unpack != nil {
		for i, r := range rows {
			batch.Unpack(w.input[i*size:(i+1)*size], r)
		}
		return
	}
	row := func(i int) []T { return batch.X[rows[i]*batch.Stride:][:size] }
	for i := range rows {
		kernel.CopyRow(w.input[i*size:(i+1)*size], row(i), row(min(i+1, len(rows)-1)))
	}
}

func (w *worker[T]) lossOf(batch examples[T], rows []int) {
	last, n := len(w.values)-1, w.arch.output().Size()
	for i, r := range rows {
		w.losses[i] = lossAt(w.arch.loss, w.deltas[last][i*n:(i+1)*n], w.values[last][i*n:(i+1)*n], batch, r)
	}
}

// backward computes gradients down to the first layer with parameters. It sets a row's loss to NaN if the
// bounds on the row's squared gradient norms have no finite sum.
func (w *worker[T]) backward(rows int, squares [][]float64) {
	for _, s := range squares {
		clear(s)
	}
	for l := len(w.passes) - 1; l >= w.arch.first; l-- {
		if _, flat := w.arch.layers[l].(Flatten); flat {
			continue
		}
		var dx []T
		if l > w.arch.first {
			dx = w.deltas[l]
		}
		var own [][]float64
		if s := w.arch.spans[l]; squares != nil {
			own = squares[s.tensors : s.tensors+s.count]
		}
		w.passes[l].Backward(dx, w.deltas[l+1], rows, own)
	}
	for i := range w.losses[:rows] {
		total := 0.0
		for _, s := range squares {
			total += s[i]
		}
		w.losses[i] += 0 * total
	}
}

// screen sets the loss of a row to NaN if the row's input is not finite.
func (w *worker[T]) screen(rows int) {
	size := w.arch.input().Size()
	for i := range w.losses[:rows] {
		w.losses[i] += 0 * kernel.SquaredNorm(w.input[i*size:(i+1)*size])
	}
}

func (w *worker[T]) drop() int {
	kept := w.kept[:0]
	for i, r := range w.kept {
		if mathx.IsFinite(w.losses[i]) {
			kept = append(kept, r)
		}
	}
	dropped := len(w.kept) - len(kept)
	w.kept = kept
	return dropped
}

type grouping[T Float] struct {
	ends   []int // for each group of consecutive tensors, the index after its last tensor
	scales [][]T // for each tensor, one value per row; the tensors of a group share a slice
}

func newGrouping[T Float](ends []int, rows int) grouping[T] {
	g := grouping[T]{ends: ends}
	for _, end := range ends {
		scales := make([]T, rows)
		for len(g.scales) < end {
			g.scales = append(g.scales, scales)
		}
	}
	return g
}

func (g grouping[T]) scale(squares [][]float64, n int, clip dpsgd.Clip) (clipped int64) {
	for i := range n {
		row, tensor := false, 0
		for k, end := range g.ends {
			total, scales := 0.0, g.scales[tensor]
			for ; tensor < end; tensor++ {
				total += squares[tensor][i]
			}
			scale, above := clip.Scale(k, math.Sqrt(total))
			scales[i] = towardsZero[T](scale)
			row = row || above
		}
		if row {
			clipped++
		}
	}
	return clipped
}

func towardsZero[T Float](v float64) T {
	f := T(v)
	if math.Abs(float64(f)) > math.Abs(v) {
		f = T(math.Nextafter32(float32(f), 0))
	}
	return f
}

type ahead struct {
	fetch func(i, from, to int) // columns of row i; nil if rows are not packed
	rows  []int                 // of the next group
	cols  int
	asked int // number of values of these rows requested until now
}

func (a *ahead) ask(numbers int) {
	for numbers > 0 && a.asked < len(a.rows)*a.cols {
		row, from := a.asked/a.cols, a.asked%a.cols
		to := min(from+numbers, a.cols)
		a.fetch(a.rows[row], from, to)
		a.asked += to - from
		numbers -= to - from
	}
}

const aheadCols = 64

// addATB gives the same bits as [kernel.AddATB]. It also loads rows of the next group into caches.
func addATB[T Float](ahead *ahead, dst, a, b []T, m, n, k int) {
	if ahead == nil || ahead.fetch == nil || len(ahead.rows) == 0 || m > skinny {
		kernel.AddATB(dst, n, a, m, b, n, m, n, k)
		return
	}
	for j := 0; j < n; j += aheadCols {
		cols := min(aheadCols, n-j)
		kernel.AddATB(dst[j:], n, a, m, b[j:], n, m, cols, k)
		ahead.ask(cols * len(ahead.rows))
	}
}
