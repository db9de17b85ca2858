package student

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/teachers"
)

// blockRows is how many rows are worked on at a time. So memory is bounded, and a cancelled
// context is noticed between blocks.
const blockRows = 256

func newMatrix(rows, cols int) Matrix {
	return Matrix{Rows: rows, Cols: cols, Stride: max(1, cols), Data: make([]float32, rows*cols)}
}

func row(m Matrix, i int) []float32 {
	return m.Data[i*m.Stride : i*m.Stride+m.Cols]
}

// rows returns the view of rows [from, to) of m.
func rows(m Matrix, from, to int) Matrix {
	m.Rows, m.Data = to-from, m.Data[min(from*m.Stride, len(m.Data)):]
	return m
}

func transposed(m Matrix) Matrix {
	out := newMatrix(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range row(m, i) {
			out.Data[j*out.Stride+i] = v
		}
	}
	return out
}

// mul sets dst to a·b. The order of the sums does not depend on addresses or on the number
// of processors.
func mul(dst, a, b Matrix) {
	kernel.MulAB(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Rows, b.Cols, a.Cols)
}

// addGram adds aᵀ·b to dst.
func addGram(dst, a, b Matrix) {
	kernel.AddATB(dst.Data, dst.Stride, a.Data, a.Stride, b.Data, b.Stride, a.Cols, b.Cols, a.Rows)
}

func checkMatrix(m Matrix) error {
	if err := teachers.CheckMatrix(m); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}

// forBlocks calls do for consecutive blocks of rows, on one goroutine per processor, until
// ctx is done. The function do must write to its own rows only.
func forBlocks(ctx context.Context, n int, do func(from, to int)) error {
	next := make(chan int)
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(1, n/blockRows)) {
		group.Go(func() {
			for from := range next {
				do(from, min(from+blockRows, n))
			}
		})
	}
	for from := 0; from < n && ctx.Err() == nil; from += blockRows {
		next <- from
	}
	close(next)
	group.Wait()
	return cancelled(ctx)
}

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}

// argmax returns the index of the largest value, the lowest index if several are equal.
func argmax(v []float32) int {
	best := 0
	for i, x := range v {
		if x > v[best] {
			best = i
		}
	}
	return best
}
