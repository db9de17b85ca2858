package nntest

import (
	"math"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/mathx"
)

func notFinite(t require.TestingT, layer nn.Layer, in nn.Shape) {
	const rows, bad = 6, 2
	tensors := len(layer.Tensors(in))
	b := newBench(t, layer, in, rows, layer.Float32)
	rnd := random(8)
	x, dy := normal[float32](rnd, len(b.x)), normal[float32](rnd, len(b.dy))
	copy(b.x, x)
	copy(b.dy, dy)
	b.run(rows)
	y, dx := slices.Clone(b.y), slices.Clone(b.dx)
	var squares [][]float64
	for _, s := range b.squares {
		squares = append(squares, slices.Clone(s))
	}
	single := newBench(t, layer, in, 1, layer.Float32)
	poisoned := func(what string, poison float64) {
		b.run(rows)
		for i := range rows {
			if i == bad {
				continue
			}
			require.Equal(t, y[i*b.out:(i+1)*b.out], b.y[i*b.out:(i+1)*b.out], "row %d beside %s of %v", i, what, poison)
			require.Equal(t, dx[i*b.in:(i+1)*b.in], b.dx[i*b.in:(i+1)*b.in], "row %d beside %s of %v", i, what, poison)
			for k := range tensors {
				require.Equal(t, squares[k][i], b.squares[k][i], "row %d beside %s of %v", i, what, poison)
			}
		}
		if tensors > 0 && finite(b.squares, bad) {
			copy(single.x, b.x[bad*b.in:])
			copy(single.dy, b.dy[bad*b.out:])
			single.run(1)
			g := norm(single.sum(1, alike(tensors, []float32{1})))
			require.True(t, g <= math.MaxFloat32, "%s of %v has a finite norm, and the gradient has not", what, poison)
		}
		copy(b.x, x)
		copy(b.dy, dy)
	}
	ownX, ownDY := b.x[bad*b.in:(bad+1)*b.in], b.dy[bad*b.out:(bad+1)*b.out]
	for _, poison := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, own := range [][]float32{ownX, ownDY} {
			for j := range own {
				own[j] = float32(poison)
			}
			poisoned("a row", poison)
			for range 5 {
				own[rnd.IntN(len(own))] = float32(poison)
				poisoned("an element", poison)
			}
		}
	}
}

func finite(squares [][]float64, i int) bool {
	sum := 0.0
	for _, s := range squares {
		sum += s[i]
	}
	return mathx.IsFinite(sum)
}

func extremes(t require.TestingT, layer nn.Layer, in nn.Shape, build func(nn.Shape, int) nn.Pass[float32]) {
	sizes := layer.Tensors(in)
	if len(sizes) == 0 {
		return
	}
	b := newBench(t, layer, in, 1, build)
	rnd := random(10)
	check := func(clip dpsgd.Clip, xs, dys float64) {
		scales, whole := make([][]float32, len(sizes)), 0.0
		for k, s := range b.squares {
			scale, _ := clip.Scale(0, math.Sqrt(s[0]))
			scales[k] = []float32{towardsZero(scale)}
			whole += s[0]
		}
		bound := clip.Norms[0] * (1 + 0x1p-20)
		sum, at := b.sum(1, scales), 0
		for k, size := range sizes {
			got := norm(sum[at : at+size])
			require.True(t, got <= bound, "tensor %d: norm %g clipped to %v, inputs times %g, gradients times %g", k, got, clip, xs, dys)
			at += size
		}
		scale, _ := clip.Scale(0, math.Sqrt(whole))
		got := norm(b.sum(1, alike(len(sizes), []float32{towardsZero(scale)})))
		require.True(t, got <= bound, "norm %g clipped to %v, inputs times %g, gradients times %g", got, clip, xs, dys)
	}
	factors := []float64{0, 0x1p-100, 0x1p-60, 1, 0x1p60, 0x1p100}
	for _, xs := range factors {
		for _, dys := range factors {
			for range 3 {
				for j := range b.x {
					b.x[j] = float32(xs * rnd.NormFloat64())
				}
				for j := range b.dy {
					b.dy[j] = float32(dys * rnd.NormFloat64())
				}
				b.run(1)
				if !finite(b.squares, 0) {
					continue
				}
				for _, c := range []float64{0x1p-40, 1, 0x1p40} {
					check(dpsgd.FlatClip(c), xs, dys)
					check(dpsgd.Clip{Norms: []float64{c}, Stabilizer: c * 0x1p-60}, xs, dys)
				}
			}
		}
	}
}

func towardsZero(v float64) float32 {
	f := float32(v)
	if float64(f) > v {
		f = math.Nextafter32(f, 0)
	}
	return f
}
