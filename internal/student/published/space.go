package published

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/student"
)

// Voters returns the private `rows` as voters, and the pool rows with the indices `asked` as queries. The
// votes of a unit depend only on the pool and on the rows of this unit.
func Voters(ctx context.Context, s *dataset.Schema, p dataset.Pool, rows dataset.Set, asked []int) (neighbours.Rows, student.Matrix, error) {
	pool, points, err := Space(ctx, s, p, rows)
	if err != nil {
		return neighbours.Rows{}, pool, err
	}
	return neighbours.Rows{X: points, Y: rows.Y, Units: rows.Units, Classes: len(s.Classes)}, dense.Pick(pool, asked), nil
}

// Space returns the pool p and the rows as points, to measure distances. If the data are not a table, points
// with many coordinates are projected on the leading principal directions of the pool. A point depends only
// on its row and on p.
func Space(ctx context.Context, s *dataset.Schema, p dataset.Pool, rows dataset.Set) (pool, points student.Matrix, err error) {
	e, pool, err := extract(ctx, s, p)
	if err != nil {
		return pool, points, err
	}
	if s.Encoder != nil || student.Projected(pool.Cols) == pool.Cols {
		points, err = features.Apply(ctx, rows, e, runtime.GOMAXPROCS(0))
		return pool, points, err
	}
	learner, err := student.NewLearner(ctx, pool, student.LearnerConfig{Images: s.Image.Rows > 0}, rand.New(sourceOf(p)))
	if err != nil {
		return pool, points, err
	}
	if pool, err = learner.ProjectPool(ctx); err != nil {
		return pool, points, err
	}
	const rowsAtOnce = 1 << 12 // their features take more memory than their directions
	points = dense.New(rows.Len(), pool.Cols)
	for from := 0; from < rows.Len(); from += rowsAtOnce {
		to := min(from+rowsAtOnce, rows.Len())
		part, err := rows.Slice(from, to)
		if err == nil {
			part.X, err = features.Apply(ctx, part, e, runtime.GOMAXPROCS(0))
		}
		if err == nil {
			part.X, err = learner.Project(ctx, part.X)
		}
		if err != nil {
			return pool, points, fmt.Errorf("published: %w", err)
		}
		for i := range part.X.Rows {
			copy(dense.Row(points, from+i), dense.Row(part.X, i))
		}
	}
	return pool, points, nil
}
