package aggregate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

func dialogue(t *testing.T, cfg InteractiveGNMaxConfig) *InteractiveSession {
	m, err := NewInteractiveGNMax(cfg)
	require.NoError(t, err)
	s, err := m.Start(reserve(t, m.Event()), rng.SeedKey(1))
	require.NoError(t, err)
	return s
}

func TestInteractiveBranches(t *testing.T) {
	cfg := InteractiveGNMaxConfig{
		Threshold: 50, Sigma1: 1, Sigma2: 1, Teachers: 100, Confidence: 0.8, Queries: 100, Answers: 2,
	}
	s := dialogue(t, cfg)
	require.False(t, s.Releasable())
	agreed, split := histogram(t, 2, 95, 3), histogram(t, 34, 33, 33)
	teachers, student, none := Answer{Label: 1, Answered: true}, Answer{Label: 1, Answered: true, Reused: true}, Answer{Label: NoLabel}
	for q, c := range []struct {
		name       string
		votes      Histogram
		prediction []float64
		want       Answer
	}{
		{"teachers contradict", agreed, []float64{0.9, 0.05, 0.05}, teachers},
		{"teachers confirm", agreed, []float64{0.05, 0.9, 0.05}, student},
		{"teachers confirm, student unsure", agreed, []float64{0.2, 0.8, 0}, none},
		{"nobody is sure", split, []float64{0.34, 0.33, 0.33}, none},
		{"teachers do not know", split, []float64{0, 1, 0}, student},
	} {
		for range 2 {
			a, err := s.Ask(uint64(q), c.votes, c.prediction)
			require.NoError(t, err)
			require.Equal(t, c.want, a, c.name)
		}
	}
	a, err := s.Ask(0, agreed, []float64{0.05, 0.9, 0.05})
	require.NoError(t, err)
	require.Equal(t, teachers, a, "a number asked before has its answer, whatever is predicted now")
	a, err = s.Ask(10, agreed, []float64{0.9, 0.05, 0.05})
	require.NoError(t, err, "labels of the student are not answers of the teachers")
	require.Equal(t, teachers, a)
	_, err = s.Ask(11, agreed, []float64{0.05, 0.9, 0.05})
	require.ErrorIs(t, err, ErrExhausted)
}

// The noise of two predictions for one query is independent: together, two
// comparisons under the same noise would tell the votes.
func TestInteractiveNoiseDependsOnThePrediction(t *testing.T) {
	cfg := InteractiveGNMaxConfig{
		Threshold: 0, Sigma1: 20, Sigma2: 20, Teachers: 100, Confidence: 1, Queries: 500, Answers: 500,
	}
	labels := func(h Histogram, p []float64) []Answer {
		s, out := dialogue(t, cfg), make([]Answer, 500)
		for q := range out {
			a, err := s.Ask(uint64(q), h, p)
			require.NoError(t, err)
			out[q] = a
		}
		return out
	}
	h := histogram(t, 50, 50)
	same := func(a, b []Answer) (n int) {
		for i := range a {
			if a[i] == b[i] {
				n++
			}
		}
		return n
	}
	want := labels(h, []float64{0.5, 0.5})
	require.Equal(t, 500, same(want, labels(h, []float64{0.5, 0.5})))
	require.Equal(t, 500, same(want, labels(h, []float64{0.5001, 0.4999})), "equal when rounded to votes")
	require.Less(t, same(want, labels(h, []float64{0.51, 0.49})), 350, "independent answers agree in 3 of 8")
}

func TestInteractiveRefusals(t *testing.T) {
	good := InteractiveGNMaxConfig{
		Threshold: 1, Sigma1: 1, Sigma2: 1, Teachers: 10, Confidence: 0.5, Queries: 2, Answers: 2,
	}
	for name, breakIt := range map[string]func(*InteractiveGNMaxConfig){
		"Threshold":  func(c *InteractiveGNMaxConfig) { c.Threshold = math.NaN() },
		"Sigma1":     func(c *InteractiveGNMaxConfig) { c.Sigma1 = 0 },
		"Sigma2":     func(c *InteractiveGNMaxConfig) { c.Sigma2 = math.Inf(1) },
		"Teachers":   func(c *InteractiveGNMaxConfig) { c.Teachers = 0 },
		"Confidence": func(c *InteractiveGNMaxConfig) { c.Confidence = math.NaN() },
		"Queries":    func(c *InteractiveGNMaxConfig) { c.Queries = 0 },
		"Answers":    func(c *InteractiveGNMaxConfig) { c.Answers = 3 },
	} {
		cfg := good
		breakIt(&cfg)
		_, err := NewInteractiveGNMax(cfg)
		require.ErrorContains(t, err, name)
	}
	m, err := NewInteractiveGNMax(good)
	require.NoError(t, err)
	require.Equal(t, accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.Threshold{Sigma: 1, Discrete: true}, Count: 2},
		accountant.Repeated{Event: accountant.GNMax{Sigma: 1, Discrete: true}, Count: 2},
	}}, m.Event())
	_, err = m.Start(nil, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved)
	s := dialogue(t, good)
	h := histogram(t, 5, 5)
	for name, p := range map[string][]float64{
		"1 probabilities": {1}, "of class 1": {0, math.NaN()}, "of class 0": {-0.1, 1.1}, "add up": {0.5, 0.4},
	} {
		_, err = s.Ask(1, h, p)
		require.ErrorContains(t, err, name)
		_, err = m.Law(h, p)
		require.ErrorContains(t, err, name)
		_, err = m.ContinuousLaw(h, p)
		require.ErrorContains(t, err, name)
	}
	_, err = s.Ask(1, Histogram{}, nil)
	require.ErrorContains(t, err, "zero Histogram")
}

// With a prediction of nothing in particular the statistic is the largest count
// less the same for all, and the law that of Confident-GNMax.
func TestInteractiveLawIsConfidentLawMoved(t *testing.T) {
	h, p := histogram(t, 12, 30, 18), []float64{0.3, 0.3, 0.4}
	got, err := interactive(t, 60, 5, 4, 3).Law(h, p) // predicted 18, 18, 24: ahead by 12
	require.NoError(t, err)
	want, err := confident(t, 5+18, 4, 3).Law(h)
	require.NoError(t, err)
	require.Equal(t, want, got)
	got, err = interactive(t, 60, 5, 4, 3).ContinuousLaw(h, p)
	require.NoError(t, err)
	want, err = confident(t, 5+18, 4, 3).ContinuousLaw(h)
	require.NoError(t, err)
	for i := range want.LogLabels {
		require.InDelta(t, want.LogLabels[i], got.LogLabels[i], 1e-12)
	}
}
