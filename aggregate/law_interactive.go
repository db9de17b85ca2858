package aggregate

// Law returns the law of one query of this mechanism when the student predicts
// probabilities, like GNMax.Law. LogDeclined is of the teachers giving no answer;
// whether the student's label is used then follows from the prediction.
func (m *InteractiveGNMax) Law(h Histogram, probabilities []float64) (Law, error) {
	p, err := m.predict(h, probabilities)
	if err != nil {
		return Law{}, err
	}
	return m.teachers.lawOf(h.counts(), p.lead(h.counts()))
}

// ContinuousLaw returns the law with continuous Gaussian noise and a prediction that
// is not rounded to votes, as in the paper.
func (m *InteractiveGNMax) ContinuousLaw(h Histogram, probabilities []float64) (Law, error) {
	if _, err := m.predict(h, probabilities); err != nil {
		return Law{}, err
	}
	counts, teachers := h.counts(), float64(m.cfg.Teachers)
	lead := float64(counts[0]) - teachers*probabilities[0]
	for j, n := range counts {
		lead = max(lead, float64(n)-teachers*probabilities[j])
	}
	return m.teachers.continuousLawOf(counts, lead)
}
