package neighbours

import (
	"fmt"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
)

// Rows holds private rows with their classes and units.
type Rows struct {
	X       blas32.General // one row per example
	Y       []int          // class of the row, in [0, Classes)
	Units   []string       // name of the row's unit; several rows may share a unit
	Classes int            // at least 2
}

// check returns no error that identifies a private row.
func (r Rows) check(questions dense.Matrix) error {
	switch {
	case r.Classes < 2:
		return fmt.Errorf("neighbours: %d classes, at least 2 needed", r.Classes)
	case len(r.Y) != r.X.Rows || len(r.Units) != r.X.Rows:
		return fmt.Errorf("neighbours: rows, classes and units differ in number")
	case r.X.Cols != questions.Cols:
		return fmt.Errorf("neighbours: private rows have %d columns, but questions have %d", r.X.Cols, questions.Cols)
	}
	for _, m := range []dense.Matrix{r.X, questions} {
		if err := dense.Check(m); err != nil {
			return fmt.Errorf("neighbours: %w", err)
		}
	}
	for _, y := range r.Y {
		if y < 0 || y >= r.Classes {
			return fmt.Errorf("neighbours: a class is not in [0, %d)", r.Classes)
		}
	}
	if q := dense.NotFinite(questions); q >= 0 {
		return fmt.Errorf("neighbours: question %d is not finite", q)
	}
	return nil
}

// grouped holds rows in the order of their units. Unit u has the rows [starts[u], starts[u+1]).
type grouped struct {
	x      dense.Matrix
	y      []int
	norms  []float64 // squared norm of each row
	halves []float32 // half of each squared norm, rounded down
	starts []int
}

func (r Rows) group() grouped {
	// Units keep the order of their first rows, and the rows of a unit keep their order. So removing a unit
	// does not change the order of other units.
	of := dense.Groups(r.Units)
	g := grouped{starts: []int{0}}
	order := make([]int, 0, len(r.Units))
	for _, rows := range of {
		order = append(order, rows...)
		g.starts = append(g.starts, len(order))
	}
	g.x, g.y, g.norms = r.X, r.Y, make([]float64, len(order))
	if len(of) < len(order) { // otherwise each row is its own unit
		g.x, g.y = dense.Pick(r.X, order), make([]int, len(order))
		for at, i := range order {
			g.y[at] = r.Y[i]
		}
	}
	kernel.SquaredNorms(g.norms, g.x.Data, g.x.Stride, g.x.Rows, g.x.Cols)
	g.halves = halvesOf(g.norms)
	return g
}

func (g grouped) units() int { return len(g.starts) - 1 }
