package bayes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/internal/mathx"
)

// Estimator is a rule from a sample of distances to an upper limit of the mean of e^(T K).
type Estimator int

const (
	// Bernstein is the empirical Bernstein bound of Maurer, Pontil 2009, Theorem 4, for bounded distances.
	// It is below the mean with probability at most Failure, for any law of the distances. It is the
	// default.
	//
	//	mean + sqrt(2 V ln(2/f)/m) + 7 R ln(2/f)/(3 (m-1))
	//
	// V is the sample variance and R the range of e^(T K), which Bound gives.
	Bernstein Estimator = iota
	// StudentT is the published estimator, with the factor T that the paper prints in the cost and drops in
	// the estimator:
	//
	//	mean + t S/sqrt(m-1)
	//
	// S is the population standard deviation, t the upper Failure quantile of Student's law with m-1
	// degrees of freedom. Its promise needs e^(T K) to be normal, which it never is. With 0.1 % of records
	// at distance 1 and all others at 0.1, 32 distances, T = 1000 and lambda = 8, it is below the mean with
	// probability 0.968, where it promises 1e-15.
	StudentT
)

// String returns the name in JSON.
func (e Estimator) String() string {
	switch e {
	case Bernstein:
		return "bernstein"
	case StudentT:
		return "student-t"
	}
	return fmt.Sprintf("Estimator(%d)", int(e))
}

// MarshalText implements encoding.TextMarshaler.
func (e Estimator) MarshalText() ([]byte, error) {
	if e != Bernstein && e != StudentT {
		return nil, fmt.Errorf("bayes: %v is not an estimator", e)
	}
	return []byte(e.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Estimator) UnmarshalText(text []byte) error {
	for _, known := range []Estimator{Bernstein, StudentT} {
		if string(text) == known.String() {
			*e = known
			return nil
		}
	}
	return fmt.Errorf("bayes: estimator %q is neither %v nor %v", text, Bernstein, StudentT)
}

// price returns the cost of a failure probability for m distances: the quantile of Student's law, or
// log(2/f).
func (e Estimator) price(failure float64, m int) float64 {
	if e == StudentT {
		return studentQuantile(failure, m-1)
	}
	return math.Log(2 / failure)
}

// surcharge returns the difference between the limit and the mean, in units of the reference's e^(T K).
func (e Estimator) surcharge(s shortfalls, price float64) float64 {
	m := float64(s.n)
	if e == StudentT {
		return price * math.Sqrt(s.deviations()/m/(m-1))
	}
	return math.Sqrt(2*price*s.deviations()/m/(m-1)) + 7*price/(3*(m-1))
}

// studentQuantile returns the t that a Student variable of these degrees of freedom exceeds with
// probability tail, in (0, 1/2). It uses the upper tail alone, since 1 - tail would be 1.
func studentQuantile(tail float64, freedom int) float64 {
	nu := float64(freedom)
	exceeded := func(t float64) bool { // P[T > t] = I_x(nu/2, 1/2)/2 with x = nu/(nu + t^2)
		return mathext.RegIncBeta(nu/2, 0.5, nu/(nu+t*t))/2 <= tail
	}
	high := 1.0
	for !exceeded(high) && high < 1e150 {
		high *= 2
	}
	return mathx.Bisect(exceeded, 0, high)
}

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
