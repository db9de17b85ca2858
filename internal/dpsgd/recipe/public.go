package recipe

import (
	"math"
	"slices"

	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
)

// Seen returns s with Directions and Distance, computed from at most 1000 public rows.
//
// Directions is the effective number of directions in which rows vary. With the eigenvalues v of the
// covariance matrix, Directions is (sum v)^2 / (sum v^2). Distance is the median distance of two rows, or 0
// for fewer than 100 rows.
func (s Shape) Seen(public dense.Matrix) Shape {
	const most, least = 1000, 100
	picked := make([]int, min(most, public.Rows))
	for i := range picked {
		picked[i] = i * public.Rows / len(picked)
	}
	x := dense.Pick(public, picked)
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			mean[j] += float64(v) / float64(x.Rows)
		}
	}
	for i := range x.Rows {
		for j := range mean {
			x.Data[i*x.Stride+j] -= float32(mean[j])
		}
	}
	gram := dense.New(x.Rows, x.Rows)
	dense.MulBT(gram, x, x)
	var trace, squares float64
	var distances []float64
	for i := range gram.Rows {
		row := dense.Row(gram, i)
		trace += float64(row[i])
		for j, v := range row {
			squares += float64(v) * float64(v)
			if j < i {
				distances = append(distances, math.Sqrt(max(0, float64(row[i]+dense.Row(gram, j)[j]-2*v))))
			}
		}
	}
	s.Directions = trace * trace / max(squares, math.SmallestNonzeroFloat64)
	if x.Rows >= least {
		slices.Sort(distances)
		s.Distance = distances[len(distances)/2]
	}
	return s
}

func (s Shape) cosines() string {
	// A linear model has one direction per class. If rows vary in no more directions than there are classes,
	// a linear model of the columns separates classes badly, and cosines improved the accuracy on the tables
	// FIT of experiments/peers/tables.py. On other tables cosines reduced it. Widths of 1/4 to 1/2 of the
	// distance were equally good.

	const width, most, least, memory = 0.35, 512, 64, 1 << 28 // memory for all rows, in numbers
	count := min(most, memory/max(1, s.Records)/2*2)
	if !(s.Directions > 0 && s.Directions <= float64(s.Classes) && s.Distance > 0) || count < least {
		return features.NamePixels
	}
	return features.Cosines(count, width*s.Distance)
}
