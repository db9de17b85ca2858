package tokens

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

type papers struct {
	Cases []struct {
		Sampler     string
		Clip        int64
		Temperature float64 `json:",string"`
		Public      []float64
		Teachers    [][]float64
		Tokens      []int
		Law         []string
	}
	Invink [][5]float64 // tokens, teachers, clip, temperature, epsilon
}

func readPapers(t *testing.T) (p papers) {
	require.NoError(t, json.Unmarshal(testkit.Must(os.ReadFile("testdata/laws.json")), &p))
	return p
}

// TestLawsOfPapers: with the settings in the comment of Clipped, its law is that of two published samplers.
func TestLawsOfPapers(t *testing.T) {
	for _, c := range readPapers(t).Cases {
		m := testkit.Must(NewClipped(ClippedConfig{Clip: float64(c.Clip) / 64, Steps: c.Clip, Teachers: int64(len(c.Teachers)),
			Temperature: c.Temperature, Queries: 1}))
		of := func(row []float64) (listed []float64) {
			for _, token := range c.Tokens {
				listed = append(listed, row[token]/64)
			}
			return listed
		}
		in, public := Input{List: c.Tokens, Scores: make([]int64, len(c.Tokens))}, []float64(nil)
		if c.Sampler == "invisibleink" {
			public = of(c.Public)
			in.Base = m.Base(public)
		}
		for _, row := range c.Teachers {
			m.Add(in.Scores, of(row), public)
		}
		require.NoError(t, in.checkScores(m.cfg.Teachers*m.cfg.Steps))
		law, sum := make([]float64, len(c.Law)), 0.0
		for i, score := range in.Scores {
			if in.Base != nil {
				score += in.Base[i]
			}
			law[i] = math.Exp(float64(score) / m.distances.Scale())
			sum += law[i]
		}
		for i, want := range c.Law {
			require.InDelta(t, testkit.Must(strconv.ParseFloat(want, 64)), law[i]/sum, 1e-12, "%s %d", c.Sampler, i)
		}
	}
}

// TestCostBesideInvink: with equal clipping, the epsilon of invink is never lower.
func TestCostBesideInvink(t *testing.T) {
	for _, c := range readPapers(t).Invink {
		m := testkit.Must(NewClipped(ClippedConfig{Clip: c[2], Steps: 1000, Teachers: int64(c[1]), Temperature: c[3], Queries: int64(c[0]),
			Appears: true}))
		claim := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByAuto, accountant.AddRemove, 1e-6, m.Event()))
		require.LessOrEqual(t, claim.Bound.Upper, c[4], c)
		t.Logf("%v tokens, %v teachers, clip %v, temperature %v: %.4g, invink %.4g", c[0], c[1], c[2], c[3], claim.Bound.Upper, c[4])
	}
}
