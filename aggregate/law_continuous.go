package aggregate

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// How far from the counts, in sigmas, the integrand or summand of a law can
// still matter: it is log-concave with curvature at least 1/sigma^2, and its
// maximum lies between the lowest count and 6 sigmas above the largest (for up
// to 2^22 classes). Ten sigmas away from the maximum it has lost a factor e^50.
const lawReach = 16

// continuousArgmax returns log P[i] for counts plus N(0, sigma^2), with
//
//	P[i] = integral of phi((x-n_i)/sigma)/sigma prod_{j != i} Phi((x-n_j)/sigma) dx
//
// by the trapezoid rule in log space. The integrand is entire, and log-concave
// with a width of sigma/sqrt(K) at least; for steps of a fifth of the width the
// error of the rule is of order exp(-2 pi^2 5^2).
func continuousArgmax(counts []int64, sigma float64) ([]float64, error) {
	k := len(counts)
	low := float64(slices.Min(counts))
	spread := (float64(slices.Max(counts)) - low) / sigma
	step := 1 / max(20, 5*math.Sqrt(float64(k)))
	points := math.Ceil((spread+2*lawReach)/step) + 1
	if points > maxLawPoints {
		return nil, errLawTooWide(points)
	}
	sums := newLogSums(k)
	cdf := make([]float64, k)
	for p := range int(points) {
		x := float64(p)*step - lawReach // in sigmas above the lowest count
		total := 0.0
		for i, n := range counts {
			cdf[i] = mathx.LogNormalCDF(x - (float64(n)-low)/sigma)
			total += cdf[i]
		}
		for i, n := range counts {
			sums[i].add(total - cdf[i] + mathx.LogNormalPDF(x-(float64(n)-low)/sigma))
		}
	}
	logs := make([]float64, k)
	for i := range sums {
		logs[i] = sums[i].log() + math.Log(step)
	}
	return logs, nil
}
