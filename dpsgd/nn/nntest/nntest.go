// Package nntest checks that a layer satisfies the obligations of [nn.Layer] and [nn.Pass]. The guarantee of
// DP-SGD depends on these obligations. Call TestLayer from the test of your own layer:
//
//	func TestMyLayer(t *testing.T) { nntest.TestLayer(t, MyLayer{Units: 3}, nn.Vector(5)) }
//
// TestLayer checks the following on random inputs with a fixed seed:
//
//   - Gradients agree with finite differences in double precision.
//   - Gradient norms and sums agree with a computation of one example at a time.
//   - A layer that is [nn.InPlace] gives the same result if its output overwrites its input.
//   - An example's result does not depend on the other examples in the batch, to the last bit.
//   - The rounding error of a sum of 256 rows stays within the bound of [nn.Pass]. Adding these rows one
//     after another would exceed the bound.
//   - Gradients are clipped correctly for inputs from 2^-100 to 2^100.
//   - A Pass does not read dx after Backward, or y after Forward if the layer is not [nn.InPlace].
package nntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

// TestLayer checks a layer for the input shape in. Use small shapes: the time is proportional to (parameters
// + inputs) x outputs.
func TestLayer(t *testing.T, layer nn.Layer, in nn.Shape) {
	t.Run("description", func(t *testing.T) { describe(t, layer, in) })
	t.Run("finite differences", func(t *testing.T) { differences(t, layer, in) })
	t.Run("norms and sums", func(t *testing.T) {
		sums(t, layer, in, layer.Float64, 0x1p-52)
		sums(t, layer, in, layer.Float32, 0x1p-23)
	})
	t.Run("row exactness", func(t *testing.T) {
		exactness(t, layer, in, layer.Float64)
		exactness(t, layer, in, layer.Float32)
	})
	t.Run("in place", func(t *testing.T) { inPlace(t, layer, in) })
	t.Run("depth of sums", func(t *testing.T) { depth(t, layer, in) })
	t.Run("not finite", func(t *testing.T) { notFinite(t, layer, in) })
	t.Run("extremes", func(t *testing.T) { extremes(t, layer, in, layer.Float32) })
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6e6e)) }

func normal[T nn.Float](rnd *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rnd.NormFloat64())
	}
	return x
}

func parameters[T nn.Float](layer nn.Layer, in nn.Shape) []T {
	initial := make([]float64, total(layer.Tensors(in)))
	layer.Init(initial, in, random(1))
	rnd := random(2)
	p := make([]T, len(initial))
	for i, v := range initial {
		p[i] = T(v + 0.1*rnd.NormFloat64())
	}
	return p
}

func total(sizes []int) (n int) {
	for _, s := range sizes {
		n += s
	}
	return n
}

type bench[T nn.Float] struct {
	nn.Pass[T]
	in, out, parameters int
	x, y, dx, dy        []T
	lentY, lentDX       []T // buffers that the layer may write to but must not keep
	keeps, inPlace      bool
	squares             [][]float64
}

func newBench[T nn.Float](t require.TestingT, layer nn.Layer, in nn.Shape, rows int, build func(nn.Shape, int) nn.Pass[T]) *bench[T] {
	out, err := layer.Output(in)
	require.NoError(t, err)
	b := &bench[T]{
		Pass: build(in, rows), in: in.Size(), out: out.Size(), parameters: total(layer.Tensors(in)),
		x: make([]T, rows*in.Size()), y: make([]T, rows*out.Size()),
		dx: make([]T, rows*in.Size()), dy: make([]T, rows*out.Size()),
		lentY: make([]T, rows*out.Size()), lentDX: make([]T, rows*in.Size()),
	}
	_, b.keeps = layer.(nn.InPlace) // package nn does not overwrite the outputs of such layers
	for range layer.Tensors(in) {
		b.squares = append(b.squares, make([]float64, rows))
	}
	b.Start(parameters[T](layer, in))
	return b
}

func (b *bench[T]) fill(rnd *rand.Rand) {
	copy(b.x, normal[T](rnd, len(b.x)))
	copy(b.dy, normal[T](rnd, len(b.dy)))
}

func (b *bench[T]) run(rows int) {
	for _, s := range b.squares {
		clear(s)
	}
	x, dy := b.x, b.dy
	if b.inPlace {
		copy(b.lentY, x)
		copy(b.lentDX, dy)
		x, dy = b.lentY, b.lentDX
	}
	b.Forward(b.lentY, x, rows)
	copy(b.y, b.lentY)
	if !b.keeps {
		scribble(b.lentY)
	}
	b.Backward(b.lentDX, dy, rows, b.squares)
	copy(b.dx, b.lentDX)
	scribble(b.lentDX)
}

