package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/testkit"
)

// sweep is a comparison at two targets: one is decided, one is not.
func sweep() *experiments.Result {
	r := sample()
	r.EpsilonTarget, r.EpsilonTargets = 0.5, []float64{0.5, 2}
	r.Rows = nil
	for i, e := range r.EpsilonTargets {
		sd := 0.004
		r.Rows = append(r.Rows,
			experiments.Row{Method: experiments.GNMax, TargetEpsilon: e, Epsilon: &e, Accuracy: 0.8 + 0.1*float64(i), SD: &sd, Runs: []float64{0.8, 0.81}, StandardError: 0.003,
				Charged: []experiments.Charge{{Event: "noisy argmax", Count: 9, Share: 1}}},
			experiments.Row{Method: experiments.DPSGD, TargetEpsilon: e, Epsilon: &e, Accuracy: 0.9, StandardError: 0.003})
	}
	r.Rows = append(r.Rows, experiments.Row{Method: experiments.NonPrivate, Accuracy: 0.95})
	r.Differences = []experiments.Difference{
		{TargetEpsilon: 0.5, A: experiments.GNMax, B: experiments.DPSGD, Mean: -0.1, Low: -0.11, High: -0.09, Better: experiments.DPSGD},
		{TargetEpsilon: 2, A: experiments.GNMax, B: experiments.DPSGD, Low: -0.01, High: 0.01},
	}
	return r
}

func TestASweepSaysWhoWonAndDrawsEveryMethodOnce(t *testing.T) {
	r, dir := sweep(), t.TempDir()
	require.NoError(t, Write(dir, r, "pate compare --epsilon 0.5,2"))
	text := testkit.Must(os.ReadFile(filepath.Join(dir, "private", "results", "report.html")))
	page := string(text)
	said := strings.Index(page, "Best beyond chance: dpsgd/linear at ε 0.5. Best, and not to be told apart: dpsgd/linear, pate/gnmax at ε 2.")
	require.Positive(t, said)
	require.Less(t, said, strings.Index(page, "<svg"))
	require.Less(t, strings.Index(page, "<svg"), strings.Index(page, "<table"), "the picture first")
	svg := testkit.Must(os.ReadFile(filepath.Join(dir, "private", "results", "accuracy.svg")))
	for _, name := range []string{experiments.GNMax, experiments.DPSGD, experiments.NonPrivate} {
		require.Equal(t, 1, strings.Count(string(svg), name+"<"), "a name at the end of its line")
	}
}

func TestDecision(t *testing.T) {
	r := sweep()
	r.Differences[0].Better = ""
	require.Equal(t, "No method was best beyond chance. Best, and not to be told apart: dpsgd/linear, pate/gnmax at ε 0.5, 2.", Decision(r))
	r.Differences[0].Better, r.Differences[1].Better = experiments.DPSGD, experiments.GNMax
	r.Rows[2].Accuracy = 0.91
	require.Equal(t, "Best beyond chance: dpsgd/linear at ε 0.5; pate/gnmax at ε 2. No other method was within chance of it.", Decision(r))
	r.Differences = nil
	require.Empty(t, Decision(r))
}
