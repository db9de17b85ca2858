package nn

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
)

// Logits sets row i of dst, x.Rows by outputs, to the model's outputs at row i of x. It
// uses all processors. When ctx ends, it returns ctx's error, and dst is only partly done.
func (m *Model) Logits(ctx context.Context, dst, x blas32.General) error {
	if err := m.checkInput(x); err != nil {
		return err
	}
	if outputs := m.arch.Output().Size(); dst.Rows != x.Rows || dst.Cols != outputs || dense.Check(dst) != nil {
		return fmt.Errorf("nn: outputs of %d rows go into %d x %d, not %d x %d", x.Rows, x.Rows, outputs, dst.Rows, dst.Cols)
	}
	return m.each(ctx, x, func(first int, outputs []float32, n int) error {
		for i := 0; i*n < len(outputs); i++ {
			copy(dst.Data[(first+i)*dst.Stride:], outputs[i*n:(i+1)*n])
		}
		return nil
	})
}

// Predict sets dst[i] to the index of the largest output at row i of x, the lowest index if
// outputs are equal. A row with an output that is not finite is an error. Predict uses all
// processors. When ctx ends, it returns ctx's error.
func (m *Model) Predict(ctx context.Context, dst []int, x blas32.General) error {
	if err := m.checkInput(x); err != nil {
		return err
	}
	if len(dst) != x.Rows {
		return fmt.Errorf("nn: classes of %d rows go into %d", x.Rows, len(dst))
	}
	return m.each(ctx, x, func(first int, outputs []float32, n int) error {
		for i := 0; i*n < len(outputs); i++ {
			class, err := dense.Largest(outputs[i*n : (i+1)*n])
			if err != nil {
				return fmt.Errorf("nn: row %d: %w", first+i, err)
			}
			dst[first+i] = class
		}
		return nil
	})
}

// Evaluation says how well a model does on data.
type Evaluation struct {
	Accuracy float64 // share of rows whose largest output is that of the label
	Loss     float64 // mean
}

// Evaluate scores the model on labelled data. The data must not be private: the scores are
// exact and protected by nothing.
func (m *Model) Evaluate(ctx context.Context, data dpsgd.Data) (Evaluation, error) {
	if err := m.Check(data); err != nil {
		return Evaluation{}, err
	}
	if len(data.Y) != data.X.Rows || data.X.Rows == 0 {
		return Evaluation{}, fmt.Errorf("nn: %d labels for %d rows; an evaluation needs both", len(data.Y), data.X.Rows)
	}
	batch := batchOf(data)
	losses, right := make([]float64, data.X.Rows), make([]bool, data.X.Rows)
	err := m.each(ctx, data.X, func(first int, outputs []float32, n int) error {
		delta := make([]float32, n)
		for i := 0; i*n < len(outputs); i++ {
			r, row := first+i, outputs[i*n:(i+1)*n]
			class, err := dense.Largest(row)
			if err != nil {
				return fmt.Errorf("nn: row %d: %w", r, err)
			}
			right[r] = class == data.Y[r]
			losses[r] = lossAt(m.arch.loss, delta, row, batch, r)
		}
		return nil
	})
	if err != nil {
		return Evaluation{}, err
	}
	var e Evaluation
	for i, loss := range losses {
		e.Loss += loss / float64(len(losses))
		if right[i] {
			e.Accuracy += 1 / float64(len(losses))
		}
	}
	return e, nil
}

// each computes the outputs of all rows of x. It calls f, from several goroutines, with the
// outputs of consecutive rows: dense, n values for each.
func (m *Model) each(ctx context.Context, x blas32.General, f func(first int, outputs []float32, n int) error) error {
	per := m.arch.rows()
	groups := (x.Rows + per - 1) / per
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), groups))
	for g := range errs {
		wait.Go(func() {
			w := newWorker[float32](m.arch, per)
			w.Start(m.parameters)
			n := m.arch.Output().Size()
			rows := make([]int, 0, per)
			for i := next.Add(1) - 1; i < int64(groups) && errs[g] == nil; i = next.Add(1) - 1 {
				if errs[g] = ctx.Err(); errs[g] != nil {
					return
				}
				first := int(i) * per
				rows = rows[:0]
				for r := first; r < min(first+per, x.Rows); r++ {
					rows = append(rows, r)
				}
				w.forward(Batch[float32]{X: x.Data, Stride: x.Stride}, rows)
				errs[g] = f(first, w.values[len(w.values)-1][:len(rows)*n], n)
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
