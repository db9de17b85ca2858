package features

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/testkit"
)

type kymatioImage struct {
	Name       string
	Rows, Cols int
	Pixels     []int
	Scattering []float64
}

func TestScatteringIsKymatio(t *testing.T) {
	f := testkit.Must(os.Open("testdata/kymatio.json.gz"))
	defer f.Close()
	var images []kymatioImage
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
