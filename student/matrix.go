package student

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/pate-go/pate/internal/dense"
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
