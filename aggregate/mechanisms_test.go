package aggregate

import (
	"context"
	"errors"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// asked is the cap of the mechanisms here.
const asked = 1_000_000

// answersOf counts labels, and queries the teachers did not answer last, over a session on one histogram.
func answersOf(t *testing.T, m Mechanism, h Histogram, draws int) []float64 {
	observed := make([]float64, h.Classes()+1)
	s, batch := begin(t, m, rng.SeedKey(1)), slices.Repeat([]Histogram{h}, 10_000)
	for from := 0; from < draws; from += len(batch) {
		for _, a := range testkit.Must(s.AskBatch(uint64(from), batch)) {
			if !a.Answered && a.Label != NoLabel {
				panic("declined with a label")
			}
			if a.Reused || !a.Answered {
				a.Label = h.Classes()
			}
			observed[a.Label]++
		}
	}
	return observed
}

// pValue compares answers with a law.
func pValue(observed []float64, law Law) float64 {
	expected := make([]float64, 0, len(observed))
	for _, log := range append(law.LogLabels, law.LogDeclined) {
		expected = append(expected, math.Exp(log)*floats.Sum(observed))
	}
	return testkit.ChiSquare(observed, expected)
}

func TestMechanismsFollowTheirLaws(t *testing.T) {
	type laws = map[string]lawFunc
	predicted := []float64{0.1, 0.35, 0.55}
	wide, near := histogram(t, 5, 9, 8, 8, 1), histogram(t, 3, 9, 8)
	moved := func(law lawFunc) lawFunc {
		return func(Histogram) (Law, error) { return law(histogram(t, 5, 10, 7, 8, 1)) }
	}
	highest := func(law lawFunc) lawFunc { // under which the highest index wins ties
		return func(h Histogram) (Law, error) {
			counts := h.Reveal()
			slices.Reverse(counts)
			out, err := law(histogram(t, counts...))
			slices.Reverse(out.LogLabels)
			return out, err
		}
	}
	g, l, e, p := gnmax(t, 3, asked), lnmax(t, 2.5, asked), exponential(t, 2.5, asked), permuteAndFlip(t, 2.5, asked)
	c, i := confident(t, 11.5, 6, 2.5, asked, asked), interactive(t, 20, 1.5, 6, 2.5, predicted, asked, asked)
	i.cfg.Confidence = 0.5
	for name, c := range map[string]struct {
		m        Mechanism
		votes    Histogram
		controls laws
	}{
		"gnmax": {g, wide, laws{
			"continuous noise":    g.ContinuousLaw,
			"ties to the last":    highest(g.Law),
			"sigma 2 percent off": gnmax(t, 3.06).Law,
			"one vote moved":      moved(g.Law),
		}},
		"lnmax": {l, wide, laws{
			"continuous noise":    l.ContinuousLaw,
			"ties to the last":    highest(l.Law),
			"scale 2 percent off": lnmax(t, 2.55).Law,
			"one vote moved":      moved(l.Law),
		}},
		"exponential": {e, wide, laws{
			"permute-and-flip":    p.Law,
			"scale 2 percent off": exponential(t, 2.55).Law,
			"one vote moved":      moved(e.Law),
		}},
		"permute-and-flip": {p, wide, laws{
			"exponential":         e.Law,
			"scale 2 percent off": permuteAndFlip(t, 2.55).Law,
			"one vote moved":      moved(p.Law),
		}},
		"confident": {c, near, laws{
			"threshold rounded down": confident(t, 11, 6, 2.5).Law,
			"sigma1 4 percent off":   confident(t, 11.5, 6.24, 2.5).Law,
			"sigma2 4 percent off":   confident(t, 11.5, 6, 2.6).Law,
			"sigmas exchanged":       confident(t, 11.5, 2.5, 6).Law,
		}},
		"interactive": {i, near, laws{
			"as if predicted 0":      confident(t, 1.5, 6, 2.5).Law,
			"threshold rounded down": interactive(t, 20, 1, 6, 2.5, predicted).Law,
			"another prediction":     interactive(t, 20, 1.5, 6, 2.5, []float64{0.1, 0.4, 0.5}).Law,
			"sigma2 4 percent off":   interactive(t, 20, 1.5, 6, 2.6, predicted).Law,
			"prediction is not rounded, noise continuous": func(h Histogram) (Law, error) {
				return i.teachers.continuousLawOf(h.counts(), 9-0.35*20)
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			draws := 120_000
			if testkit.Race {
				draws = 50_000
			} else if *long {
				draws = asked / 2
			}
			if name == "exponential" { // 2 percent of its scale are harder to see
				draws *= 2
			}
			observed := answersOf(t, c.m, c.votes, draws)
			require.Greater(t, pValue(observed, testkit.Must(c.m.Law(c.votes))), testkit.FalseAlarm)
			if testkit.Race {
				return // too few draws for the controls
			}
			for name, wrong := range c.controls {
				if strings.HasSuffix(name, "percent off") && !*long {
					continue
				}
				require.Less(t, pValue(observed, testkit.Must(wrong(c.votes))), testkit.FalseAlarm, name)
			}
		})
	}
}

// The table of the package comment: noise for (2, 1e-5), and the least lead with
// which the right class is answered often enough.
func TestTableOfThePackageComment(t *testing.T) {
	mechanisms := map[string]func(noise float64, queries int) Mechanism{
		"LNMax":          func(noise float64, queries int) Mechanism { return lnmax(t, noise, queries) },
		"GNMax":          func(noise float64, queries int) Mechanism { return gnmax(t, noise, queries) },
		"Exponential":    func(noise float64, queries int) Mechanism { return exponential(t, noise, queries) },
		"PermuteAndFlip": func(noise float64, queries int) Mechanism { return permuteAndFlip(t, noise, queries) },
	}
	epsilon := func(m Mechanism) float64 {
		account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
		require.NoError(t, account.Compose(m.Event(), 1))
		return testkit.Must(account.Epsilon(context.Background(), 1e-5)).Upper
	}
	for _, row := range []struct {
		name           string
		queries        int
		noise          float64
		classes        int
		likely, almost int
	}{
		{"LNMax", 1, 1, 10, 6, 11}, {"LNMax", 100, 30.1, 10, 163, 301}, {"LNMax", 1000, 96, 10, 519, 958},
		{"GNMax", 1, 3, 10, 11, 17}, {"GNMax", 100, 30.4, 10, 105, 159}, {"GNMax", 1000, 96.1, 10, 330, 500},
		{"Exponential", 1, 1, 10, 6, 10}, {"Exponential", 100, 21.4, 10, 110, 195}, {"Exponential", 1000, 67.9, 10, 350, 619},
		{"PermuteAndFlip", 1, 1, 10, 5, 9}, {"PermuteAndFlip", 100, 42.2, 10, 189, 356}, {"PermuteAndFlip", 1000, 135.7, 10, 607, 1142},
		{"GNMax", 1000, 96.1, 2, 225, 421}, {"Exponential", 1000, 67.9, 2, 200, 470},
	} {
		with := mechanisms[row.name]
		low, high := row.noise/1.1, row.noise*1.1
		for range 30 {
			if mid := (low + high) / 2; epsilon(with(mid, row.queries)) > 2 {
				low = mid
			} else {
				high = mid
			}
		}
		require.InDelta(t, row.noise, high, 0.0501, "%+v", row)
		m := with(high, row.queries)
		right := func(lead int) float64 {
			counts := make([]int, row.classes)
			counts[row.classes-1] = lead
			return math.Exp(testkit.Must(m.Law(histogram(t, counts...))).LogLabels[row.classes-1])
		}
		for lead, p := range map[int]float64{row.likely: 0.95, row.almost: 0.999} {
			require.GreaterOrEqual(t, right(lead), p, "%+v", row)
			require.Less(t, right(lead-1), p, "%+v", row)
		}
	}
}

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
