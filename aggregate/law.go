package aggregate

import (
	"fmt"
	"math"
)

// Law is the exact probability of every answer a mechanism can give on one histogram, as natural
// logarithms, which hold their relative accuracy of 1e-9 where the probabilities themselves underflow. A
// law is a function of the private votes: it is for tests, planning and teaching, not for release.
type Law struct {
	LogLabels   []float64 // of answering with each class
	LogDeclined float64   // of declining, or leaving it to the prediction; -Inf for a mechanism that always answers
}

// maxLawPoints bounds the points a law is summed over.
const maxLawPoints = 1 << 22

func errLawTooWide(points float64) error {
	return fmt.Errorf("aggregate: the law of these counts with this noise needs %.3g points, the limit is %d", points, maxLawPoints)
}

// logSum accumulates the logarithm of a sum from logarithms.
type logSum struct {
	top float64 // largest term so far
	sum float64 // of exp(term - top)
}

func newLogSums(n int) []logSum {
	sums := make([]logSum, n)
	for i := range sums {
		sums[i].top = math.Inf(-1)
	}
	return sums
}

func (s *logSum) add(term float64) {
	switch {
	case term <= s.top-750: // below the last bit, also -Inf
	case term <= s.top:
		s.sum += math.Exp(term - s.top)
	default:
		s.sum = s.sum*math.Exp(s.top-term) + 1
		s.top = term
	}
}

func (s *logSum) log() float64 { return s.top + math.Log(s.sum) }

// logsOf returns the logarithms of sums.
func logsOf(sums []logSum) []float64 {
	logs := make([]float64, len(sums))
	for i := range sums {
		logs[i] = sums[i].log()
	}
	return logs
}

// always returns the law of a mechanism that always answers, by the law of its labels on valid counts.
func always(h Histogram, labels func(counts []int64) ([]float64, error)) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	logs, err := labels(h.counts())
	if err != nil {
		return Law{}, err
	}
	return Law{LogLabels: logs, LogDeclined: math.Inf(-1)}, nil
}
