package plan

import (
	"errors"
	"math"
)

// Agreement describes teachers as a [Simulation] does: how often one teacher is right, and how they err
// together. Zero fields are unknown.
type Agreement struct {
	Accuracy    float64 // of one teacher, in (0, 1)
	Correlation float64 // of two teachers being right on the same query, in (0, 1)
	Confusion   float64 // share of wrong votes on one class, in (0, 1]
}

// UsualAccuracy is the accuracy of a teacher that plans assume if none is known.
const UsualAccuracy = 0.88

// leastCalibration is the number of labelled queries below which an agreement is mostly chance.
const leastCalibration = 30

var errFewExamples = errors.New("plan: fewer than 30 labelled queries with two votes each tell little about teachers")

// Calibrate estimates the agreement of teachers from their votes on queries whose label
// is known, the examples. With r_i of n_i votes right on query i, and p the share
// of right votes, the correlation of two teachers of one query is,
//
//	(sum r_i (r_i-1) / sum n_i (n_i-1) - p^2) / (p (1-p)).
//
// With w_ij wrong votes on class j, two wrong votes of a query agree with probability A = sum w_ij (w_ij-1) /
// sum w_i (w_i-1), which under a [Simulation] of m+1 classes is c^2 + (1-c^2)/m for the confusion c. Both are
// rounded to two digits, the accuracy down: what depends on votes shall show no more than a plan needs.
//
// The examples are private if the teachers are, and so is then what this returns.
func Calibrate(examples []Example) (Agreement, error) {
	c, err := newCases(examples)
	if err != nil {
		return Agreement{}, err
	}
	var votes, right, pairs, rightPairs, wrongPairs, agreeing float64
	queries := 0
	for i, counts := range c.counts {
		n := 0.0
		for j, v := range counts {
			x := float64(v)
			n += x
			if j != c.labels[i] {
				agreeing += x * (x - 1)
			}
		}
		r := float64(counts[c.labels[i]])
		votes, right = votes+n, right+r
		pairs, rightPairs = pairs+n*(n-1), rightPairs+r*(r-1)
		wrongPairs += (n - r) * (n - r - 1)
		if n >= 2 {
			queries++
		}
	}
	if queries < leastCalibration {
		return Agreement{}, errFewExamples
	}
	p := right / votes
	a := Agreement{Accuracy: within(math.Floor(100*p)/100, 0.99), Correlation: 0.01, Confusion: DefaultConfusion}
	if p > 0 && p < 1 {
		a.Correlation = within(hundredths((rightPairs/pairs-p*p)/(p*(1-p))), 0.95)
	}
	m := float64(len(c.counts[0]) - 1)
	switch {
	case m == 1:
		a.Confusion = 1
	case wrongPairs > 0:
		a.Confusion = within(hundredths(math.Sqrt(max(0, (agreeing/wrongPairs-1/m)/(1-1/m)))), 1)
	}
	return a, nil
}

func hundredths(x float64) float64 { return math.Round(100*x) / 100 }

// within keeps x within [0.01, most].
func within(x, most float64) float64 { return min(max(x, 0.01), most) }
