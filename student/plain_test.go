package student_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

// TestPlainModelsSayWhatTheClassifierSays: written down as data, every kind of student has
// the scores it had, up to float32, also on rows far from all others.
func TestPlainModelsSayWhatTheClassifierSays(t *testing.T) {
	x, y := table(200, false, 1)
	for i := range y {
		y[i] *= 2 // class 1 of 3 has no label
	}
	labels := label(y, stream(3).Perm(200)[:90])
	test, _ := table(200, false, 2)
	test.Data[7] = 1e9
	candidates := student.TableCandidates(newPool(t, x, student.Config{Landmarks: 60}))
	for name, l := range map[string]teachers.Learner{"booster": trees.Booster{Rounds: 5}, "constant": teachers.Softmax{}} {
		candidates = append(candidates, student.Candidate{Name: name, Fit: func(ctx context.Context, x student.Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
			if name == "constant" {
				labels = label(y, []int{5})
			}
			return student.Supervised(ctx, l, x, labels, classes, rnd)
		}})
	}
	for _, c := range candidates {
		t.Run(c.Name, func(t *testing.T) {
			m, err := c.Fit(t.Context(), x, labels, 3, stream(4))
			require.NoError(t, err)
			requirePlain(t, m, test, 3)
		})
	}
	choice, err := student.Learn(t.Context(), x, labels, 3, student.LearnerConfig{}, stream(5))
	require.NoError(t, err)
	require.Len(t, requirePlain(t, choice.Model, test, 3).Mean.Members, len(choice.Kept))
}
