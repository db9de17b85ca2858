package features

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/testkit"
)

type kymatioImage struct {
	Name       string
	Rows, Cols int
	Pixels     []int
	Scattering []float64
}

func kymatioImages(t testing.TB) []kymatioImage {
	f := testkit.Must(os.Open("testdata/kymatio.json.gz"))
	defer f.Close()
	z := testkit.Must(gzip.NewReader(f))
	var images []kymatioImage
	require.NoError(t, json.NewDecoder(z).Decode(&images))
	return images
}

func TestScatteringIsKymatio(t *testing.T) {
	for _, g := range kymatioImages(t) {
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

func BenchmarkScattering(b *testing.B) {
	shape := dataset.Shape{Rows: 28, Cols: 28}
	s := testkit.Must(NewScattering(shape))
	const images = 64
	rnd := rand.New(rand.NewPCG(1, 1))
	x := blas32.General{Rows: images, Cols: 784, Stride: 784, Data: make([]float32, images*784)}
	for i := range x.Data {
		x.Data[i] = rnd.Float32()
	}
	dst := blas32.General{Rows: images, Cols: s.Dim(shape), Stride: s.Dim(shape), Data: make([]float32, images*s.Dim(shape))}
	for b.Loop() {
		s.ExtractBatch(dst, x, shape)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*images), "ms/image")
}
