package analysis

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// gnmaxRDP bounds the divergence of order a > 1 of one GNMax query from the data
// it was asked on, with e^logQ bounding the probability that noise changes the
// answer: the least of [flipBound] and a/sigma^2, which needs no q.
func gnmaxRDP(logQ, sigma, a float64) float64 {
	worst := gnmaxWorst(sigma, a)
	if bound, ok := flipBound(logQ, sigma, a); ok {
		return math.Min(bound, worst)
	}
	return worst
}

// gnmaxWorst bounds the divergence of one GNMax query on any votes.
func gnmaxWorst(sigma, a float64) float64 { return a / sigma / sigma }

// thresholdWorst bounds the divergence of one test of the largest count.
func thresholdWorst(sigma, a float64) float64 { return gnmaxWorst(math.Sqrt2*sigma, a) }

// flipBound returns Theorem 6 of Papernot et al. 2018 at the orders mu1 = mu2 + 1 and
// mu2 = sigma sqrt(log 1/q) of their Proposition 10, for a mechanism that is
// a/sigma^2-RDP and deviates from its likeliest answer with probability q at most:
//
//	log( (1-q) A^{a-1} + q B^{a-1} ) / (a-1)
//	A = (1-q) / (1 - (q e^{mu2/sigma^2})^{1-1/mu2})
//	B = e^{mu1/sigma^2} q^{-1/mu2}
//
// It is false unless the theorem's conditions hold: 1 < a < mu1, mu2 > 1, q e^{mu2/sigma^2} < 1 and q
// small enough for the bound to grow with q. The bound may still be above a/sigma^2.
//
// The theorem is about D_a(M(h)||M(h')) with h the true votes, not about the other direction, which is
// larger in many cases (one in six of the random histograms in our tests' reference values).
func flipBound(logQ, sigma, a float64) (float64, bool) {
	if math.IsInf(logQ, -1) {
		return 0, true
	}
	mu2 := sigma * math.Sqrt(-logQ)
	mu1 := mu2 + 1
	e1, e2 := mu1/sigma/sigma, mu2/sigma/sigma
	if !(mu2 > 1 && a < mu1 && logQ+e2 < 0) {
		return 0, false
	}
	if limit := (mu2-1)*e2 - mu2*(math.Log1p(1/(mu1-1))+math.Log1p(1/(mu2-1))); !(logQ <= limit) {
		return 0, false
	}
	// log of (1-q) A^{a-1}, and q B^{a-1}.
	likely := a*math.Log1p(-math.Exp(logQ)) - (a-1)*math.Log1p(-math.Exp((logQ+e2)*(1-1/mu2)))
	flipped := logQ + (a-1)*(e1-logQ/mu2)
	if likely > 1 || flipped > 1 {
		return mathx.LogAddExp(likely, flipped) / (a - 1), true
	}
	return math.Log1p(math.Expm1(likely)+math.Exp(flipped)) / (a - 1), true
}

// thresholdRDP returns that bound for a comparison of the largest count plus N(0, sigma^2) with a
// threshold, given the logarithms of the probabilities of passing and failing: the count has sensitivity
// 1 where an argmax has sqrt(2), so noise of sigma counts as sqrt(2) sigma.
func thresholdRDP(logPass, logFail, sigma, a float64) float64 {
	return gnmaxRDP(math.Min(logPass, logFail), math.Sqrt2*sigma, a)
}

// logPass and logFail of a largest count against a threshold.
func thresholdLaw(largest, threshold, sigma float64) (logPass, logFail float64) {
	z := (largest - threshold) / sigma
	return mathx.LogNormalCDF(z), mathx.LogNormalCDF(-z)
}
