package dpsgd

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
)

func TestTargetsStandInForLabels(t *testing.T) {
	x := blas32.General{Rows: 2, Cols: 1, Stride: 1, Data: []float32{0.25, 0.5}}
	targets := blas32.General{Rows: 2, Cols: 2, Stride: 3, Data: []float32{1, 2, 9, 3, 4}}
	require.NoError(t, Data{X: x, Targets: targets}.validate())
	require.NoError(t, Data{X: x, Y: []int{0, 1}, Targets: targets}.validate())
	for name, bad := range map[string]Data{
		"0 labels":                    {X: x},
		"1 labels":                    {X: x, Y: []int{1}, Targets: targets},
		"1 rows of targets":           {X: x, Y: []int{0, 1}, Targets: blas32.General{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1}}},
		"targets: the matrix is malf": {X: x, Targets: blas32.General{Rows: 2, Cols: 2, Stride: 1, Data: targets.Data}},
		"target matrix has 2 rows ":   {X: x, Targets: blas32.General{Rows: 2}},
	} {
		require.ErrorContains(t, bad.validate(), name)
	}

	// Every number counts for the noise, and what lies between rows does not.
	sum := func(d Data) float64 {
		return released(t, newToy(), d, SumConfig{ClipNorm: 1, NoiseMultiplier: 1}, 1).Sum[0]
	}
	first := sum(Data{X: x, Targets: targets})
	targets.Data[2] = 7
	require.Equal(t, first, sum(Data{X: x, Targets: targets}))
	targets.Data[4] = 7
	require.NotEqual(t, first, sum(Data{X: x, Targets: targets}))
	require.NotEqual(t, first, sum(Data{X: x, Y: []int{0, 0}}))
}
