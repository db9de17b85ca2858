package recipe

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

func TestDirections(t *testing.T) {
	directions := func(x dense.Matrix) float64 { return Shape{}.Seen(x).Directions }
	rnd := rand.New(rand.NewPCG(1, 2))
	rows := func(n, columns, vary int, shift float32) dense.Matrix {
		x := dense.New(n, columns)
		for i := range n {
			for j := range columns {
				x.Data[i*x.Stride+j] = shift
				if j < vary {
					x.Data[i*x.Stride+j] += float32(rnd.NormFloat64())
				}
			}
		}
		return x
	}
	require.InDelta(t, 1, directions(rows(300, 4, 1, 7)), 1e-3, "the mean does not count")
	require.InDelta(t, 4, directions(rows(3000, 6, 4, 0)), 0.1, "all of the same variance")
	require.Zero(t, directions(rows(10, 2, 0, 3)), "equal rows")
	half := rows(300, 2, 2, 0)
	for i := range half.Rows {
		half.Data[i*half.Stride+1] /= 2
	}
	require.InDelta(t, 25./17, directions(half), 0.1, "variances 1 and 1/4: (5/4)² / (17/16)")
	sorted := rows(3000, 2, 1, 0)
	for i := 2000; i < sorted.Rows; i++ {
		sorted.Data[i*sorted.Stride+1] = 1.7320508 * float32(i%2*2-1)
	}
	require.InDelta(t, 2, directions(sorted), 0.1, "the last rows are read, too")
}

func TestCosinesFollowPublicRows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	x := dense.New(400, 3)
	for i := range x.Data {
		x.Data[i] = float32(rnd.NormFloat64())
	}
	shown := Shape{Kind: dataset.Columns, Records: 5000, Columns: 3, Classes: 4}.Seen(x)
	require.InDelta(t, 2.2, shown.Distance, 0.15, "the median of a chi variable of three degrees, times the root of 2")
	r := Default(shown, "", "", 1)
	require.Equal(t, features.Cosines(512, 0.35*shown.Distance), r.Features)
	require.Equal(t, 515, testkit.Must(r.Columns(shown)))
	require.NoError(t, r.Validate(shown))
	raw := Default(shown, features.NamePixels, "", 1)
	require.InDelta(t, raw.Train.LearningRate/math.Sqrt2, r.Train.LearningRate, 1e-12)
	require.Equal(t, raw.Train.Steps, r.Train.Steps)
	for name, change := range map[string]func(s *Shape) string{
		"more directions": func(s *Shape) string { s.Classes = 2; return "" },
		"no public rows":  func(s *Shape) string { s.Directions, s.Distance = 0, 0; return "" },
		"few public rows": func(s *Shape) string {
			*s = Shape{Kind: s.Kind, Records: 9, Columns: 3, Classes: 4}.Seen(dense.Rows(x, 0, 99))
			return ""
		},
		"equal public rows": func(s *Shape) string { s.Distance = 0; return "" },
		"rows without end":  func(s *Shape) string { s.Records = 1 << 23; return "" },
		"a perceptron":      func(*Shape) string { return "mlp:4" },
	} {
		s := shown
		model := change(&s)
		require.Equal(t, features.NamePixels, Default(s, "", model, 1).Features, name)
	}
	large := shown
	large.Records = 1 << 21
	require.Equal(t, features.Cosines(128, 0.35*shown.Distance), Default(large, "", "", 1).Features)
}
