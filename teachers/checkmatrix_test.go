package teachers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers"
)

func TestCheckMatrix(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for name, c := range map[string]struct {
		m    teachers.Matrix
		want string // empty: accepted
	}{
		"two rows":                 {teachers.Matrix{Rows: 2, Cols: 2, Stride: 2, Data: make([]float32, 4)}, ""},
		"no stride behind":         {teachers.Matrix{Rows: 2, Cols: 2, Stride: 5, Data: make([]float32, 7)}, ""},
		"NaN between rows":         {teachers.Matrix{Rows: 2, Cols: 1, Stride: 2, Data: []float32{0, nan, 0}}, ""},
		"no rows":                  {teachers.Matrix{Cols: 3, Stride: 3}, ""},
		"largest numbers":          {teachers.Matrix{Rows: 1, Cols: 5, Stride: 5, Data: []float32{math.MaxFloat32, math.MaxFloat32, -math.MaxFloat32, 0, math.MaxFloat32}}, ""},
		"no columns":               {teachers.Matrix{Rows: 2, Stride: 1, Data: make([]float32, 2)}, "malformed"},
		"rows below 0":             {teachers.Matrix{Rows: -1, Cols: 1, Stride: 1}, "malformed"},
		"rows that overlap":        {teachers.Matrix{Rows: 2, Cols: 2, Stride: 1, Data: make([]float32, 4)}, "malformed"},
		"one value short":          {teachers.Matrix{Rows: 2, Cols: 2, Stride: 5, Data: make([]float32, 6)}, "6 values are too few"},
		"no data":                  {teachers.Matrix{Rows: 1, Cols: 1, Stride: 1}, "too few"},
		"a product that overflows": {teachers.Matrix{Rows: math.MaxInt, Cols: 2, Stride: math.MaxInt, Data: make([]float32, 4)}, "too few"},
		"NaN":                      {teachers.Matrix{Rows: 2, Cols: 1, Stride: 1, Data: []float32{0, nan}}, "row 1"},
		"infinite":                 {teachers.Matrix{Rows: 1, Cols: 4, Stride: 4, Data: []float32{0, 0, 0, inf}}, "row 0"},
		"infinite, then its like":  {teachers.Matrix{Rows: 1, Cols: 8, Stride: 8, Data: []float32{inf, 0, 0, 0, -inf, 0, 0, 0}}, "row 0"},
	} {
		err := teachers.CheckMatrix(c.m)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}
