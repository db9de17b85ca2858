package aggregate

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// falseAlarm is the probability that a correct mechanism fails a chi-square
// test. Seeds are fixed, so a test fails always or never.
const falseAlarm = 1e-9

var asked = func() int {
	if testkit.Race {
		return 100_000
	}
	return 1_000_000
}()

// answersOf counts labels, and queries the teachers did not answer last, over a
// whole session on one histogram.
func answersOf(classes, draws int, ask func(query uint64) (Answer, error)) []float64 {
	workers := runtime.GOMAXPROCS(0)
	observed := make([]float64, classes+1)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			counts := make([]float64, classes+1)
			for q := w; q < draws; q += workers {
				a, err := ask(uint64(q))
				switch {
				case err != nil:
					panic(err)
				case a.Answered && !a.Reused:
					counts[a.Label]++
				case a.Reused || a.Label == NoLabel:
					counts[classes]++
				default:
					panic("declined with a label")
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for i, n := range counts {
				observed[i] += n
			}
		})
	}
	wg.Wait()
	return observed
}

func pValue(observed []float64, law Law) float64 {
	var chi2, rest, restExpected float64
	cells := 0
	draws := floats.Sum(observed)
	add := func(o, e float64) {
		chi2 += (o - e) * (o - e) / e
		cells++
	}
	for i, o := range observed {
		expected := draws * math.Exp(law.LogDeclined)
		if i < len(law.LogLabels) {
			expected = draws * math.Exp(law.LogLabels[i])
		}
		if expected >= 20 {
			add(o, expected)
		} else {
			rest, restExpected = rest+o, restExpected+expected
		}
	}
	if restExpected >= 5 {
		add(rest, restExpected)
	} else if rest > restExpected+45 { // Poisson(5): probability below 1e-22
		return 0
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2)
}

func TestMechanismsFollowTheirLaws(t *testing.T) {
	type laws = map[string]func() (Law, error)
	predicted := []float64{0.1, 0.35, 0.55}
	wide, near := histogram(t, 5, 9, 8, 8, 1), histogram(t, 3, 9, 8)
	moved := histogram(t, 5, 10, 7, 8, 1)
	gnmax := func(sigma float64) *GNMax { return newGNMax(t, sigma, asked) }
	lnmax := func(scale float64) *LNMax { return newLNMax(t, scale, asked) }
	exponential := func(scale float64) *Exponential { return newExponential(t, scale, asked) }
	flip := func(scale float64) *PermuteAndFlip { return newPermuteAndFlip(t, scale, asked) }
	confident := func(threshold, sigma1, sigma2 float64) *ConfidentGNMax {
		m, err := NewConfidentGNMax(ConfidentGNMaxConfig{
			Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Queries: asked, Answers: asked,
		})
		require.NoError(t, err)
		return m
	}
	interactive := func(threshold, sigma1, sigma2 float64) *InteractiveGNMax {
		m, err := NewInteractiveGNMax(InteractiveGNMaxConfig{
			Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Teachers: 20, Confidence: 0.5, Queries: asked, Answers: asked,
		})
		require.NoError(t, err)
		return m
	}
	dialogue := interactive(1.5, 6, 2.5)
	student := func(t *testing.T) func(uint64) (Answer, error) {
		s, err := dialogue.Start(reserve(t, dialogue.Event()), rng.SeedKey(1))
		require.NoError(t, err)
		return func(q uint64) (Answer, error) { return s.Ask(q, near, predicted) }
	}
	session := func(m Mechanism, h Histogram) func(t *testing.T) func(uint64) (Answer, error) {
		return func(t *testing.T) func(uint64) (Answer, error) {
			s := begin(t, m, rng.SeedKey(1))
			return func(q uint64) (Answer, error) { return s.Ask(q, h) }
		}
	}
	of := func(m interface{ Law(Histogram) (Law, error) }, h Histogram) func() (Law, error) {
		return func() (Law, error) { return m.Law(h) }
	}
	for _, c := range []struct {
		name     string
		classes  int
		ask      func(t *testing.T) func(query uint64) (Answer, error)
		law      func() (Law, error)
		controls laws
	}{
		{"gnmax", 5, session(gnmax(3), wide), of(gnmax(3), wide), laws{
			"continuous noise":    func() (Law, error) { return gnmax(3).ContinuousLaw(wide) },
			"ties at random":      func() (Law, error) { return gnmax(3).lawWithTies(wide, uniformTies) },
			"sigma 2 percent off": of(gnmax(3.06), wide),
			"one vote moved":      of(gnmax(3), moved),
		}},
		{"lnmax", 5, session(lnmax(2.5), wide), of(lnmax(2.5), wide), laws{
			"continuous noise":    func() (Law, error) { return lnmax(2.5).ContinuousLaw(wide) },
			"ties at random":      func() (Law, error) { return lnmax(2.5).lawWithTies(wide, uniformTies) },
			"scale 2 percent off": of(lnmax(2.55), wide),
			"one vote moved":      of(lnmax(2.5), moved),
		}},
		{"exponential", 5, session(exponential(2.5), wide), of(exponential(2.5), wide), laws{
			"permute-and-flip":    of(flip(2.5), wide),
			"scale 2 percent off": of(exponential(2.55), wide),
			"one vote moved":      of(exponential(2.5), moved),
		}},
		{"permute-and-flip", 5, session(flip(2.5), wide), of(flip(2.5), wide), laws{
			"exponential":         of(exponential(2.5), wide),
			"scale 2 percent off": of(flip(2.55), wide),
			"one vote moved":      of(flip(2.5), moved),
		}},
		{"confident", 3, session(confident(11.5, 6, 2.5), near), of(confident(11.5, 6, 2.5), near), laws{
			"threshold rounded down": of(confident(11, 6, 2.5), near),
			"sigma1 4 percent off":   of(confident(11.5, 6.24, 2.5), near),
			"sigma2 4 percent off":   of(confident(11.5, 6, 2.6), near),
			"sigmas exchanged":       of(confident(11.5, 2.5, 6), near),
		}},
		{"interactive", 3, student, func() (Law, error) { return dialogue.Law(near, predicted) }, laws{
			"as if predicted 0":         of(confident(1.5, 6, 2.5), near),
			"threshold rounded down":    func() (Law, error) { return interactive(1, 6, 2.5).Law(near, predicted) },
			"another prediction":        func() (Law, error) { return dialogue.Law(near, []float64{0.1, 0.4, 0.5}) },
			"sigma2 4 percent off":      func() (Law, error) { return interactive(1.5, 6, 2.6).Law(near, predicted) },
			"prediction is not rounded": func() (Law, error) { return dialogue.ContinuousLaw(near, predicted) },
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			draws := asked / 2
			if c.name == "exponential" { // 2 percent of its scale are harder to see
				draws = asked
			}
			observed := answersOf(c.classes, draws, c.ask(t))
			law, err := c.law()
			require.NoError(t, err)
			require.Greater(t, pValue(observed, law), falseAlarm)
			if testkit.Race {
				return // too few draws for the controls
			}
			for name, wrong := range c.controls {
				law, err := wrong()
				require.NoError(t, err)
				require.Less(t, pValue(observed, law), falseAlarm, name)
			}
		})
	}
}
