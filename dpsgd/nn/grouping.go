package nn

import (
	"math"

	"github.com/pate-go/pate/dpsgd"
)

// grouping is which tensors are clipped together, with their scales.
type grouping[T Float] struct {
	ends   []int // of every group, consecutive tensors: the first after it
	scales [][]T // of every tensor, one value a row; a group shares a slice
}

func newGrouping[T Float](ends []int, rows int) grouping[T] {
	g := grouping[T]{ends: ends}
	for _, end := range ends {
		scales := make([]T, rows)
		for len(g.scales) < end {
			g.scales = append(g.scales, scales)
		}
	}
	return g
}

// scale sets the scales of n rows from the squared norms of every tensor's gradients. It
// returns the number of rows clipped. A row is clipped if one of its groups is.
func (g grouping[T]) scale(squares [][]float64, n int, clip dpsgd.Clip) (clipped int64) {
	for i := range n {
		row, tensor := false, 0
		for k, end := range g.ends {
			total, scales := 0.0, g.scales[tensor]
			for ; tensor < end; tensor++ {
				total += squares[tensor][i]
			}
			scale, above := clip.Scale(k, math.Sqrt(total))
			scales[i] = towardsZero[T](scale)
			row = row || above
		}
		if row {
			clipped++
		}
	}
	return clipped
}

// towardsZero rounds v to the next value of T that is not larger in magnitude.
func towardsZero[T Float](v float64) T {
	f := T(v)
	if math.Abs(float64(f)) > math.Abs(v) {
		f = T(math.Nextafter32(float32(f), 0))
	}
	return f
}
