package moments

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

// eachRow calls a function for every row of x, from the given number of goroutines (0: GOMAXPROCS). Each
// goroutine gets a function of its own from start. It returns one of their errors, if any.
func eachRow(x blas32.General, workers int, start func() func([]float32) error) error {
	if workers < 0 {
		return fmt.Errorf("moments: %d workers", workers)
	}
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	const chunk = 64
	var next atomic.Int64
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range min(workers, (x.Rows+chunk-1)/chunk) {
		group.Go(func() {
			f := start()
			for failed.Load() == nil {
				from := int(next.Add(chunk)) - chunk
				for i := from; i < min(from+chunk, x.Rows); i++ {
					if err := f(x.Data[i*x.Stride : i*x.Stride+x.Cols]); err != nil {
						failed.Store(&err)
						return
					}
				}
				if from >= x.Rows {
					return
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// ScaleRows scales every row of x to the Euclidean norm length, in place. Rows of norm 0 stay. A row that
// is not finite is an error.
func ScaleRows(x blas32.General, length float64, workers int) error {
	if !(length > 0) || math.IsInf(length, 0) {
		return fmt.Errorf("moments: rows of norm %g", length)
	}
	if err := matrixError(x, x.Cols); err != nil {
		return err
	}
	return eachRow(x, workers, func() func([]float32) error {
		return func(row []float32) error {
			norm := math.Sqrt(kernel.SquaredNorm(row))
			if !mathx.IsFinite(norm) {
				return errNotFinite
			}
			if norm == 0 {
				return nil
			}
			kernel.Affine(row, row, 0, length/norm)
			return nil
		}
	})
}
