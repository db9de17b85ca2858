package teachertest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/teachers"
)

// stripes returns n examples in [0, 1]. In class c of k the c-th stretch of features is mostly bright, and
// the others are mostly dark. Class 0 is twice as likely as every other.
func stripes(n, features, classes int, seed uint64) teachers.Dataset {
	rnd := rand.New(rand.NewPCG(seed, 0x7465737473))
	data := teachers.Dataset{
		X:       teachers.Matrix{Rows: n, Cols: features, Stride: features, Data: make([]float32, n*features)},
		Y:       make([]int, n),
		Classes: classes,
	}
	for i := range n {
		class := max(0, rnd.IntN(classes+1)-1)
		data.Y[i] = class
		for j := range features {
			bright := 0.15
			if j*classes/features == class {
				bright = 0.85
			}
			v := 0.25 * rnd.Float64()
			if rnd.Float64() < bright {
				v = 1 - v
			}
			data.X.Data[i*features+j] = float32(v)
		}
	}
	return data
}

// withStride returns the same data in a matrix whose rows are followed by padding. The padding must not be
// read as features.
func withStride(data teachers.Dataset, padding int) teachers.Dataset {
	x := data.X
	wide := teachers.Matrix{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols + padding, Data: make([]float32, x.Rows*(x.Cols+padding))}
	for i := range wide.Data {
		wide.Data[i] = float32(math.NaN())
	}
	for i := range x.Rows {
		copy(wide.Data[i*wide.Stride:], x.Data[i*x.Stride:i*x.Stride+x.Cols])
	}
	data.X = wide
	return data
}

func clone(data teachers.Dataset) teachers.Dataset {
	data.X.Data = slices.Clone(data.X.Data)
	data.Y = slices.Clone(data.Y)
	return data
}

// only returns the examples of one class.
func only(data teachers.Dataset, class int) teachers.Dataset {
	out := teachers.Dataset{X: data.X, Classes: data.Classes}
	out.X.Data, out.X.Stride, out.X.Rows = nil, data.X.Cols, 0
	for i, y := range data.Y {
		if y == class {
			out.X.Data = append(out.X.Data, data.X.Data[i*data.X.Stride:i*data.X.Stride+data.X.Cols]...)
			out.Y = append(out.Y, y)
			out.X.Rows++
		}
	}
	return out
}

func empty(data teachers.Dataset) teachers.Dataset {
	data.X.Rows, data.X.Data, data.Y = 0, nil, nil
	return data
}
