package experiments

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers"
)

// noisyRows are rows of two classes in many columns, of which a share of labels is wrong.
func noisyRows(rnd *rand.Rand, rows, columns int, wrong float64) (data teachers.Dataset, units []string) {
	data = teachers.Dataset{X: dense.New(rows, columns), Y: make([]int, rows), Classes: 2}
	for i := range rows {
		y := i % 2
		for j := range columns {
			dense.Row(data.X, i)[j] = float32(rnd.NormFloat64() + float64(2*y-1)*2.4/math.Sqrt(float64(columns)))
		}
		if data.Y[i] = y; rnd.Float64() < wrong {
			data.Y[i] = 1 - y
		}
		units = append(units, strconv.Itoa(i))
	}
	return data, units
}

// Where the smallest penalty learns wrong labels by heart a larger one is taken, and no other where nothing
// is gained beyond chance.
func TestPenalty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	data, units := noisyRows(rnd, 2000, 600, 0.15)
	test, _ := noisyRows(rnd, 2000, 600, 0)
	of := func(l teachers.Learner) float64 {
		m := testkit.Must(l.Fit(t.Context(), data, rand.New(rand.NewPCG(2, 2))))
		predicted := make([]int, test.X.Rows)
		require.NoError(t, m.Predict(predicted, test.X))
		return scores.Accuracy(predicted, test.Y)
	}
	smallest, chosen := of(softmaxOf(1, data)), of(penalised{units})
	t.Logf("%.3f, %.3f", smallest, chosen)
	require.Greater(t, chosen, smallest+0.05)
	few, units := noisyRows(rnd, 2000, 3, 0)
	penalty := testkit.Must(penalised{units}.choose(t.Context(), few, rnd))
	require.Equal(t, 1., penalty)
	one := make([]string, few.X.Rows) // all rows are of one unit: there is nothing to choose on
	penalty = testkit.Must(penalised{one}.choose(t.Context(), few, rnd))
	require.Equal(t, 1., penalty)
	learn, held := penalised{units}.halves(few, rnd)
	require.Equal(t, few.X.Rows, learn.X.Rows+held.X.Rows)
	require.InDelta(t, 400, held.X.Rows, 90)
}
