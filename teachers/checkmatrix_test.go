package teachers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers"
)

func TestCheckMatrix(t *testing.T) {
	m := teachers.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	require.NoError(t, teachers.CheckMatrix(m))
	require.NoError(t, teachers.CheckMatrix(teachers.Matrix{Cols: 3, Stride: 3}), "no rows")
	m.Data[3] = float32(math.Inf(-1))
	require.ErrorContains(t, teachers.CheckMatrix(m), "row 1")
	m.Rows = 3
	require.ErrorContains(t, teachers.CheckMatrix(m), "malformed")
}