func scribble[T nn.Float](x []T) {
	for i := range x {
		x[i] = T(math.NaN())
	}
}

func (b *bench[T]) sum(rows int, scales [][]T) []T {
	s := make([]T, b.parameters)
	b.AddScaled(s, rows, scales)
	return s
}

func alike[T nn.Float](tensors int, scales []T) [][]T {
	return slices.Repeat([][]T{scales}, tensors)
}

func describe(t require.TestingT, layer nn.Layer, in nn.Shape) {
	out, err := layer.Output(in)
	require.NoError(t, err)
	require.Positive(t, out.Size())
	require.NotEmpty(t, layer.String())
	require.GreaterOrEqual(t, layer.Workspace(in), 0)
	n := total(layer.Tensors(in))
	a, b := make([]float64, n), normal[float64](random(9), n)
	layer.Init(a, in, random(3))
	layer.Init(b, in, random(3))
	require.Equal(t, a, b, "Init is a function of the random numbers alone, and sets everything")
	for _, v := range a {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
	}
}

func differences(t require.TestingT, layer nn.Layer, in nn.Shape) {
	const h, tolerance = 1e-5, 1e-6
	b := newBench(t, layer, in, 1, layer.Float64)
	rnd := random(4)
	for range 3 {
		b.fill(rnd)
		p := parameters[float64](layer, in)
		b.Start(p)
		b.run(1)
		var one [][]float64
		if tensors := len(layer.Tensors(in)); tensors > 0 {
			one = alike(tensors, []float64{1})
		}
		gradient, dx := b.sum(1, one), slices.Clone(b.dx)
		x := slices.Clone(b.x)
		slope := func(v *float64) float64 {
			value := func(at float64) (s float64) {
				*v = at
				b.Start(p)
				b.Forward(b.y, x, 1)
				for k, y := range b.y {
					s += b.dy[k] * y
				}
				return s
			}
			was := *v
			up, down := value(was+h), value(was-h)
			*v = was
			return (up - down) / (2 * h)
		}
		for j := range p {
			want := slope(&p[j])
			require.InDelta(t, want, gradient[j], tolerance*(1+math.Abs(want)), "gradient by parameter %d", j)
		}
		for j := range x {
			want := slope(&x[j])
			require.InDelta(t, want, dx[j], tolerance*(1+math.Abs(want)), "gradient by input %d", j)
		}
	}
}

func norm[T nn.Float](x []T) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

func sums[T nn.Float](t require.TestingT, layer nn.Layer, in nn.Shape, build func(nn.Shape, int) nn.Pass[T], unit float64) {
	const largest = 4 // of a scale
	sizes := layer.Tensors(in)
	if len(sizes) == 0 {
		return
	}
	for _, rows := range []int{1, 5, 33, 70} {
		b := newBench(t, layer, in, rows, build)
		rnd := random(uint64(rows))
		b.fill(rnd)
		x, dy := slices.Clone(b.x), slices.Clone(b.dy)
		b.run(rows)
		scales := make([][]T, len(sizes))
		for k := range scales {
			scales[k] = make([]T, rows)
			for i := range scales[k] {
				scales[k][i] = T(largest * rnd.Float64())
			}
		}
		got, plainly := b.sum(rows, scales), b.sum(rows, alike(len(sizes), scales[0]))
		require.Equal(t, x, b.x, "the input may not change")
		require.Equal(t, dy, b.dy, "the gradient by the output may not change")

		want, wantPlainly := make([]float64, b.parameters), make([]float64, b.parameters)
		unscaled, bound := make([]float64, b.parameters), 0.0
		single := newBench(t, layer, in, 1, build)
		for i := range rows {
			copy(single.x, x[i*b.in:(i+1)*b.in])
			copy(single.dy, dy[i*b.out:(i+1)*b.out])
			single.run(1)
			g := single.sum(1, alike(len(sizes), []T{1}))
			at := 0
			for k, size := range sizes {
				own := norm(g[at : at+size])
				bound += own
				require.GreaterOrEqual(t, b.squares[k][i], own*own*(1-0x1p-22), "row %d, tensor %d: the norm is understated", i, k)
				require.LessOrEqual(t, b.squares[k][i], own*own*(1+0x1p-10)+1e-30, "row %d, tensor %d: the norm is overstated", i, k)
				for j := at; j < at+size; j++ {
					want[j] += float64(scales[k][i]) * float64(g[j])
					wantPlainly[j] += float64(scales[0][i]) * float64(g[j])
					unscaled[j] += float64(g[j])
				}
				at += size
			}
		}
		near := func(want []float64, got []T, what string) {
			for j := range want {
				require.InDelta(t, want[j], float64(got[j]), 64*unit*largest*bound, "%s, parameter %d, %d rows", what, j, rows)
			}
		}
		near(want, got, "tensors scaled one by one")
		near(wantPlainly, plainly, "tensors scaled alike")
		b.Forward(b.y, b.x, rows)
		if !b.keeps {
			scribble(b.y)
		}
		b.Backward(nil, b.dy, rows, nil)
		near(unscaled, b.sum(rows, nil), "not scaled, neither norms nor dx asked for")
	}
}

