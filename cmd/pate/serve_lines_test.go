package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServeManyShortLines: more questions than the queue holds fit into the buffer of the input.
func TestServeManyShortLines(t *testing.T) {
	var in strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&in, "{\"query\":%d,\"votes\":{\"1\":9}}\n", i)
	}
	args := []string{"serve", "--out", filepath.Join(t.TempDir(), "run"), "--mechanism", "gnmax", "--vocabulary", "9", "--sigma", "1000",
		"--queries", fmt.Sprint(n), "--epsilon", "8"}
	code, out, text := execute(t, in.String(), args...)
	require.Zero(t, code, text)
	require.Equal(t, n, strings.Count(out, `"source":"vote"`))
	require.Contains(t, out, `{"queries":0}`)
}

// TestServeSeeded: a reply of a seeded run states that it is not releasable. A domain of all tokens is
// refused before the charge, because the mechanism could not answer.
func TestServeSeeded(t *testing.T) {
	ask := func(more ...string) (code int, out, text string) {
		return execute(t, `{"query":1,"votes":{"1":9}}`+"\n", append([]string{"serve", "--out", filepath.Join(t.TempDir(), "run"),
			"--vocabulary", "4", "--queries", "9", "--epsilon", "8"}, more...)...)
	}
	_, out, _ := ask("--mechanism", "gnmax", "--teachers", "90", "--seed", "1")
	require.Contains(t, out, `{"queries":8},"releasable":false}`)
	_, out, _ = ask("--mechanism", "gnmax", "--teachers", "90")
	require.NotContains(t, out, "releasable")
	code, _, text := ask("--mechanism", "limited", "--scale", "20", "--domain", "4", "--margin", "900")
	require.Equal(t, 2, code)
	require.Contains(t, text, "domain must be below the number of tokens, 4")
}

// TestServeRefusesNoiseThatHidesVotes: such noise is refused before the charge, and the folder stays free.
func TestServeRefusesNoiseThatHidesVotes(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	ask := func(more ...string) (int, string) {
		code, _, text := execute(t, "", append([]string{"serve", "--out", folder, "--mechanism", "gnmax", "--classes", "a,b", "--epsilon", "2"}, more...)...)
		return code, text
	}
	code, text := ask("--queries", "10000")
	require.Equal(t, 2, code)
	require.Contains(t, text, "give --teachers or the noise")
	code, text = ask("--queries", "10000", "--teachers", "200")
	require.NotZero(t, code)
	require.Contains(t, text, "noise of 282 votes hides the votes of 200 teachers")
	require.NoFileExists(t, filepath.Join(folder, "private", "ledger.jsonl"))
	code, text = ask("--queries", "1000", "--teachers", "200")
	require.Zero(t, code, text)
	require.FileExists(t, filepath.Join(folder, "private", "ledger.jsonl"))
}
