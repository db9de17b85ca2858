package aggregate

import (
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// asked is the cap of the mechanisms here.
const asked = 1_000_000

// answersOf counts labels, and queries the teachers did not answer last, over a session on one histogram.
func answersOf(t *testing.T, m Mechanism, h Histogram, draws int) []float64 {
	observed := make([]float64, h.Classes()+1)
	s, batch := begin(t, m, rng.SeedKey(1)), make([]Histogram, 10_000)
	for i := range batch {
		batch[i] = h
	}
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
			law := testkit.Must(c.m.Law(c.votes))
			require.Greater(t, pValue(observed, law), testkit.FalseAlarm)
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
