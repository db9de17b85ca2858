package student

import (
	"math"

	"github.com/pate-go/pate/internal/dense"
)

// shrink is the share of isotropic variance in the within-class metric. On the development
// split of public MNIST, .3, 1 and 3 differ by less than .001.
const shrink = 1

// withinClass returns the linear map that shrinks directions in which rows of one class differ: (W/mean +
// shrink)^-1/2, where W is the within-class covariance of z and mean is the mean of its eigenvalues. This is
// regularised discriminant analysis (Friedman 1989) with the spread labels as classes. Rows whose answer is
// Unlabelled do not count.
func withinClass(z Matrix, answers []int, classes int) (Matrix, error) {
	centred := dense.New(z.Rows, z.Cols)
	means, counts := make([]float64, classes*z.Cols), make([]float64, classes)
	for i, y := range answers {
		if y == Unlabelled {
			continue
		}
		counts[y]++
		for j, v := range dense.Row(z, i) {
			means[y*z.Cols+j] += float64(v)
		}
	}
	for i, y := range answers {
		if y == Unlabelled {
			continue
		}
		out := dense.Row(centred, i)
		for j, v := range dense.Row(z, i) {
			out[j] = float32(float64(v) - means[y*z.Cols+j]/counts[y])
		}
	}
	within := dense.New(z.Cols, z.Cols)
	dense.AddATB(within, centred, centred)
	values, vectors, err := eigen(within)
	if err != nil {
		return Matrix{}, err
	}
	total := 0.
	for _, v := range values {
		total += max(0, v)
	}
	if total == 0 {
		total = 1
	}
	d := z.Cols
	weights := make([]float64, d)
	for k, v := range values {
		weights[k] = 1 / math.Sqrt(max(0, v)*float64(d)/total+shrink)
	}
	out := dense.New(d, d)
	for i := range d {
		for j := range d {
			var sum float64
			for k, w := range weights {
				sum += w * vectors.Data[i*d+k] * vectors.Data[j*d+k]
			}
			out.Data[i*out.Stride+j] = float32(sum)
		}
	}
	return out, nil
}
