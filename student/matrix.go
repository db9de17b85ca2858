package student

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/teachers"
)

// blockRows is how many rows are worked on at a time. So memory is bounded, and a cancelled
// context is noticed between blocks.
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

// forBlocks calls do for consecutive blocks of rows, on one goroutine per processor, until
// ctx is done. The function do must write to its own rows only.
func forBlocks(ctx context.Context, n int, do func(from, to int)) error {
	parallel.Each(0, (n+blockRows-1)/blockRows, func(_, block int) {
		if ctx.Err() == nil {
			do(block*blockRows, min((block+1)*blockRows, n))
		}
	})
	return cancelled(ctx)
}

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}
