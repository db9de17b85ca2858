package analysis

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// releaseCost returns the divergence of order a of a release, as the accountant charges
// it; +Inf where that is not bounded.
func releaseCost(e accountant.GNSS, a float64) (float64, error) {
	cost, _, err := accountant.Divergence(accountant.AddRemove, a, e)
	if err != nil {
		return 0, fmt.Errorf("analysis: %w", err)
	}
	return cost, nil
}

// printedGNSS returns the cost of a release as published, Theorem 23 of Papernot et al.
// 2018, kept to reproduce published numbers and for nothing else:
//
//	a e^{2 beta}/sigma^2 + (beta a - log(1-2 a beta)/2)/(a-1),   1 < a < 1/(2 beta)
//
// It is not a bound for a above about 1/(4 beta): it lacks the growth of the first
// part as a nears its limit. At a = 17, beta = 0.48/17, sigma = 7.7 it is 0.434
// where two normal laws that the smooth sensitivity allows have a divergence of 2.09.
func printedGNSS(beta, sigma, a float64) float64 {
	return a*math.Exp(2*beta)/(sigma*sigma) + (beta*a-math.Log1p(-2*a*beta)/2)/(a-1)
}

// discounted returns the beta-smooth sensitivity of a profile of local sensitivities.
func discounted(profile []float64, beta float64) float64 {
	worst := 0.0
	for d, change := range profile {
		worst = math.Max(worst, change*math.Exp(-beta*float64(d)))
	}
	return worst
}
