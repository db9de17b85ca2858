package features

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/testkit"
)

func TestCosines(t *testing.T) {
	require.Equal(t, "raw+cosines:512:0.35", Cosines(512, 0.349))
	e := testkit.Must(Named(Cosines(4096, 1.5), dataset.Shape{}))
	rnd := rand.New(rand.NewPCG(1, 2))
	table := func(columns int) dataset.Set {
		s := randomSet(2, dataset.Shape{Rows: 1, Cols: columns})
		s.Image = dataset.Shape{}
		for i := range s.X.Data {
			s.X.Data[i] = float32(rnd.NormFloat64())
		}
		return s
	}
	for _, columns := range []int{5, 2, 7} { // fewer and more columns than before
		s := table(columns)
		x := testkit.Must(Apply(t.Context(), s, e, 2))
		a, b := x.Data[:x.Cols], x.Data[x.Stride:x.Stride+x.Cols]
		require.Equal(t, s.X.Data[:columns], a[:columns])
		require.InDelta(t, columns, kernel.SquaredNorm(a[columns:]), 1e-4)
		var inner, distance float64
		for i := range a {
			if i < columns {
				distance += math.Pow(float64(a[i]-b[i]), 2)
			} else {
				inner += float64(a[i]) * float64(b[i]) / float64(columns)
			}
		}
		require.InDelta(t, math.Exp(-distance/(2*1.5*1.5)), inner, 0.06, "4 standard deviations of 2048 projections")
	}
	// Files name the generator only by its form, so its numbers never change.
	drawn := (&cosines{pairs: 2}).projections(2)
	require.InDeltaSlice(t, []float64{-1.8839083333524405, 0.22760793546360525, -0.22143788059715477, 0.08341854419566393}, drawn, 1e-14)
}

func TestCosinesAreRefused(t *testing.T) {
	for _, name := range []string{"raw+cosines", "raw+cosines:", "raw+cosines:4", "raw+cosines:3:1", "raw+cosines:0:1", "raw+cosines:4098:1",
		"raw+cosines:4:0", "raw+cosines:4:-1", "raw+cosines:4:NaN", "raw+cosines:4:Inf", "raw+cosines:4:1.0", "raw+cosines:04:1", "raw+cosines:4:1:1", "magic", ""} {
		require.Error(t, testkit.Err(Named(name, dataset.Shape{})), name)
	}
	require.ErrorContains(t, testkit.Err(Named("raw+cosines:4:1", dataset.Shape{Rows: 9, Cols: 9})), "for tables")
}
