package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mutation"
)

// TestSamplesTakeTurns: a sample is as large as asked for, and every mutation is in that
// of some day.
func TestSamplesTakeTurns(t *testing.T) {
	all, err := mutation.All()
	require.NoError(t, err)
	seen := map[string]bool{}
	const sample = 8
	for day := range int64(2 * len(all) / sample) {
		chosen := choose(all, false, sample, day, nil)
		require.Len(t, chosen, sample)
		require.Equal(t, chosen, choose(all, false, sample, day, nil))
		for _, m := range chosen {
			seen[m.ID] = true
		}
	}
	require.GreaterOrEqual(t, len(seen), len(all)-len(all)%sample)
	require.Equal(t, all, choose(all, true, 0, 0, nil))
	for _, m := range choose(all, false, 0, 0, []string{"svt/"}) {
		require.Contains(t, m.ID, "svt/")
	}
	require.Empty(t, choose(all, false, 0, 0, nil))
}
