package aggregate

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func TestInteractiveBranches(t *testing.T) {
	m := interactive(t, 100, 50, 1, 1, nil, 100, 2)
	var predicted []float64
	m.cfg.Predict = func(uint64) ([]float64, error) { return predicted, nil }
	s := begin(t, m, rng.SeedKey(1))
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
		{"teachers disagree", split, []float64{0, 1, 0}, student},
	} {
		for range 2 {
			predicted = c.prediction
			require.Equal(t, c.want, testkit.Must(s.Ask(uint64(q), c.votes)), c.name)
		}
	}
	predicted = []float64{0.05, 0.9, 0.05}
	a := testkit.Must(s.Ask(0, agreed))
	require.Equal(t, teachers, a, "a number asked before has its answer, whatever is predicted now")
	predicted = []float64{0.9, 0.05, 0.05}
	a = testkit.Must(s.Ask(10, agreed))
	require.Equal(t, teachers, a)
	require.ErrorIs(t, testkit.Err(s.Ask(11, agreed)), ErrExhausted)
}

// The noise of two predictions for one query is independent: together, two comparisons under the same noise
// would give away the votes.
func TestInteractiveNoiseDependsOnThePrediction(t *testing.T) {
	h := histogram(t, 50, 50)
	labels := func(p float64) (out []Answer) {
		m := interactive(t, 100, 0, 20, 20, []float64{p, 1 - p}, 500, 500)
		m.cfg.Confidence = 1
		s := begin(t, m, rng.SeedKey(1))
		for q := range uint64(500) {
			out = append(out, testkit.Must(s.Ask(q, h)))
		}
		return out
	}
	want, same := labels(0.5), 0
	require.Equal(t, want, labels(0.5))
	require.Equal(t, want, labels(0.5001), "equal when rounded to votes")
	for i, a := range labels(0.51) {
		if a == want[i] {
			same++
		}
	}
	require.Less(t, same, 350, "independent answers agree in 3 of 8")
}

func TestInteractiveRefusals(t *testing.T) {
	m := interactive(t, 10, 1, 1, 1, nil, 2, 2)
	s, h := begin(t, m, rng.SeedKey(1)), histogram(t, 5, 5)
	for name, p := range map[string][]float64{
		"1 probabilities": {1}, "of class 1": {0, math.NaN()}, "of class 0": {-0.1, 1.1}, "add up": {0.5, 0.4}, "no prediction": nil,
	} {
		m.cfg.Predict = func(uint64) ([]float64, error) {
			if p == nil {
				return nil, errors.New(name)
			}
			return p, nil
		}
		a, err := s.Ask(1, h)
		require.ErrorContains(t, err, name)
		require.Equal(t, Answer{Label: NoLabel}, a)
		require.ErrorContains(t, testkit.Err(m.Law(h)), name)
	}
	require.ErrorContains(t, testkit.Err(s.Ask(1, Histogram{})), "zero Histogram")
}

// Under a prediction of nothing in particular the statistic is the largest count less the same for all
// classes, and the law is the law of Confident-GNMax.
func TestInteractiveLawIsConfidentLawMoved(t *testing.T) {
	h := histogram(t, 12, 30, 18)
	got, err := interactive(t, 60, 5, 4, 3, []float64{0.3, 0.3, 0.4}).Law(h) // predicted 18, 18, 24: ahead by 12
	require.NoError(t, err)
	require.Equal(t, testkit.Must(confident(t, 5+18, 4, 3).Law(h)), got)
}
