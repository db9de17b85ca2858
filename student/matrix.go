package student

import (
	"context"
	"fmt"
	"runtime"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/teachers"
)

// blockRows is how many rows are worked on at a time: memory is bounded, and a cancelled context is noticed
// between blocks.
const blockRows = 256

func transposed(m Matrix) Matrix {
	out := dense.New(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range dense.Row(m, i) {
			out.Data[j*out.Stride+i] = v
		}
	}
	return out
}

func checkMatrix(m Matrix) error {
	if err := teachers.CheckMatrix(m); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}

// forBlocks calls do for consecutive blocks of rows, on one goroutine per processor, until ctx is done. Calls
// of one goroutine share a scratch, zero at first. The function do must write to its own rows and scratch
// only.
func forBlocks[S any](ctx context.Context, n int, do func(scratch *S, from, to int)) error {
	blocks := (n + blockRows - 1) / blockRows
	scratches := make([]S, min(runtime.GOMAXPROCS(0), blocks))
	parallel.Each(len(scratches), blocks, func(worker, block int) {
		if ctx.Err() == nil {
			do(&scratches[worker], block*blockRows, min((block+1)*blockRows, n))
		}
	})
	return cancelled(ctx)
}

// resized returns the matrix in m with other dimensions and undefined values. It reuses its memory if there
// is enough.
func resized(m *Matrix, rows, cols int) Matrix {
	if cap(m.Data) < rows*cols {
		*m = dense.New(rows, cols)
	}
	m.Rows, m.Cols, m.Stride, m.Data = rows, cols, max(1, cols), m.Data[:rows*cols]
	return *m
}

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}
