package dataset

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"
)

// Shape is the size of an image in pixels. The zero Shape says that rows are
// not images.
type Shape struct{ Rows, Cols int }

// Pixels is Rows times Cols.
func (s Shape) Pixels() int { return s.Rows * s.Cols }

// Set is labelled data, one row per example.
type Set struct {
	Name       string
	X          blas32.General // features; images are row-major pixels in [0, 1]
	Y          []int          // class of each row, an index into Classes
	Units      []string       // unit of privacy of each row; several rows may share one
	IDs        []string       // where a person finds each row, such as "test/17" or "row/17"
	Classes    []string       // class names
	Image      Shape          // zero if the rows are not images
	Provenance string         // where the bytes come from, one line
}

// Len is the number of rows.
func (s Set) Len() int { return len(s.Y) }

// Slice is the rows from <= i < to. It shares memory with s.
func (s Set) Slice(from, to int) (Set, error) {
	if from < 0 || to < from || to > s.Len() {
		return Set{}, fmt.Errorf("dataset: rows [%d, %d) of %q, which has %d", from, to, s.Name, s.Len())
	}
	out := s
	out.Y = s.Y[from:to:to]
	out.Units = s.Units[from:to:to]
	out.IDs = s.IDs[from:to:to]
	out.X.Rows = to - from
	if to == from {
		out.X.Data = nil
		return out, nil
	}
	end := (to-1)*s.X.Stride + s.X.Cols
	out.X.Data = s.X.Data[from*s.X.Stride : end : end]
	return out, nil
}

// Validate reports the first thing that does not fit: lengths, labels out of
// range, an image shape that is not the row length, features that are NaN or
// infinite.
func (s Set) Validate() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("dataset: set %q: %s", s.Name, fmt.Sprintf(format, a...))
	}
	n := len(s.Y)
	switch {
	case s.X.Rows != n || len(s.Units) != n || len(s.IDs) != n:
		return fail("%d feature rows, %d labels, %d units, %d ids; all four must be equal", s.X.Rows, n, len(s.Units), len(s.IDs))
	case s.X.Cols < 1 || s.X.Stride < s.X.Cols:
		return fail("%d columns with stride %d", s.X.Cols, s.X.Stride)
	case n > 0 && len(s.X.Data) < (n-1)*s.X.Stride+s.X.Cols:
		return fail("%d numbers are too few for %d rows of stride %d", len(s.X.Data), n, s.X.Stride)
	case len(s.Classes) < 2:
		return fail("%d classes, at least 2 needed", len(s.Classes))
	case s.Image != Shape{} && (s.Image.Rows < 1 || s.Image.Cols < 1 || s.Image.Pixels() != s.X.Cols):
		return fail("images of %dx%d in rows of %d", s.Image.Rows, s.Image.Cols, s.X.Cols)
	}
	for i, y := range s.Y {
		if y < 0 || y >= len(s.Classes) {
			return fail("row %d has label %d, there are %d classes", i, y, len(s.Classes))
		}
		if s.Units[i] == "" {
			return fail("row %d has no unit", i)
		}
	}
	for i := range n {
		if j := firstNotFinite(s.X.Data[i*s.X.Stride : i*s.X.Stride+s.X.Cols]); j >= 0 {
			return fail("feature %d of row %d is not finite", j, i)
		}
	}
	return nil
}

// firstNotFinite is the index of the first NaN or infinity, or -1. One exponent of
// all ones marks both, and testing bits is several times faster than converting.
func firstNotFinite(row []float32) int {
	const exponent = 0x7f800000
	for j, v := range row {
		if math.Float32bits(v)&exponent == exponent {
			return j
		}
	}
	return -1
}
