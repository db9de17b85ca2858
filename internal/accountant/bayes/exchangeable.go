package bayes

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Tests compare the distances of used and unused rows, which a Figure assumes to have one law. Small
// p-values speak against it; large ones do not prove it. They are as private as the distances.
type Tests struct {
	T           float64 // Welch's t of the means
	TValue      float64 // its p-value, two-sided
	Levene      float64 // Levene's statistic of the spreads, about medians (Brown, Forsythe 1974)
	LeveneValue float64 // its p-value
}

// CompareLaws returns the tests for two samples of distances, each of at least two.
func CompareLaws(used, unused []float64) (Tests, error) {
	if len(used) < 2 || len(unused) < 2 {
		return Tests{}, errors.New("bayes: a comparison needs two distances in each sample")
	}
	for _, d := range slices.Concat(used, unused) {
		if !finite(d) {
			return Tests{}, errors.New("bayes: distances must be finite and at least 0")
		}
	}
	var t Tests
	t.T, t.TValue = welch(used, unused)
	// With two groups Levene's statistic is the square of Student's t of the deviations, with one variance
	// for both.
	a, b := deviations(used), deviations(unused)
	n, m := float64(len(a)), float64(len(b))
	meanA, squaresA := moments(a)
	meanB, squaresB := moments(b)
	pooled := (squaresA + squaresB) / (n + m - 2) * (1/n + 1/m)
	t.Levene, t.LeveneValue = 0, 1
	if d := meanA - meanB; d != 0 {
		t.Levene = d * d / pooled
		t.LeveneValue = twoSided(math.Sqrt(t.Levene), n+m-2)
	}
	return t, nil
}

// welch returns Welch's t and its two-sided p-value.
func welch(xs, ys []float64) (t, p float64) {
	n, m := float64(len(xs)), float64(len(ys))
	meanX, squaresX := moments(xs)
	meanY, squaresY := moments(ys)
	if meanX == meanY {
		return 0, 1
	}
	a, b := squaresX/(n-1)/n, squaresY/(m-1)/m
	t = (meanX - meanY) / math.Sqrt(a+b)
	return t, twoSided(t, (a+b)*(a+b)/(a*a/(n-1)+b*b/(m-1)))
}

// moments returns the mean and the sum of squared deviations.
func moments(xs []float64) (mean, squares float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		squares += (x - mean) * (x - mean)
	}
	return mean, squares
}

// deviations returns the distances from the median.
func deviations(xs []float64) []float64 {
	sorted := slices.Sorted(slices.Values(xs))
	median := (sorted[(len(xs)-1)/2] + sorted[len(xs)/2]) / 2
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Abs(x - median)
	}
	return out
}

// twoSided returns the probability that a Student variable is further from 0 than t.
func twoSided(t, freedom float64) float64 {
	if math.IsInf(t, 0) || math.IsNaN(freedom) {
		return 0
	}
	return mathext.RegIncBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}
