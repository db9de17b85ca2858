package experiments

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Difference compares two private methods at one target.
type Difference struct {
	TargetEpsilon float64 `json:"target_epsilon"`
	A             string  `json:"a"`
	B             string  `json:"b"`
	// Mean is the accuracy of A minus the accuracy of B, and Low and High a 95 % interval.
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Better is the method that is better beyond chance; empty if there is none.
	Better string `json:"better,omitempty"`
}

// differences compares the private methods at each target, pair by pair. There are two sources of variance:
// the runs, compared pair by pair as they share a seed (Student's t, for two runs or more), and the test
// rows, as if the two methods had been scored on different rows, which is wider than on shared ones.
func differences(rows []Row) []Difference {
	var out []Difference
	for i, a := range rows {
		for _, b := range rows[i+1:] {
			if a.Epsilon != nil && b.Epsilon != nil && a.TargetEpsilon == b.TargetEpsilon {
				out = append(out, difference(a, b))
			}
		}
	}
	return out
}

func difference(a, b Row) Difference {
	d := Difference{TargetEpsilon: a.TargetEpsilon, A: a.Method, B: b.Method, Mean: a.Accuracy - b.Accuracy}
	normal := distuv.UnitNormal.Quantile(0.975)
	half := normal * math.Hypot(a.StandardError, b.StandardError)
	if n := len(a.Runs); n > 1 && n == len(b.Runs) {
		sum := 0.0
		for i := range a.Runs {
			off := a.Runs[i] - b.Runs[i] - d.Mean
			sum += off * off
		}
		t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
		half = math.Hypot(half, t*math.Sqrt(sum/float64(n-1)/float64(n)))
	}
	d.Low, d.High = d.Mean-half, d.Mean+half
	switch {
	case d.Low > 0:
		d.Better = d.A
	case d.High < 0:
		d.Better = d.B
	}
	return d
}
