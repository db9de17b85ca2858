package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// TestSamplesTakeTurns: a sample is as large as asked for, and every mutation is in that
// of some day.
func TestSamplesTakeTurns(t *testing.T) {
	list := testkit.Must(all())
	seen := map[string]bool{}
	const sample = 8
	for day := range int64(2 * len(list) / sample) {
		chosen := choose(list, false, sample, day, nil)
		require.Len(t, chosen, sample)
		require.Equal(t, chosen, choose(list, false, sample, day, nil))
		for _, m := range chosen {
			seen[m.id] = true
		}
	}
	require.GreaterOrEqual(t, len(seen), len(list)-len(list)%sample)
	require.Equal(t, list, choose(list, true, 0, 0, nil))
	for _, m := range choose(list, false, 0, 0, []string{"svt/"}) {
		require.Contains(t, m.id, "svt/")
	}
	require.Empty(t, choose(list, false, 0, 0, nil))
}
