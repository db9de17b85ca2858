package bayes

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// The values are of mpmath, 15 digits.
func TestCompareLaws(t *testing.T) {
	got := testkit.Must(CompareLaws([]float64{0.1, 0.4, 0.35, 0.8, 0.2}, []float64{0.3, 0.9, 1.0, 0.7, 0.65, 0.2}))
	require.InEpsilon(t, -1.44000398617572, got.T, 1e-12)
	require.InEpsilon(t, 0.183758431636303, got.TValue, 1e-10)
	require.InEpsilon(t, 0.309759654062751, got.Levene, 1e-12)
	require.InEpsilon(t, 0.591395494544599, got.LeveneValue, 1e-10)

	same := testkit.Must(CompareLaws([]float64{1, 1, 1}, []float64{1, 1}))
	require.Equal(t, Tests{TValue: 1, LeveneValue: 1}, same)
	far := testkit.Must(CompareLaws([]float64{1, 1, 1}, []float64{2, 2}))
	require.Zero(t, far.TValue)
	require.Error(t, testkit.Err(CompareLaws([]float64{1}, []float64{2, 2})))
	require.Error(t, testkit.Err(CompareLaws([]float64{1, math.NaN()}, []float64{2, 2})))
}
