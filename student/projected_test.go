package student_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
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
			if p := requirePlain(t, m, fresh, 3); p.Kernel != nil {
				require.Len(t, p.Kernel.Landmarks[0], 128)
			}
			narrow := dense.New(1, columns-1)
			require.Error(t, m.Predict(make([]int, 1), narrow))
			require.Error(t, m.(teachers.Scorer).Scores(dense.New(1, 3), narrow))
		})
	}
}
