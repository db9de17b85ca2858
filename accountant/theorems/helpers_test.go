package theorems

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	. "github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/stretchr/testify/require"
)

// readGolden decodes one file of the accountant's testdata.
func readGolden(t testing.TB, name string, into any) {
	testkit.ReadJSON(t, filepath.Join("..", "testdata", name), into)
}

func relErr(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

// within asserts a relative tolerance.
type within struct {
	t         *testing.T
	tolerance float64
}

func (w within) check(column string, got, want float64, record any) {
	w.t.Helper()
	require.LessOrEqual(w.t, relErr(got, want), w.tolerance, "%s: got %v, want %v: %+v", column, got, want, record)
}

// upperOf composes events and asks for epsilon.
func upperOf(t *testing.T, a Accountant, err error, delta float64, events ...Event) float64 {
	t.Helper()
	require.NoError(t, err)
	for _, e := range events {
		require.NoError(t, a.Compose(e, 1))
	}
	b, err := a.Epsilon(context.Background(), delta)
	require.NoError(t, err)
	return b.Upper
}

func dpsgd(q, sigma float64, steps int64) Event {
	return Repeated{Event: PoissonSampled{Probability: q, Event: Gaussian{NoiseMultiplier: sigma}}, Count: steps}
}
