package features

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/testkit"
)

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
		Standardize{Of: Raw{}}, Standardize{Of: Deskew{}}, Deskew{Of: Standardize{Of: StandardHOG()}}, &cosines{pairs: 4, width: 2}}
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

func TestPixelsThatAreNotFinite(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	shape := dataset.Shape{Rows: 12, Cols: 12}
	scattering := testkit.Must(NewScattering(shape))
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
			require.ErrorContains(t, testkit.Err(Apply(context.Background(), set, e, 1)), "row 0", e.Name())
		}
	}
	var calls atomic.Int64
	set := randomSet(3, shape)
	set.X.Data[2*set.X.Stride+7] = nan
	require.ErrorContains(t, testkit.Err(Apply(context.Background(), set, counting{calls: &calls}, 1)), "row 2")
	require.Zero(t, calls.Load(), "computed on what is refused")
}

func TestNormsAreBounded(t *testing.T) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	rnd := rand.New(rand.NewPCG(5, 6))
	out := make([]float32, 784)
	for range 20 {
		Standardize{Of: Raw{}}.Extract(out, randomImage(rnd, shape), shape)
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
	one := testkit.Must(Apply(context.Background(), set, e, 1))
	assert.Equal(t, set.X.Rows, one.Rows)
	assert.Equal(t, e.Dim(set.Image), one.Cols)
	for _, workers := range []int{2, 5} {
		assert.Equal(t, one, testkit.Must(Apply(context.Background(), set, e, workers)))
	}
	row := make([]float32, one.Cols)
	e.Extract(row, set.X.Data[200*set.X.Stride:200*set.X.Stride+set.X.Cols], set.Image)
	assert.Equal(t, row, one.Data[200*one.Stride:], "last row")
}

func TestApplyRefuses(t *testing.T) {
	ctx := context.Background()
	set := randomSet(70, dataset.Shape{Rows: 8, Cols: 8})
	assert.ErrorContains(t, testkit.Err(Apply(ctx, set, Raw{}, 0)), "at least 1 worker")
	assert.ErrorContains(t, testkit.Err(Apply(ctx, set, HOG{}, 1)), "cannot be computed")
	x, err := Apply(testkit.Ended(), set, Raw{}, 2)
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
	assert.ErrorContains(t, testkit.Err(Apply(ctx, set, Raw{}, 1)), "rows of 64 for images of 9x8")
	table := randomSet(3, dataset.Shape{Rows: 1, Cols: 5})
	table.Image = dataset.Shape{}
	require.Equal(t, 5, testkit.Must(Apply(ctx, table, Standardize{Of: Raw{}}, 1)).Cols)
	for _, e := range []Extractor{StandardHOG(), Deskew{}} {
		assert.ErrorContains(t, testkit.Err(Apply(ctx, table, e, 1)), "cannot be computed on images of 1x5")
	}
}

func matrixOf(rows, cols, stride int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: stride, Data: make([]float32, rows*stride)}
}

func TestBatchesAreExact(t *testing.T) {
	shape := dataset.Shape{Rows: 17, Cols: 12}
	s := testkit.Must(NewScattering(shape))
	set := randomSet(2*lanes+3, shape)
	for _, e := range []batcher{s, GroupNorm{Of: s, Groups: 27}, Deskew{}, Deskew{Of: s}, Standardize{Of: s}, Standardize{Of: GroupNorm{Of: s, Groups: 27}}} {
		dim := e.Dim(shape)
		alone := make([]float32, dim)
		for _, rows := range []int{0, 1, lanes - 1, lanes, 2*lanes + 2} {
			dst := matrixOf(rows+1, dim, dim+3)
			for i := range dst.Data {
				dst.Data[i] = -7
			}
			e.ExtractBatch(dst, dense.Rows(set.X, 0, rows+1), shape)
			e.Extract(alone, dense.Row(set.X, rows), shape)
			require.Equal(t, alone, dense.Row(dst, rows), "%s, %d rows", e.Name(), rows+1)
			for i := range dst.Rows {
				require.Equal(t, []float32{-7, -7, -7}, dst.Data[i*dst.Stride+dim:(i+1)*dst.Stride])
			}
		}
	}
	require.Panics(t, func() { s.ExtractBatch(matrixOf(2, s.Dim(shape), s.Dim(shape)), matrixOf(1, 204, 204), shape) })
	require.Panics(t, func() {
		s.Extract(make([]float32, s.Dim(shape)), make([]float32, 144), dataset.Shape{Rows: 12, Cols: 12})
	})
}

func TestGroupNorm(t *testing.T) {
	shape := dataset.Shape{Rows: 6, Cols: 9}
	g := GroupNorm{Of: Raw{}, Groups: 3}
	require.Equal(t, 54, g.Dim(shape))
	require.Zero(t, GroupNorm{Of: Raw{}, Groups: 4}.Dim(shape))
	require.Zero(t, GroupNorm{Of: Raw{}}.Dim(shape))
	rnd := rand.New(rand.NewPCG(1, 7))
	img, out := make([]float32, 54), make([]float32, 54)
	for i := range img {
		img[i] = float32(1+i/18) * rnd.Float32()
		if i >= 36 {
			img[i] = 0.3
		}
	}
	g.Extract(out, img, shape)
	for group := range 2 {
		var sum, squares float64
		for _, v := range out[group*18 : (group+1)*18] {
			sum += float64(v)
			squares += float64(v) * float64(v)
		}
		require.InDelta(t, 0, sum, 1e-5)
		require.InDelta(t, 1, math.Sqrt(squares/18), 1e-3)
	}
	for _, v := range out[36:] {
		require.InDelta(t, 0, v, 1e-4, "a group without contrast")
	}
}

