package bayes

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// LogMoment returns lambda D_{lambda+1} of the step's law with one more record over the law without it, for
// a record of squared distance r over the squared standard deviation of the noise:
//
//	K = log E_{k ~ Bin(lambda+1, q)} exp((k^2 - k) r/2).
//
// This is the integer moment of Abadi et al. 2016 and Mironov, Talwar, Zhang 2019. The mixture over its
// base dominates the other direction (Theorem 5 there), so K alone is the cost. q is in (0, 1], r at least
// 0, lambda at least 1. The sum is taken over expm1, whose terms are all positive, and in logs, so K has a
// relative error of some 1e-14 from 1e-300 to 1e300.
func LogMoment(lambda int, q, r float64) float64 {
	return logOnePlus(logExcess(binomials(lambda+1, q), r))
}

// binomials returns log P[Bin(n, q) = k] for k = 0 to n.
func binomials(n int, q float64) []float64 {
	logs, logp, logq := make([]float64, n+1), math.Log(q), math.Log1p(-q)
	for k := range logs {
		logs[k] = mathx.LogBinomial(int64(k), int64(n), logp, logq)
	}
	return logs
}

// exponent returns (k^2 - k) r/2.
func exponent(k int, r float64) float64 { return float64(k) * float64(k-1) / 2 * r }

// logExcess returns log(e^K - 1).
func logExcess(binomials []float64, r float64) float64 {
	logs := make([]float64, 0, len(binomials))
	for k := 2; k < len(binomials); k++ {
		logs = append(logs, binomials[k]+logExpm1(exponent(k, r)))
	}
	return mathx.LogSumExp(logs)
}

// logExpm1 returns log(e^x - 1), -Inf at 0.
func logExpm1(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	return mathx.LogExpm1(x)
}

// logOnePlus returns log(1 + e^x).
func logOnePlus(x float64) float64 {
	if x > 36 {
		return x + math.Exp(-x)
	}
	return math.Log1p(math.Exp(x))
}

// PrintedReverse returns the cost of the other direction as the paper prints it, for comparison only. It is
// a valid bound that destroys the amplification by sampling: it is of first order in q where the exact
// value is of second.
//
//	log E_{k ~ Bin(lambda, q)} exp((k^2 + k) r/2)
func PrintedReverse(lambda int, q, r float64) float64 {
	logs := binomials(lambda, q)
	for k := range logs {
		logs[k] += logExpm1(exponent(k+1, r))
	}
	return logOnePlus(mathx.LogSumExp(logs))
}
