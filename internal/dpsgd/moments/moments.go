package moments

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

type Config struct {
	// ClipNorm bounds the Euclidean norm of the vector that a record adds to the sum.
	ClipNorm float64
	// NoiseMultiplier is the standard deviation of the noise, divided by ClipNorm.
	NoiseMultiplier float64
	// Records is the public number of records, the divisor of the sum. Neighbouring data sets differ in their
	// numbers of records. So Records must not depend on the private data.
	Records int
	// Workers is the number of goroutines, by default GOMAXPROCS. It does not change the result.
	Workers int
}

// Event returns the event of a release. Neighbours differ by one added or removed record.
func (c Config) Event() accountant.Event { return c.sum().Event() }

func (c Config) sum() dpsgd.SumConfig {
	return dpsgd.SumConfig{ClipNorm: c.ClipNorm, NoiseMultiplier: c.NoiseMultiplier, Records: c.Records, Workers: c.Workers}
}

// Validate returns an error for a field that is missing or out of range.
func (c Config) Validate() error {
	if c.Records < 1 {
		return fmt.Errorf("moments: Config.Records is %d, want the public number of records", c.Records)
	}
	if err := c.sum().Validate(); err != nil {
		return fmt.Errorf("moments: %w", err)
	}
	return nil
}

// Source describes the release of a moment. Its fields contain no private values.
type Source struct {
	Moment          string // "mean" or "second moment"
	Channels        int    // size of the matrix or of the mean vector
	Positions       int    // values per channel in a row; 1 for a mean
	ClipNorm        float64
	NoiseMultiplier float64
	Records         int
	Releasable      bool // false for a seeded key
}

// Event returns the event that the release was charged for.
func (s Source) Event() accountant.Event {
	return accountant.Gaussian{NoiseMultiplier: s.NoiseMultiplier}
}

func release(
	ctx context.Context, m dpsgd.Model, data dpsgd.Data, cfg Config, s Source, reservation *ledger.Reservation, key rng.Key,
) ([]float64, Source, error) {
	if err := cfg.Validate(); err != nil {
		return nil, s, err
	}
	rows, _ := data.Dims()
	data.Y = make([]int, max(rows, 0))
	result, err := dpsgd.Sum(ctx, m, data, cfg.sum(), reservation, key)
	if err != nil {
		return nil, s, fmt.Errorf("moments: %w", err)
	}
	for i := range result.Sum {
		result.Sum[i] /= float64(cfg.Records)
	}
	s.ClipNorm, s.NoiseMultiplier, s.Records = cfg.ClipNorm, cfg.NoiseMultiplier, cfg.Records
	s.Releasable = result.Releasable
	return result.Sum, s, nil
}

func matrixError(x blas32.General, cols int) error {
	if err := dense.Check(x); err != nil {
		return fmt.Errorf("moments: %w", err)
	}
	if x.Cols != cols {
		return fmt.Errorf("moments: rows of %d columns, want %d", x.Cols, cols)
	}
	return nil
}

var errNotFinite = errors.New("moments: a result is not finite")

// Mean is the released mean of rows.
type Mean struct {
	Vector []float64
	Source Source
}

// EstimateMean releases the mean of the records. If data.Ends is set, the vector of a record is the mean
// of its rows. Otherwise the vector is the row. Each vector is clipped to norm cfg.ClipNorm. A vector
// that is not finite counts as zero.
func EstimateMean(ctx context.Context, data dpsgd.Data, cfg Config, reservation *ledger.Reservation, key rng.Key) (Mean, error) {
	_, cols := data.Dims()
	vector, source, err := release(ctx, meanModel(cols), data, cfg, Source{Moment: "mean", Channels: cols, Positions: 1}, reservation, key)
	if err != nil {
		return Mean{}, err
	}
	return Mean{Vector: vector, Source: source}, nil
}

func meanModel(cols int) *model {
	return &model{
		cols: cols, parameters: make([]float32, max(cols, 0)), fingerprint: fmt.Appendf(nil, "mean %d", cols),
		contributor: func() contributor { return func(dst, row []float32) { copy(dst, row) } },
	}
}

// Subtract subtracts m from every row of x, in place.
func (m Mean) Subtract(x blas32.General) error {
	if err := matrixError(x, len(m.Vector)); err != nil {
		return err
	}
	negated := make([]float32, len(m.Vector))
	for j, v := range m.Vector {
		negated[j] = -float32(v)
	}
	kernel.AddToRows(x.Data, x.Stride, negated, x.Rows, x.Cols)
	return nil
}

// ScaleRows scales every row of x to norm length, in place. A row of norm 0 stays 0. Values of x must be
// finite.
func ScaleRows(x blas32.General, length float64) error {
	if !(length > 0) || math.IsInf(length, 0) {
		return fmt.Errorf("moments: rows of norm %g", length)
	}
	if err := matrixError(x, x.Cols); err != nil {
		return err
	}
	for i := range x.Rows {
		row := dense.Row(x, i)
		norm := math.Sqrt(kernel.SquaredNorm(row))
		if !mathx.IsFinite(norm) {
			return errNotFinite
		}
		if norm > 0 {
			kernel.Affine(row, row, 0, length/norm)
		}
	}
	return nil
}

type contributor func(dst, row []float32)

// model is a [dpsgd.Model] that ignores its parameters: a row's contribution depends only on the row.
type model struct {
	cols        int
	parameters  []float32 // zeros, one for each entry of a contribution
	fingerprint []byte
	contributor func() contributor // each has its own working memory
}

func (m *model) Parameters() []float32 { return m.parameters }

func (m *model) Fingerprint() []byte { return m.fingerprint }

func (m *model) Check(data dpsgd.Data) error { return matrixError(data.X, m.cols) }

func (m *model) Worker() dpsgd.Worker {
	n := len(m.parameters)
	return &worker{contribute: m.contributor(), run: make([]float32, runRows*n)}
}

const runRows = 32

type worker struct {
	contribute contributor
	run        []float32 // runRows scaled contributions
}

func (w *worker) Start() {}

// AddClipped adds vectors of norm at most the clip norm times 1 + 2^-23.
func (w *worker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	var tally dpsgd.Tally
	n, filled := len(sum), 0
	for _, i := range rows {
		to := w.run[filled*n : (filled+1)*n]
		w.contribute(to, data.X.Data[i*data.X.Stride:i*data.X.Stride+data.X.Cols])
		norm := math.Sqrt(kernel.SquaredNorm(to))
		if !mathx.IsFinite(norm) {
			tally.NonFinite++
			continue
		}
		scale, clipped := clip.Scale(0, norm)
		if clipped {
			tally.Clipped++
		}
		if scale != 1 {
			for j, v := range to {
				to[j] = float32(float64(v) * scale)
			}
		}
		if filled++; filled == runRows {
			kernel.AddRows(sum, w.run, n, filled, n)
			filled = 0
		}
	}
	kernel.AddRows(sum, w.run, n, filled, n)
	return tally
}
