package student_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

// TestStudentsOfProjections: of many columns, candidates learn from projections, and say so
// where they are written down.
func TestStudentsOfProjections(t *testing.T) {
	const columns = 600
	x, y := blobs(300, columns, 3, stream(1))
	fresh, truth := blobs(100, columns, 3, stream(2))
	labels := label(y, stream(3).Perm(300)[:60])
	pool := newPool(t, x, student.Config{Landmarks: 60})
	for _, c := range student.ImageCandidates(pool)[1:] {
		t.Run(c.Name, func(t *testing.T) {
			m, err := c.Fit(t.Context(), x, labels, 3, stream(4))
			require.NoError(t, err)
			require.Greater(t, accuracy(t, m, fresh, truth), .95)
			p := m.(plain.Describer).Plain()
			require.NoError(t, p.Check(columns, 3))
			if p.Kernel != nil {
				require.Len(t, p.Kernel.Landmarks[0], 128)
			}
			got, err := p.Scores(t.Context(), fresh, 3)
			require.NoError(t, err)
			want := matrix(100, 3, func(int, int) float64 { return 0 })
			require.NoError(t, m.(teachers.Scorer).Scores(want, fresh))
			for i, v := range want.Data {
				require.InDelta(t, v, got[i], 1e-3, "row %d", i/3)
			}
			narrow := matrix(1, columns-1, func(int, int) float64 { return 0 })
			require.Error(t, m.Predict(make([]int, 1), narrow))
			require.Error(t, m.(teachers.Scorer).Scores(matrix(1, 3, func(int, int) float64 { return 0 }), narrow))
		})
	}
}

// TestAProjectedRowIsAFunctionOfTheRow: beside whatever other rows, in whatever place.
func TestAProjectedRowIsAFunctionOfTheRow(t *testing.T) {
	x, _ := blobs(300, 40, 3, stream(1))
	l, err := student.NewLearner(t.Context(), x, student.LearnerConfig{Images: true}, stream(2))
	require.NoError(t, err)
	all, err := l.Project(t.Context(), x)
	require.NoError(t, err)
	for i := range x.Rows {
		one, err := l.Project(t.Context(), dense.Rows(x, i, i+1))
		require.NoError(t, err)
		require.Equal(t, dense.Row(all, i), dense.Row(one, 0), i)
	}
	narrow := x
	narrow.Cols--
	_, err = l.Project(t.Context(), narrow)
	require.ErrorContains(t, err, "39 features")
}
