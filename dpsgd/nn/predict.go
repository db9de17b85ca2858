package nn

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
)

// Logits sets row i of dst, x.Rows by outputs, to the model's outputs at row i of x. It
// uses all processors. When ctx ends, it returns ctx's error, and dst is only partly done.
func (m *Model) Logits(ctx context.Context, dst, x blas32.General) error {
	if err := m.checkInput(x); err != nil {
		return err
	}
	if outputs := m.arch.output().Size(); dst.Rows != x.Rows || dst.Cols != outputs || dense.Check(dst) != nil {
		return fmt.Errorf("nn: outputs of %d rows go into %d x %d, not %d x %d", x.Rows, x.Rows, outputs, dst.Rows, dst.Cols)
	}
	return m.each(ctx, x, func(row int, outputs []float32) error {
		copy(dst.Data[row*dst.Stride:], outputs)
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
	return m.each(ctx, x, func(row int, outputs []float32) (err error) {
		if dst[row], err = dense.Largest(outputs); err != nil {
			return fmt.Errorf("nn: row %d: %w", row, err)
		}
		return nil
	})
}

// Evaluation is the quality of a model on data.
type Evaluation struct {
	Accuracy float64 // share of rows whose largest output is the label's
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
	err := m.each(ctx, data.X, func(row int, outputs []float32) error {
		class, err := dense.Largest(outputs)
		if err != nil {
			return fmt.Errorf("nn: row %d: %w", row, err)
		}
		right[row] = class == data.Y[row]
		losses[row] = lossAt(m.arch.loss, make([]float32, len(outputs)), outputs, batch, row)
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

// each computes the outputs of all rows of x. It calls f for each, from several goroutines.
func (m *Model) each(ctx context.Context, x blas32.General, f func(row int, outputs []float32) error) error {
	per, n := m.arch.rows(), m.arch.output().Size()
	errs := make([]error, (x.Rows+per-1)/per)
	workers := make([]*worker[float32], min(runtime.GOMAXPROCS(0), len(errs)))
	parallel.Each(len(workers), len(errs), func(g, i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		if workers[g] == nil {
			workers[g] = newWorker[float32](m.arch, per)
			workers[g].Start(m.parameters)
		}
		w := workers[g]
		var rows []int
		for r := i * per; r < min((i+1)*per, x.Rows); r++ {
			rows = append(rows, r)
		}
		w.forward(examples[float32]{X: x.Data, Stride: x.Stride}, rows)
		outputs := w.values[len(w.values)-1]
		for k, r := range rows {
			if errs[i] = f(r, outputs[k*n:(k+1)*n]); errs[i] != nil {
				return
			}
		}
	})
	return cmp.Or(errs...)
}
