package moments

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/rng"
)

// Mean is a released mean of rows.
type Mean struct {
	Vector []float64
	Source Source
}

// EstimateMean releases the mean of the rows of x, each clipped to cfg.ClipNorm. A row that is not finite
// counts as zero.
func EstimateMean(ctx context.Context, x blas32.General, cfg Config, reservation *ledger.Reservation, key rng.Key) (Mean, error) {
	cols := cfg.columns(x)
	vector, releasable, err := release(ctx, meanModel(cols), x, cfg, reservation, key)
	if err != nil {
		return Mean{}, err
	}
	return Mean{Vector: vector, Source: Source{
		Moment: "mean", Channels: cols, Positions: 1,
		ClipNorm: cfg.ClipNorm, NoiseMultiplier: cfg.NoiseMultiplier, Records: cfg.Records, Releasable: releasable,
	}}, nil
}

func meanModel(cols int) *model {
	return &model{
		cols: cols, parameters: make([]float32, max(cols, 0)), fingerprint: fmt.Appendf(nil, "mean %d", cols),
		contributor: func() contributor { return func(dst, row []float32) { copy(dst, row) } },
	}
}

// Subtract subtracts the mean from every row of x, in place.
func (m Mean) Subtract(x blas32.General, workers int) error {
	if err := matrixError(x, len(m.Vector)); err != nil {
		return err
	}
	negated := make([]float32, len(m.Vector))
	for j, v := range m.Vector {
		negated[j] = -float32(v)
	}
	return eachRow(x, workers, func() func([]float32) error {
		return func(row []float32) error {
			kernel.AddToRows(row, len(row), negated, 1, len(row))
			return nil
		}
	})
}