func TestColour(t *testing.T) {
	e := colour{Of: Raw{}}
	grey, colour := dataset.Shape{Rows: 8, Cols: 8}, dataset.Shape{Rows: 8, Cols: 8, Channels: 3}
	require.Equal(t, 64, e.Dim(grey))
	require.Equal(t, 64+48, e.Dim(colour))
	require.Zero(t, e.Dim(dataset.Shape{Rows: 3, Cols: 8, Channels: 3}))
	img := make([]float32, 3*64)
	for i := range 64 {
		img[i] = 1 // red
	}
	img[64] = 0.8 // green in a corner
	out := make([]float32, e.Dim(colour))
	e.Extract(out, img, colour)
	require.InDelta(t, 0.299+0.587*0.8, out[0], 1e-6)
	require.InDelta(t, 0.299, out[1], 1e-6)
	for i, v := range out[64:80] {
		require.InDelta(t, 1, v, 1e-6, "red, cell %d", i)
	}
	require.InDelta(t, 0.2, out[80], 1e-6, "a quarter of the first cell")
	require.Zero(t, out[96])
	for _, name := range []string{NameHOG, NameDeskewedHOG, NameDeskewed, NamePixels} {
		require.NotZero(t, testkit.Must(Named(name, colour)).Dim(colour), name)
	}
}

// slantedBar is a blurred upright bar in the middle, sheared by slant columns per row and shifted.
func slantedBar(shape dataset.Shape, slant, dx, dy float64) []float32 {
	img := make([]float32, shape.Pixels())
	for y := range shape.Rows {
		fy := float64(y) - float64(shape.Rows/2) - dy
		for x := range shape.Cols {
			fx := float64(x) - float64(shape.Cols/2) - dx - slant*fy
			img[y*shape.Cols+x] = float32(math.Exp(-fx*fx/4 - math.Pow(fy/6, 4)))
		}
	}
	return img
}

func TestDeskewStraightensAndCentres(t *testing.T) {
	for _, shape := range []dataset.Shape{{Rows: 28, Cols: 28}, {Rows: 33, Cols: 40}} {
		for _, slant := range []float64{-0.6, -0.2, 0, 0.3, 0.7} {
			img := slantedBar(shape, slant, 1.3, -0.8)
			before := measure(img, shape)
			assert.InDelta(t, slant, before.mu11/before.mu02, 0.02, "the test image is slanted as it should be")
			out := make([]float32, len(img))
			Deskew{}.Extract(out, img, shape)
			after := measure(out, shape)
			assert.InDelta(t, 0, after.mu11/after.mu02, 0.01, "slant %g", slant)
			assert.InDelta(t, float64(shape.Cols/2), after.cx, 0.05)
			assert.InDelta(t, float64(shape.Rows/2), after.cy, 0.05)
			assert.InDelta(t, before.mass, after.mass, 0.01*before.mass)
		}
	}
}

// An upright centred image stays, and so does one without slant: empty, or a line without height.
func TestDeskewKeepsUprightImages(t *testing.T) {
	for shape, images := range map[dataset.Shape][][]int{{Rows: 5, Cols: 5}: {{7, 12, 17}}, {Rows: 4, Cols: 4}: {{}, {4, 5}}} {
		for _, ones := range images {
			img, out := make([]float32, shape.Pixels()), make([]float32, shape.Pixels())
			for _, i := range ones {
				img[i] = 1
			}
			Deskew{}.Extract(out, img, shape)
			assert.Equal(t, img, out)
		}
	}
}

func TestScatteringIsKymatio(t *testing.T) {
	f := testkit.Must(os.Open("testdata/kymatio.json.gz"))
	defer f.Close()
	var images []struct {
		Name       string
		Rows, Cols int
		Pixels     []int
		Scattering []float64
	}
	require.NoError(t, json.NewDecoder(testkit.Must(gzip.NewReader(f))).Decode(&images))
	for _, g := range images {
		t.Run(g.Name, func(t *testing.T) {
			shape := dataset.Shape{Rows: g.Rows, Cols: g.Cols}
			s := testkit.Must(NewScattering(shape))
			img := make([]float32, len(g.Pixels))
			for i, v := range g.Pixels {
				img[i] = float32(v) / 255
			}
			got := make([]float32, s.Dim(shape))
			require.Len(t, g.Scattering, len(got))
			s.Extract(got, img, shape)
			largest, worst := 0.0, 0.0
			for i, want := range g.Scattering {
				largest, worst = max(largest, math.Abs(want)), max(worst, math.Abs(want-float64(got[i])))
			}
			t.Logf("largest coefficient %.3g, largest error %.2g", largest, worst)
			require.Less(t, worst, 1e-5)
			require.Less(t, worst, 1e-4*largest)
		})
	}
}
