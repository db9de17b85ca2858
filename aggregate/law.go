package aggregate

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// Law is the exact probability of every answer a mechanism can give on one
// histogram, as natural logarithms, which hold their relative accuracy of 1e-9
// where the probabilities themselves underflow. A law is a function of the
// private votes: it is for tests, planning and teaching, not for release.
type Law struct {
	LogLabels   []float64 // of answering with each class
	LogDeclined float64   // of declining; -Inf for a mechanism that always answers
}

// Ties says who wins when the largest noisy counts are equal. It changes the
// law of integer noise, not its privacy.
type Ties int

const (
	LowestIndex Ties = iota // the class with the lowest index, as the mechanisms do
	UniformTies             // one of them at random
)

// Law is the law of one query of this mechanism: discrete Gaussian noise, ties
// to the lowest index. It needs time and memory in proportion to Sigma plus the
// spread of the counts, and refuses where that is beyond 2^22.
func (m *GNMax) Law(h Histogram) (Law, error) { return m.LawWithTies(h, LowestIndex) }

// LawWithTies is Law under another rule for ties.
func (m *GNMax) LawWithTies(h Histogram, ties Ties) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	labels, err := discreteArgmax(h.counts(), m.counts, ties)
	if err != nil {
		return Law{}, err
	}
	return Law{LogLabels: labels, LogDeclined: math.Inf(-1)}, nil
}

// ContinuousLaw is the law with continuous Gaussian noise, as in the paper.
func (m *GNMax) ContinuousLaw(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	labels, err := continuousArgmax(h.counts(), m.counts.Sigma())
	if err != nil {
		return Law{}, err
	}
	return Law{LogLabels: labels, LogDeclined: math.Inf(-1)}, nil
}

// Law is the law of one query of this mechanism, like GNMax.Law.
func (m *ConfidentGNMax) Law(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	if points := lawReach * m.largest.Sigma(); points > maxLawPoints {
		return Law{}, errLawTooWide(points)
	}
	labels, err := discreteArgmax(h.counts(), m.counts, LowestIndex)
	if err != nil {
		return Law{}, err
	}
	short := m.threshold - slices.Max(h.counts())
	return gate(labels, logAtLeast(m.largest, short), logAtLeast(m.largest, 1-short)), nil
}

// ContinuousLaw is the law with continuous Gaussian noise, as in the paper.
func (m *ConfidentGNMax) ContinuousLaw(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	labels, err := continuousArgmax(h.counts(), m.counts.Sigma())
	if err != nil {
		return Law{}, err
	}
	z := (float64(slices.Max(h.counts())) - m.cfg.Threshold) / m.largest.Sigma()
	return gate(labels, mathx.LogNormalCDF(z), mathx.LogNormalCDF(-z)), nil
}

// gate is the law of an argmax behind an independent test.
func gate(labels []float64, logPass, logFail float64) Law {
	for i := range labels {
		labels[i] += logPass
	}
	return Law{LogLabels: labels, LogDeclined: logFail}
}

// maxLawPoints bounds the points a law is summed over.
const maxLawPoints = 1 << 22

func errLawTooWide(points float64) error {
	return fmt.Errorf("aggregate: the law of these counts and sigma needs %.3g points, the limit is %d", points, maxLawPoints)
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
