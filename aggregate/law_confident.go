package aggregate

import (
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// Law returns the law of one query of this mechanism, like GNMax.Law.
func (m *ConfidentGNMax) Law(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	return m.lawOf(h.counts(), slices.Max(h.counts()))
}

// ContinuousLaw returns the law with continuous Gaussian noise, as in the paper.
func (m *ConfidentGNMax) ContinuousLaw(h Histogram) (Law, error) {
	if err := h.check(); err != nil {
		return Law{}, err
	}
	return m.continuousLawOf(h.counts(), float64(slices.Max(h.counts())))
}

// lawOf returns the law when the threshold is held against statistic.
func (m *ConfidentGNMax) lawOf(counts []int64, statistic int64) (Law, error) {
	if points := gaussianReach * m.largest.Sigma(); points > maxLawPoints {
		return Law{}, errLawTooWide(points)
	}
	labels, err := discreteArgmax(counts, gaussianNoise{m.counts}, lowestIndex)
	if err != nil {
		return Law{}, err
	}
	short := m.threshold - statistic
	return gate(labels, logAtLeast(m.largest, short), logAtLeast(m.largest, 1-short)), nil
}

func (m *ConfidentGNMax) continuousLawOf(counts []int64, statistic float64) (Law, error) {
	labels, err := gaussianArgmax(counts, m.counts.Sigma())
	if err != nil {
		return Law{}, err
	}
	pass, fail := m.continuousTest(statistic)
	return gate(labels, pass, fail), nil
}

// continuousTest returns log P[statistic + N(0, Sigma1^2) >= Threshold], and of less.
func (m *ConfidentGNMax) continuousTest(statistic float64) (pass, fail float64) {
	z := (statistic - m.cfg.Threshold) / m.largest.Sigma()
	return mathx.LogNormalCDF(z), mathx.LogNormalCDF(-z)
}

// gate returns the law of an argmax behind an independent test.
func gate(labels []float64, logPass, logFail float64) Law {
	for i := range labels {
		labels[i] += logPass
	}
	return Law{LogLabels: labels, LogDeclined: logFail}
}
