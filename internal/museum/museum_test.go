package museum

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/accountant/audit"
)

func found(t *testing.T, e Exhibit, right bool) (epsilon, delta float64) {
	p, q := e.Laws(right)
	f, err := audit.Exact(audit.Claim{Epsilon: e.Epsilon, Delta: e.Delta}, 0, func(yield func(p, q []float64) bool) { yield(p, q) })
	require.NoError(t, err, e.Name)
	excess := func(p, q []float64) (sum float64) {
		for i := range p {
			sum += max(0, math.Exp(p[i])-math.Exp(e.Epsilon+q[i]))
		}
		return sum
	}
	return f.Epsilon, max(excess(p, q), excess(q, p))
}

// TestTheMistakeIsWhatIsRefuted: the claim of each mechanism holds if it is right, and fails by what the
// exercise states if it has the mistake.
func TestTheMistakeIsWhatIsRefuted(t *testing.T) {
	for _, e := range Exhibits() {
		if e.run == nil {
			continue
		}
		epsilon, _ := found(t, e, true)
		require.LessOrEqual(t, epsilon, e.Epsilon*(1+1e-9), e.Name)
		epsilon, delta := found(t, e, false)
		require.Greater(t, epsilon, e.Epsilon, e.Name)
		if e.FoundEpsilon > 0 {
			require.InEpsilon(t, e.FoundEpsilon, epsilon, 0.005, e.Name)
		} else {
			require.True(t, math.IsInf(epsilon, 1), e.Name)
			require.InDelta(t, e.FoundDelta, delta, 0.003, e.Name)
		}
	}
}

func TestExhibitsFile(t *testing.T) {
	d := json.NewDecoder(bytes.NewReader(exhibitsFile))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&[]Exhibit{}))
	runs := mechanisms()
	for _, e := range Exhibits() {
		for _, text := range []string{e.Name, e.Chapter, e.Source, e.Did, e.Why, e.Inputs} {
			require.NotEmpty(t, text, e.Name)
		}
		require.True(t, e.Year > 2000 && e.Year <= 2026, e.Name)
		delete(runs, e.Name)
	}
	require.Empty(t, runs, "mechanisms without a text")
}

// TestDrawsHaveTheLaw: sampled frequencies are within five standard deviations of the enumerated
// probabilities. The seed is fixed.
func TestDrawsHaveTheLaw(t *testing.T) {
	const n = 20_000
	run := mechanism(func(t *trial) any { return t.hits(3, 0.3) + 4*t.winner(2, 3, 2) })
	sample, counts, total := Exhibit{run: run}.Sample(0, rand.New(rand.NewPCG(1, 2))), map[string]float64{}, 0.0
	for range n {
		counts[sample()]++
	}
	for o, p := range run.enumerate(0, false) {
		total += p
		require.InDelta(t, p, counts[o]/n, 5*math.Sqrt(p/n), o)
	}
	require.InDelta(t, 1, total, 1e-12)
}
