package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// TestTrace: what was recorded has the shape and the values that a model gives.
func TestTrace(t *testing.T) {
	tr := testkit.Must(readTrace())
	require.Equal(t, 336, len(tr.steps))
	for i, s := range tr.steps {
		require.IsIncreasing(t, s.list)
		require.Contains(t, s.list, s.text)
		require.Len(t, s.greedy, teachers)
		require.Len(t, s.teachers, teachers)
		for _, row := range append(s.teachers, s.public) {
			mass := 0.0
			for _, l := range row {
				mass += math.Exp(l)
			}
			require.True(t, mass > 0 && mass < 1.1, "step %d: %g, with rounded log-probabilities", i, mass)
		}
	}
}

// TestReplay replays 5,000 tokens by each mechanism: 1,000 tokens at epsilon 8, five times. The seed is
// fixed, so the shares are always the same.
func TestReplay(t *testing.T) {
	tr, key := testkit.Must(readTrace()), rng.SeedKey(37)
	right := map[string]float64{}
	for _, m := range methods {
		made, _ := testkit.Must2(m.within(t.Context(), 8, 1000))
		right[m.name] = testkit.Must(tr.replay(made, key, 1000, 5))
	}
	require.Less(t, right["votes"], right["votes, screened"])
	require.Less(t, right["log-probabilities"], right["log-probabilities, colder"])
	t.Log(right)

	in := tr.inputs(nil)[0]
	made := testkit.Must(methods[0].make(5, 2))
	session, state := made.Start(key), tokens.State{}
	first := testkit.Must(session.Answer(state, 7, in))
	state.Count(first)
	require.Equal(t, first, testkit.Must(made.Start(key).Answer(state, 7, in)), "the same query has the same answer")
	state.Count(first)
	require.ErrorIs(t, testkit.Err(session.Answer(state, 8, in)), tokens.ErrExhausted)
}

// TestDiversity: coordinated votes keep the entropy of the teachers' mean law, independent votes lose it.
func TestDiversity(t *testing.T) {
	entropy := testkit.Must(testkit.Must(readTrace()).diversity(t.Context(), rng.SeedKey(37), 4, 100))
	mean, coordinated, independent := entropy[0], entropy[1], entropy[3]
	require.InDelta(t, mean, coordinated, .3)
	require.Less(t, independent, mean/2)
}

// TestDoor replays 5,000 tokens through `pate serve` on the standard input. At noise 5, far more than half of
// the answers are right for any plausible noise. A restart gives the same answers.
func TestDoor(t *testing.T) {
	tr, dir := testkit.Must(readTrace()), t.TempDir()
	pate := filepath.Join(dir, "pate")
	out, err := exec.Command("go", "build", "-o", pate, "../../cmd/pate").CombinedOutput()
	require.NoError(t, err, string(out))
	var requests strings.Builder
	questions := tr.inputs(nil)
	for query := range 5000 {
		votes := map[int]int64{}
		counts := questions[query%len(questions)].Counts
		for i, token := range counts.Tokens {
			votes[token] = counts.Votes[i]
		}
		fmt.Fprintf(&requests, "{\"query\":%d,\"votes\":%s}\n", query, testkit.Must(json.Marshal(votes)))
	}
	var first []int
	for range 2 {
		cmd := exec.Command(pate, "serve", "--out", filepath.Join(dir, "run"), "--mechanism", "gnmax", "--vocabulary", fmt.Sprint(tr.vocabulary),
			"--queries", "5000", "--sigma", "5", "--epsilon", "500")
		cmd.Env, cmd.Stdin = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state")), strings.NewReader(requests.String())
		var failure strings.Builder
		cmd.Stderr = &failure
		replies, err := cmd.Output()
		require.NoError(t, err, failure.String())
		answers := json.NewDecoder(bytes.NewReader(replies))
		var got []int
		right := 0
		for query := range 5000 {
			var a struct{ Query, Token int }
			require.NoError(t, answers.Decode(&a))
			require.Equal(t, query, a.Query)
			if got = append(got, a.Token); a.Token == tr.steps[query%len(questions)].most() {
				right++
			}
		}
		require.Greater(t, right, 3500)
		require.True(t, first == nil || slices.Equal(first, got))
		first = got
	}
}
