package student

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
)

// clouds returns rows of classes that overlap a little, one column for each, and noise.
func clouds(rows, cols, classes int, seed uint64) (Matrix, []int) {
	r := rand.New(rand.NewPCG(seed, 1))
	x, y := dense.New(rows, cols), make([]int, rows)
	for i := range rows {
		y[i] = i % classes
		for j := range cols {
			x.Data[i*cols+j] = float32(r.NormFloat64())
		}
		x.Data[i*cols+y[i]] += 4
	}
	return x, y
}

// Labels of which nearly half are wrong tell the classes if they are many: their errors even
// out. As few as the rows here, they are spread where they count as few, and errors stay.
func TestErrorsOfManyLabelsEvenOut(t *testing.T) {
	const rows, fresh, classes = 900, 500, 4
	x, y := clouds(rows, 12, classes, 1)
	unseen, truth := clouds(fresh, 12, classes, 2)
	noise, labels := rand.New(rand.NewPCG(3, 1)), make([]int, rows)
	right := 0
	for i := range labels {
		if labels[i] = y[i]; noise.Float64() < .6 {
			labels[i] = noise.IntN(classes)
		}
		if labels[i] == y[i] {
			right++
		}
	}
	learn := func(many int) (*Choice, int) {
		l, err := NewLearner(t.Context(), x, LearnerConfig{Images: true}, rand.New(rand.NewPCG(4, 1)))
		require.NoError(t, err)
		require.Equal(t, denoiseFrom, l.many)
		l.many = many
		c, err := l.Fit(t.Context(), labels, classes, rand.New(rand.NewPCG(5, 1)))
		require.NoError(t, err)
		answers, right := make([]int, fresh), 0
		require.NoError(t, c.Model.Predict(answers, unseen))
		for i, a := range answers {
			if a == truth[i] {
				right++
			}
		}
		return c, right
	}
	c, got := learn(rows)
	require.Equal(t, []string{denoising}, c.Kept)
	require.Equal(t, rows, c.Labels)
	require.Empty(t, c.Right, "nothing to compare with")
	_, spread := learn(rows + 1)
	t.Logf("%d of %d labels are right; of %d answers %d, by the students of few labels %d", right, rows, fresh, got, spread)
	require.Greater(t, got, fresh*93/100)
	_, again := learn(rows)
	require.Equal(t, got, again)
}

// What becomes of a row does not depend on the rows beside it, to the last bit, nor is it
// refused for what another one holds.
func TestProjectionOfARowIsItsOwn(t *testing.T) {
	x, _ := clouds(300, 40, 3, 1)
	l, err := NewLearner(t.Context(), x, LearnerConfig{Images: true}, rand.New(rand.NewPCG(2, 1)))
	require.NoError(t, err)
	all, err := l.Project(t.Context(), x)
	require.NoError(t, err)
	for range 2 { // known, and then not, as where labels are spread over a part
		pool, err := l.ProjectPool(t.Context())
		require.NoError(t, err)
		require.Equal(t, all, pool)
		l.rows = l.rows[:200]
	}
	rows, _ := clouds(700, 40, 3, 3)
	whole, err := l.Project(t.Context(), rows)
	require.NoError(t, err)
	for _, from := range []int{1, 3, 256, 699} {
		alone, err := l.Project(t.Context(), dense.Rows(rows, from, rows.Rows))
		require.NoError(t, err)
		require.Equal(t, whole.Data[from*whole.Stride:], alone.Data, "from row %d on", from)
	}
	rows.Data[0] = float32(math.NaN())
	with, err := l.Project(t.Context(), rows)
	require.NoError(t, err)
	require.Equal(t, whole.Data[whole.Stride:], with.Data[with.Stride:])
	rows.Cols--
	_, err = l.Project(t.Context(), rows)
	require.ErrorContains(t, err, "39 features, want 40")
}
