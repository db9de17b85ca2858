package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// worstOf keeps the largest relative error of a column and asserts the
// tolerance on each value.
type worstOf struct {
	t     *testing.T
	tol   float64
	worst map[string]float64
	count map[string]int
}

func newWorst(t *testing.T, tol float64) *worstOf {
	return &worstOf{t, tol, map[string]float64{}, map[string]int{}}
}

func (w *worstOf) check(column string, got, want float64, record any) {
	w.t.Helper()
	e := relErr(got, want)
	assert.LessOrEqual(w.t, e, w.tol, "%s: got %v, want %v: %+v", column, got, want, record)
	w.worst[column] = math.Max(w.worst[column], e)
	w.count[column]++
}

func (w *worstOf) log() {
	for column, e := range w.worst {
		w.t.Logf("%s: %d values, worst relative error %.2g", column, w.count[column], e)
	}
}

func upperOf(t testing.TB, a Accountant, err error, delta float64, events ...Event) float64 {
	t.Helper()
	require.NoError(t, err)
	for _, e := range events {
		require.NoError(t, a.Compose(e, 1))
	}
	b, err := a.Epsilon(t.Context(), delta)
	require.NoError(t, err)
	return b.Upper
}
