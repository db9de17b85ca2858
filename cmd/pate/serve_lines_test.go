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
