package student_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

var ridge = teachers.KernelRidge{Gamma: 1, Lambda: .1}

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func matrix(rows, cols int, at func(i, j int) float64) student.Matrix {
	m := dense.New(rows, cols)
	for i := range rows {
		for j := range cols {
			m.Data[i*cols+j] = float32(at(i, j))
		}
	}
	return m
}

// moons returns two interleaved half circles with a little noise.
func moons(n int, r *rand.Rand) (student.Matrix, []int) {
	y := make([]int, n)
	points := make([][2]float64, n)
	for i := range y {
		y[i] = i % 2
		angle := math.Pi * r.Float64()
		points[i] = [2]float64{math.Cos(angle), math.Sin(angle)}
		if y[i] == 1 {
			points[i] = [2]float64{1 - math.Cos(angle), .5 - math.Sin(angle)}
		}
		points[i][0] += .06 * r.NormFloat64()
		points[i][1] += .06 * r.NormFloat64()
	}
	return matrix(n, 2, func(i, j int) float64 { return points[i][j] }), y
}

// blobs returns Gaussian clusters, one for each class, in the first classes columns. The
// other columns are noise.
func blobs(n, cols, classes int, r *rand.Rand) (student.Matrix, []int) {
	y := make([]int, n)
	for i := range y {
		y[i] = i % classes
	}
	return matrix(n, cols, func(i, j int) float64 {
		centre := 0.
		if j == y[i] {
			centre = 8
		}
		return centre + r.NormFloat64()
	}), y
}

func unlabelled(n int) []int { return slices.Repeat([]int{student.Unlabelled}, n) }

// label releases the true labels of the named rows.
func label(y, rows []int) []int {
	out := unlabelled(len(y))
	for _, i := range rows {
		out[i] = y[i]
	}
	return out
}

func accuracy(t testing.TB, c teachers.Classifier, x student.Matrix, y []int) float64 {
	t.Helper()
	answers := make([]int, x.Rows)
	require.NoError(t, c.Predict(answers, x))
	right := 0
	for i, a := range answers {
		if a == y[i] {
			right++
		}
	}
	return float64(right) / float64(len(y))
}

func newPool(t testing.TB, x student.Matrix, c student.Config) *student.Pool {
	t.Helper()
	p, err := student.NewPool(t.Context(), x, c, stream(1))
	require.NoError(t, err)
	return p
}

func scoresOf(t testing.TB, c teachers.Classifier, x student.Matrix, classes int) []float32 {
	t.Helper()
	scores := dense.New(x.Rows, classes)
	require.NoError(t, c.(teachers.Scorer).Scores(scores, x))
	return scores.Data
}

// requirePlain checks that a model has its scores when it is written down as data, up to float32.
func requirePlain(t *testing.T, m teachers.Classifier, x student.Matrix, classes int) *plain.Model {
	t.Helper()
	p := m.(plain.Describer).Plain()
	require.NoError(t, p.Check(x.Cols, classes))
	got, err := p.Scores(t.Context(), x, classes)
	require.NoError(t, err)
	for i, v := range scoresOf(t, m, x, classes) {
		if v < -1000 { // of a class that no label names
			v = 0
		}
		require.InDelta(t, v, got[i], 1e-3, "row %d", i/classes)
	}
	return p
}
