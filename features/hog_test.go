package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/testkit"
)

// plainHOG is HOG written from its definition in float64: every cell looks at every pixel and every
// direction, and weights it by triangles. Slow on purpose.
func plainHOG(h HOG, img []float32, shape dataset.Shape) []float64 {
	at := func(y, x int) float64 {
		y, x = min(max(y, 0), shape.Rows-1), min(max(x, 0), shape.Cols-1)
		return math.Sqrt(float64(img[y*shape.Cols+x]))
	}
	triangle := func(distance float64) float64 { return max(0, 1-math.Abs(distance)) }
	down, across := shape.Rows/h.Cell, shape.Cols/h.Cell
	cell := func(cy, cx int) []float64 {
		hist := make([]float64, h.Bins)
		for y := range down * h.Cell {
			for x := range across * h.Cell {
				gx, gy := at(y, x+1)-at(y, x-1), at(y+1, x)-at(y-1, x)
				near := triangle((float64(y)+0.5)/float64(h.Cell)-(float64(cy)+0.5)) * triangle((float64(x)+0.5)/float64(h.Cell)-(float64(cx)+0.5))
				for b := range hist {
					turns := math.Atan2(gy, gx)/(2*math.Pi) - float64(b)/float64(h.Bins)
					turns -= math.Round(turns) // the short way round
					hist[b] += near * math.Hypot(gx, gy) * triangle(turns*float64(h.Bins))
				}
			}
		}
		return hist
	}
	var out []float64
	for by := 0; by+h.Block <= down; by++ {
		for bx := 0; bx+h.Block <= across; bx++ {
			var block []float64
			for i := range h.Block {
				for j := range h.Block {
					block = append(block, cell(by+i, bx+j)...)
				}
			}
			squares := 0.0
			for _, v := range block {
				squares += v * v
			}
			clipped := 0.0
			for i, v := range block {
				block[i] = min(v/math.Sqrt(squares+normFloor*normFloor), h.Clip)
				clipped += block[i] * block[i]
			}
			for _, v := range block {
				out = append(out, v/math.Sqrt(clipped+1e-12))
			}
		}
	}
	return out
}

func TestHOGEqualsItsDefinition(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, h := range []HOG{StandardHOG(), {Bins: 2, Cell: 4, Block: 2, Clip: 0.2}, {Bins: 9, Cell: 3, Block: 3, Clip: 0.5}, {Bins: 8, Cell: 1, Block: 1, Clip: 1}, {Bins: 5, Cell: 5, Block: 1, Clip: 0.2}} {
		t.Run(h.Name(), func(t *testing.T) {
			for _, shape := range []dataset.Shape{{Rows: 12, Cols: 12}, {Rows: 11, Cols: 18}} {
				img := randomImage(rnd, shape)
				got := make([]float32, h.Dim(shape))
				h.Extract(got, img, shape)
				want := plainHOG(h, img, shape)
				if assert.Len(t, got, len(want)) {
					for i := range want {
						assert.InDelta(t, want[i], float64(got[i]), 2e-5, "feature %d", i)
					}
				}
			}
		})
	}
}

func TestHOGShape(t *testing.T) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	h := StandardHOG()
	assert.Equal(t, 2304, h.Dim(shape))
	assert.Equal(t, 0, h.Dim(dataset.Shape{Rows: 28, Cols: 7}))
	for _, bad := range []HOG{{}, {Bins: 1, Cell: 4, Block: 2, Clip: 0.2}, {Bins: 16, Block: 2, Clip: 0.2}, {Bins: 16, Cell: 4, Clip: 0.2},
		{Bins: 16, Cell: 4, Block: 2}, {Bins: 16, Cell: 4, Block: 2, Clip: math.NaN()}, {Bins: 16, Cell: -4, Block: 2, Clip: 0.2}, {Bins: 16, Cell: 4, Block: -2, Clip: 0.2}} {
		assert.Equal(t, 0, bad.Dim(shape), "%+v", bad)
	}
	out := make([]float32, 2304)
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 10 {
		h.Extract(out, randomImage(rnd, shape), shape)
		assert.LessOrEqual(t, math.Sqrt(kernel.SquaredNorm(out)), 6.0001)
	}
}

func BenchmarkExtract(b *testing.B) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	set := randomSet(64, shape)
	for _, e := range []batcher{Standardize{Of: Deskew{Of: StandardHOG()}}, testkit.Must(NewScattering(shape))} {
		b.Run(e.Name(), func(b *testing.B) {
			out := dense.New(set.X.Rows, e.Dim(shape))
			for b.Loop() {
				e.ExtractBatch(out, set.X, shape)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*set.X.Rows), "us/image")
		})
	}
}
