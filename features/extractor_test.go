package features

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/namedsets"
)

// randomImage has pixels in [0, 1], about half of them 0.
func randomImage(rnd *rand.Rand, shape dataset.Shape) []float32 {
	img := make([]float32, shape.Pixels())
	for i := range img {
		img[i] = max(0, 2*rnd.Float32()-1)
	}
	return img
}

// randomSet has a stride beyond its row length, to catch whoever ignores it.
func randomSet(rows int, shape dataset.Shape) dataset.Set {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := dataset.Set{Name: "random", Image: shape, X: blas32.General{Rows: rows, Cols: shape.Pixels(), Stride: shape.Pixels() + 3}}
	s.X.Data = make([]float32, rows*s.X.Stride)
	for i := range rows {
		copy(s.X.Data[i*s.X.Stride:], randomImage(rnd, shape))
	}
	return s
}

func everyExtractor() []Extractor {
	return []Extractor{Raw{}, Deskew{}, StandardHOG(), HOG{Bins: 9, Cell: 3, Block: 1, Clip: 1}, Deskew{Of: StandardHOG()},
		UnitNorm{Of: Raw{}}, Standardize{Of: Deskew{}}, Deskew{Of: UnitNorm{Of: StandardHOG()}}}
}

func TestExtractorsAreFiniteRepeatableAndLeaveTheImage(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	names := map[string]bool{}
	for _, e := range everyExtractor() {
		t.Run(e.Name(), func(t *testing.T) {
			assert.False(t, names[e.Name()], "two extractors of one name")
			names[e.Name()] = true
			for _, shape := range []dataset.Shape{{Rows: 28, Cols: 28}, {Rows: 8, Cols: 8}, {Rows: 17, Cols: 30}} {
				blank, full, dot := make([]float32, shape.Pixels()), make([]float32, shape.Pixels()), make([]float32, shape.Pixels())
				for i := range full {
					full[i] = 1
				}
				dot[shape.Pixels()/3] = 1
				for _, img := range [][]float32{blank, full, dot, randomImage(rnd, shape)} {
					before := append([]float32(nil), img...)
					first, second := make([]float32, e.Dim(shape)), make([]float32, e.Dim(shape))
					for i := range second {
						second[i] = 7 // what was in the destination must not matter
					}
					e.Extract(first, img, shape)
					e.Extract(second, img, shape)
					assert.Equal(t, first, second)
					assert.Equal(t, before, img)
					assert.True(t, dense.Finite(first))
				}
			}
		})
	}
}

func TestExtractPanicsOnWrongLengths(t *testing.T) {
	shape := dataset.Shape{Rows: 8, Cols: 8}
	for _, e := range everyExtractor() {
		assert.Panics(t, func() { e.Extract(make([]float32, e.Dim(shape)+1), make([]float32, 64), shape) }, e.Name())
		assert.Panics(t, func() { e.Extract(make([]float32, e.Dim(shape)), make([]float32, 63), shape) }, e.Name())
	}
}

// Any pixels at all, by themselves or in neighbourhoods: no panic, neither alone
// nor in a batch; and [Apply] refuses them before it computes anything.
func TestPixelsThatAreNotFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	shape := dataset.Shape{Rows: 12, Cols: 12}
	scattering, err := NewScattering(shape)
	require.NoError(t, err)
	for _, e := range append(everyExtractor(), scattering, GroupNorm{Of: scattering, Groups: 27}) {
		rnd := rand.New(rand.NewPCG(11, 12))
		for range 40 {
			set := randomSet(3, shape)
			for range 1 + rnd.IntN(70) {
				set.X.Data[rnd.IntN(set.X.Stride+shape.Pixels())] = []float32{inf, -inf, nan, math.MaxFloat32, -math.MaxFloat32}[rnd.IntN(5)]
			}
			set.X.Data[30], set.X.Data[32] = inf, inf
			out := matrixOf(3, e.Dim(shape), e.Dim(shape))
			require.NotPanics(t, func() {
				extractBatch(e, out, set.X, shape)
				e.Extract(dense.Row(out, 0), dense.Row(set.X, 0), shape)
			}, e.Name())
			require.False(t, dense.Finite(dense.Row(out, 0)), "%s hides what it was given", e.Name())
			_, err := Apply(context.Background(), set, e, 1)
			require.ErrorContains(t, err, "row 0", e.Name())
		}
	}
	var calls atomic.Int64
	set := randomSet(3, shape)
	set.X.Data[2*set.X.Stride+7] = nan
	_, err = Apply(context.Background(), set, counting{calls: &calls}, 1)
	require.ErrorContains(t, err, "row 2")
	require.Zero(t, calls.Load(), "computed on what is refused")
}