func exactness[T nn.Float](t require.TestingT, layer nn.Layer, in nn.Shape, build func(nn.Shape, int) nn.Pass[T]) {
	tensors := len(layer.Tensors(in))
	single := newBench(t, layer, in, 1, build)
	for _, rows := range []int{2, 7, 19, 64} {
		b := newBench(t, layer, in, rows+3, build)
		b.fill(random(uint64(100 + rows)))
		b.run(rows)
		for i := range rows {
			copy(single.x, b.x[i*b.in:(i+1)*b.in])
			copy(single.dy, b.dy[i*b.out:(i+1)*b.out])
			single.run(1)
			name := fmt.Sprintf("row %d of %d", i, rows)
			require.Equal(t, single.y, b.y[i*b.out:(i+1)*b.out], "%s: values", name)
			require.Equal(t, single.dx, b.dx[i*b.in:(i+1)*b.in], "%s: gradient by the input", name)
			for k := range tensors {
				require.Equal(t, single.squares[k][0], b.squares[k][i], "%s: squared norm of tensor %d", name, k)
			}
		}
		if tensors == 0 {
			continue
		}
		// A row that is alone in a call must add the same bits as it did at any place among other rows.
		copy(single.x, b.x[:b.in])
		copy(single.dy, b.dy[:b.out])
		single.run(1)
		want := single.sum(1, alike(tensors, []T{0.3}))
		b.run(1)
		require.Equal(t, want, b.sum(1, alike(tensors, []T{0.3})), "what a single row adds, in a pass for %d", rows+3)
	}
}

func inPlace(t require.TestingT, layer nn.Layer, in nn.Shape) {
	if _, ok := layer.(nn.InPlace); !ok {
		return
	}
	const rows = 5
	b := newBench(t, layer, in, rows, layer.Float32)
	require.Equal(t, b.in, b.out, "a layer with the method InPlace has as many outputs as inputs")
	b.fill(random(11))
	b.run(rows)
	y, dx := slices.Clone(b.y), slices.Clone(b.dx)
	b.inPlace = true
	b.run(rows)
	require.Equal(t, y, b.y, "values in place: a layer without the method InPlace has a buffer of its own for them")
	require.Equal(t, dx, b.dx, "gradient in place: Backward reads x, which the values have overwritten; "+
		"a layer without the method InPlace may do so")
}

func depth(t require.TestingT, layer nn.Layer, in nn.Shape) {
	// The scales are one, and then so small that adding one multiple to a power of two changes nothing. A
	// chain of additions would lose all small multiples but the first.
	tensors := len(layer.Tensors(in))
	if tensors == 0 {
		return
	}
	const rows, small = dpsgd.MaxRows, 0x1p-24 * 0.99
	b := newBench(t, layer, in, rows, layer.Float32)
	rnd := random(7)
	x, dy := normal[float32](rnd, b.in), normal[float32](rnd, b.out)
	for _, v := range [][]float32{x, dy} {
		for j := range v {
			_, exponent := math.Frexp(float64(v[j]))
			v[j] = float32(math.Copysign(math.Ldexp(1, exponent), float64(v[j])))
		}
	}
	for i := range rows {
		copy(b.x[i*b.in:], x)
		copy(b.dy[i*b.out:], dy)
	}
	b.run(1)
	g := b.sum(1, alike(tensors, []float32{1}))
	b.run(rows)
	scales := slices.Repeat([]float32{small}, rows)
	scales[0] = 1
	got := b.sum(rows, alike(tensors, scales))
	lost := make([]float64, len(g))
	weight := 1 + (rows-1)*float64(float32(small))
	for j, v := range g {
		lost[j] = weight*float64(v) - float64(got[j])
	}
	const n = (rows/48 + 51) * 0x1p-24
	require.LessOrEqual(t, norm(lost), n/(1-n)*weight*norm(g),
		"terms pass through too many additions: AddScaled of nn.Pass says how rows are summed")
}
