package aggregate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// The reference has real noise. In units of 2^-20 votes it is integer noise on
// integer counts, and the rules know no units.
const unit = 1 << 20

func inUnits(scale float64, noise []float64) []int64 {
	out := make([]int64, len(noise))
	for i, z := range noise {
		out[i] = int64(math.Round(scale * z * unit))
	}
	return out
}

func TestTraceReference(t *testing.T) {
	var ref struct {
		Cases []struct {
			Row         int       `json:"row"`
			Counts      []int     `json:"counts"`
			Z           []float64 `json:"z"`
			Laplace     []float64 `json:"laplace"`
			LNMax       int       `json:"lnmax_label"`
			GNMax       int       `json:"gnmax_label"`
			Answered    bool      `json:"confident_answered"`
			Confident   int       `json:"confident_label"`
			Baseline    []float64 `json:"baseline"`
			Interactive string    `json:"interactive"`
			Label       int       `json:"interactive_label"`
		} `json:"cases"`
	}
	testkit.ReadJSON(t, "testdata/aggregator_trace.json", &ref)
	seen := map[string]int{}
	for _, c := range ref.Cases {
		counts := make([]int, len(c.Counts))
		for i, n := range c.Counts {
			counts[i] = n * unit
		}
		h := histogram(t, counts...)
		votes := h.counts()
		noise := append(inUnits(40, c.Z[1:]), inUnits(150, c.Z[:1])...)
		require.Equal(t, Answer{Label: c.LNMax, Answered: true}, lnmax(t, 20).decide(votes, inUnits(20, c.Laplace)), "row %d", c.Row)
		require.Equal(t, Answer{Label: c.GNMax, Answered: true}, gnmax(t, 40).decide(votes, noise[:len(votes)]), "row %d", c.Row)
		require.Equal(t, Answer{Label: c.Confident, Answered: c.Answered}, confident(t, 200*unit, 150, 40).decide(votes, noise), "row %d", c.Row)
		if c.Interactive == "" {
			continue
		}
		seen[c.Interactive]++
		probabilities := make([]float64, len(c.Baseline))
		for i, b := range c.Baseline {
			probabilities[i] = b / 250
		}
		p, err := interactive(t, 250*unit, 120*unit, 150, 40, probabilities).predict(0, h)
		require.NoError(t, err)
		want := map[string]Answer{
			"teachers": {Label: c.Label, Answered: true},
			"student":  {Label: c.Label, Answered: true, Reused: true},
			"refused":  {Label: NoLabel},
		}[c.Interactive]
		require.Equal(t, c.Label, want.Label)
		require.Equal(t, want, p.decide(votes, noise), "row %d", c.Row)
	}
	require.Len(t, seen, 3)
}