func TestNormsAreBounded(t *testing.T) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	rnd := rand.New(rand.NewPCG(5, 6))
	out := make([]float32, 784)
	for range 20 {
		img := randomImage(rnd, shape)
		UnitNorm{Of: Raw{}}.Extract(out, img, shape)
		assert.InDelta(t, 1, kernel.SquaredNorm(out), 1e-5)
		Standardize{Of: Raw{}}.Extract(out, img, shape)
		assert.InDelta(t, 784, kernel.SquaredNorm(out), 1e-2)
		var sum float64
		for _, v := range out {
			sum += float64(v)
		}
		assert.InDelta(t, 0, sum, 1e-3)
	}
	for i := range out {
		out[i] = 0.1
	}
	Standardize{Of: Raw{}}.Extract(out, append([]float32(nil), out...), shape)
	assert.Equal(t, make([]float32, 784), out, "a constant image becomes 0, not noise of rounding")
}

func TestApplyIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	set := randomSet(201, dataset.Shape{Rows: 9, Cols: 12})
	e := Deskew{Of: StandardHOG()}
	one, err := Apply(context.Background(), set, e, 1)
	require.NoError(t, err)
	assert.Equal(t, set.X.Rows, one.Rows)
	assert.Equal(t, e.Dim(set.Image), one.Cols)
	for _, workers := range []int{2, 5} {
		many, err := Apply(context.Background(), set, e, workers)
		require.NoError(t, err)
		assert.Equal(t, one, many)
	}
	row := make([]float32, one.Cols)
	e.Extract(row, set.X.Data[200*set.X.Stride:200*set.X.Stride+set.X.Cols], set.Image)
	assert.Equal(t, row, one.Data[200*one.Stride:], "last row")
}

func TestApplyTakesTables(t *testing.T) {
	set := randomSet(3, dataset.Shape{Rows: 1, Cols: 5})
	set.Image = dataset.Shape{}
	x, err := Apply(context.Background(), set, UnitNorm{Of: Raw{}}, 1)
	require.NoError(t, err)
	assert.Equal(t, 5, x.Cols)
	for _, e := range []Extractor{StandardHOG(), Deskew{}} {
		_, err = Apply(context.Background(), set, e, 1)
		assert.ErrorContains(t, err, "cannot be computed on images of 1x5")
	}
}

func TestApplyRefuses(t *testing.T) {
	ctx := context.Background()
	set := randomSet(70, dataset.Shape{Rows: 8, Cols: 8})
	_, err := Apply(ctx, set, Raw{}, 0)
	assert.ErrorContains(t, err, "0 workers")
	_, err = Apply(ctx, set, HOG{}, 1)
	assert.ErrorContains(t, err, "cannot be computed")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	x, err := Apply(ended, set, Raw{}, 2)
	assert.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, x)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		set.X.Data[69*set.X.Stride+5] = float32(v)
		for _, e := range everyExtractor() {
			x, err := Apply(ctx, set, e, 2)
			assert.ErrorContains(t, err, "row 69", "%s of %g", e.Name(), v)
			assert.Zero(t, x)
		}
	}
	set.Image.Rows = 9
	_, err = Apply(ctx, set, Raw{}, 1)
	assert.ErrorContains(t, err, "rows of 64 for images of 9x8")
}

func BenchmarkExtract(b *testing.B) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	train, _, err := namedsets.MNIST()
	require.NoError(b, err)
	for _, e := range []Extractor{Raw{}, Deskew{}, StandardHOG(), Deskew{Of: StandardHOG()}, UnitNorm{Of: Deskew{Of: StandardHOG()}}} {
		b.Run(e.Name(), func(b *testing.B) {
			dst := make([]float32, e.Dim(shape))
			i := 0
			for b.Loop() {
				e.Extract(dst, train.X.Data[i*784:(i+1)*784], shape)
				i = (i + 1) % 1000
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/image")
		})
	}
}
