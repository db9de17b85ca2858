package student_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

func TestNoLabelsIsATypedError(t *testing.T) {
	x, _ := blobs(30, 4, 2, stream(1))
	p, none := newPool(t, x, student.Config{}), unlabelled(30)
	require.ErrorIs(t, testkit.Err(p.Fit(t.Context(), none, 2)), student.ErrNoLabels)
	require.ErrorIs(t, testkit.Err(p.Spread(t.Context(), none, 2)), student.ErrNoLabels)
	require.ErrorIs(t, testkit.Err(student.Supervised(t.Context(), ridge, x, none, 2, stream(1))), student.ErrNoLabels)
}

func TestBadInputIsRefused(t *testing.T) {
	x, y := blobs(30, 4, 2, stream(1))
	p := newPool(t, x, student.Config{})
	m := testkit.Must(p.Fit(t.Context(), y, 2))
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		bad := matrix(30, 4, func(i, j int) float64 { return float64(x.Data[4*i+j]) })
		bad.Data[50] = float32(v)
		require.ErrorContains(t, testkit.Err(student.NewPool(t.Context(), bad, student.Config{}, stream(1))), "NaN or infinite (row 12)")
		require.ErrorContains(t, testkit.Err(student.Supervised(t.Context(), ridge, bad, y, 2, stream(1))), "NaN or infinite")
		require.Error(t, m.Predict(make([]int, 30), bad))
	}
	pool := func(x student.Matrix, c student.Config) func() error {
		return func() error { _, err := student.NewPool(t.Context(), x, c, stream(1)); return err }
	}
	for name, do := range map[string]func() error{
		"empty pool":         pool(student.Matrix{Cols: 4, Stride: 4}, student.Config{}),
		"malformed":          pool(student.Matrix{Rows: 3, Cols: 4, Stride: 2, Data: make([]float32, 12)}, student.Config{}),
		"too little data":    pool(student.Matrix{Rows: 4, Cols: 4, Stride: 4, Data: make([]float32, 15)}, student.Config{}),
		"negative field":     pool(x, student.Config{Neighbours: -1}),
		"label too large":    func() error { _, err := p.Fit(t.Context(), slices.Repeat([]int{2}, 30), 2); return err },
		"label below -1":     func() error { _, err := p.Fit(t.Context(), slices.Repeat([]int{-2}, 30), 2); return err },
		"too few labels":     func() error { _, err := p.Fit(t.Context(), y[:29], 2); return err },
		"one class":          func() error { _, err := p.Fit(t.Context(), unlabelled(30), 1); return err },
		"no question":        func() error { _, err := p.Select(t.Context(), 0, stream(1)); return err },
		"too many questions": func() error { _, err := p.Select(t.Context(), 31, stream(1)); return err },
		"nothing to ask": func() error {
			_, err := student.Select(t.Context(), x, 0, func(student.Progress) {}, stream(1))
			return err
		},
		"columns":      func() error { return m.Predict(make([]int, 30), dense.New(30, 3)) },
		"short answer": func() error { return m.Predict(make([]int, 29), x) },
		"scores":       func() error { return m.(teachers.Scorer).Scores(x, x) },
	} {
		t.Run(name, func(t *testing.T) { require.Error(t, do()) })
	}
}

// TestDegeneratePools tries constant, repeated, huge and tiny rows, and more columns than
// rows. All are odd but finite.
func TestDegeneratePools(t *testing.T) {
	r := stream(1)
	for name, x := range map[string]student.Matrix{
		"one row":      matrix(1, 3, func(int, int) float64 { return 1 }),
		"two rows":     matrix(2, 3, func(i, j int) float64 { return float64(i * j) }),
		"constant":     matrix(40, 3, func(int, int) float64 { return 7 }),
		"zero":         matrix(40, 500, func(int, int) float64 { return 0 }),
		"copies":       matrix(60, 4, func(i, j int) float64 { return float64(i / 20 * (j + 1)) }),
		"one outlier":  matrix(60, 4, func(i, j int) float64 { return float64(i/59) * 3e38 }),
		"huge":         matrix(60, 4, func(int, int) float64 { return 1e38 * r.NormFloat64() }),
		"tiny":         matrix(60, 4, func(int, int) float64 { return 1e-38 * r.NormFloat64() }),
		"wide":         matrix(12, 900, func(int, int) float64 { return r.NormFloat64() }),
		"large offset": matrix(60, 4, func(int, int) float64 { return 1e6 + r.NormFloat64() }),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, x, student.Config{})
			for _, m := range []int{1, (x.Rows + 1) / 2, x.Rows} {
				queries := testkit.Must(p.Select(t.Context(), m, stream(2)))
				requireDistinct(t, queries, m, x.Rows)
			}
			labels := unlabelled(x.Rows)
			labels[0], labels[x.Rows-1] = 0, 1
			soft := testkit.Must(p.Spread(t.Context(), labels, 3))
			for _, v := range soft.Data {
				require.True(t, v >= 0 && v <= 1.0001, "%v", v)
			}
			m := testkit.Must(p.Fit(t.Context(), labels, 3))
			far := matrix(3, x.Cols, func(i, j int) float64 { return float64(i-1) * math.MaxFloat32 })
			for _, v := range scoresOf(t, m, far, 3) {
				require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
			}
		})
	}
}

func TestStopsWhenTheContextIsDone(t *testing.T) {
	x, y := blobs(300, 8, 2, stream(1))
	p := newPool(t, x, student.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, testkit.Err(student.NewPool(ctx, x, student.Config{}, stream(1))), context.Canceled)
	require.ErrorIs(t, testkit.Err(p.Select(ctx, 5, stream(1))), context.Canceled)
	require.ErrorIs(t, testkit.Err(p.Spread(ctx, y, 2)), context.Canceled)
	require.ErrorIs(t, testkit.Err(p.Fit(ctx, y, 2)), context.Canceled)
	require.ErrorIs(t, testkit.Err(student.Supervised(ctx, ridge, x, y, 2, stream(1))), context.Canceled)
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	x, y := blobs(100, 8, 2, stream(1))
	last := map[string]student.Progress{}
	p := newPool(t, x, student.Config{Progress: func(p student.Progress) { last[p.Stage] = p }})
	require.NoError(t, testkit.Err(p.Select(t.Context(), 5, stream(1))))
	require.NoError(t, testkit.Err(p.Fit(t.Context(), y, 2)))
	require.Len(t, last, 4)
	for stage, p := range last {
		require.Equal(t, p.Total, p.Done, stage)
	}
}
