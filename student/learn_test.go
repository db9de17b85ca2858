package student

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPartOfALargePool has all labelled rows, as far as they fit, and others.
func TestAPartOfALargePool(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	labelled := []int{5, 8000, 19_999}
	rows := partOf(30_000, labelled, rnd)
	require.Len(t, rows, MaxSpread)
	require.True(t, slices.IsSorted(rows))
	require.Len(t, slices.Compact(slices.Clone(rows)), MaxSpread)
	for _, r := range labelled {
		require.Contains(t, rows, r)
	}
	many := make([]int, MaxSpread+7)
	for i := range many {
		many[i] = 2 * i
	}
	rows = partOf(30_000, many, rnd)
	require.Len(t, rows, MaxSpread)
	for _, r := range rows {
		require.Zero(t, r%2)
	}
	require.Equal(t, []int{0, 1, 2}, partOf(3, []int{1}, rnd))
}
