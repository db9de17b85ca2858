package bayes

import (
	"fmt"
	"math"

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
