package student

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// Matrix is a row-major float32 matrix, one row per example.
type Matrix = teachers.Matrix

// Unlabelled marks a pool row without a released label.
const Unlabelled = -1

// ErrNoLabels is returned if no label was released.
var ErrNoLabels = errors.New("student: no labels were released")

// released checks labels. It returns the labelled rows and the classes that occur, both ascending.
func released(labels []int, rows, classes int) (labelled, present []int, err error) {
	if classes < 2 || classes > votes.MaxClasses {
		return nil, nil, fmt.Errorf("student: %d classes, want 2 to %d", classes, votes.MaxClasses)
	}
	if len(labels) != rows {
		return nil, nil, fmt.Errorf("student: %d labels for a pool of %d rows", len(labels), rows)
	}
	seen := make([]bool, classes)
	for i, y := range labels {
		if y == Unlabelled {
			continue
		}
		if y < 0 || y >= classes {
			return nil, nil, fmt.Errorf("student: label %d of row %d is outside [0, %d)", y, i, classes)
		}
		labelled = append(labelled, i)
		seen[y] = true
	}
	if len(labelled) == 0 {
		return nil, nil, ErrNoLabels
	}
	for c, ok := range seen {
		if ok {
			present = append(present, c)
		}
	}
	return labelled, present, nil
}

// check refuses bad labels and features. It returns the labelled rows.
func check(x Matrix, labels []int, classes int) ([]int, error) {
	if err := checkMatrix(x); err != nil {
		return nil, err
	}
	labelled, _, err := released(labels, x.Rows, classes)
	return labelled, err
}

// labelledPart returns the rows that have a label.
func labelledPart(x Matrix, labels []int, classes int) (teachers.Dataset, error) {
	rows, err := check(x, labels, classes)
	if err != nil {
		return teachers.Dataset{}, err
	}
	return gather(x, labels, rows, classes), nil
}

func gather(x Matrix, labels, rows []int, classes int) teachers.Dataset {
	out := teachers.Dataset{X: dense.Pick(x, rows), Classes: classes}
	for _, r := range rows {
		out.Y = append(out.Y, labels[r])
	}
	return out
}

// columns maps every class to its place in present, and classes that are not present to -1.
func columns(present []int, classes int) []int {
	at := slices.Repeat([]int{-1}, classes)
	for k, c := range present {
		at[c] = k
	}
	return at
}

// blockRows is how many rows are worked on at a time: memory is bounded, and a cancelled context is noticed
// between blocks.
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

// forBlocks calls do for consecutive blocks of rows, on one goroutine per processor, until ctx is done. Calls
// of one goroutine share a scratch, zero at first. The function do must write to its own rows and scratch
// only.
func forBlocks[S any](ctx context.Context, n int, do func(scratch *S, from, to int)) error {
	blocks := (n + blockRows - 1) / blockRows
	scratches := make([]S, min(runtime.GOMAXPROCS(0), blocks))
	parallel.Each(len(scratches), blocks, func(worker, block int) {
		if ctx.Err() == nil {
			do(&scratches[worker], block*blockRows, min((block+1)*blockRows, n))
		}
	})
	return cancelled(ctx)
}

// resized returns the matrix in m with other dimensions and undefined values. It reuses its memory if there
// is enough.
func resized(m *Matrix, rows, cols int) Matrix {
	if cap(m.Data) < rows*cols {
		*m = dense.New(rows, cols)
	}
	m.Rows, m.Cols, m.Stride, m.Data = rows, cols, max(1, cols), m.Data[:rows*cols]
	return *m
}

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}
