package student_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/student"
)

// Questions are spread over a pool of which nearly all rows are alike, where rows at random
// would be of the one cluster.
func TestSelectCoversRareRows(t *testing.T) {
	const rows, rare = 600, 5
	r := stream(1)
	cluster := make([]int, rows)
	for k := 1; k < 4; k++ {
		for i := range rare {
			cluster[100*k+i] = k
		}
	}
	x := matrix(rows, 6, func(i, j int) float64 { return r.NormFloat64()/10 + 5*float64(cluster[i]*(j+1)%4) })
	of := func(chosen []int) (clusters int) {
		seen := [4]bool{}
		for _, row := range chosen {
			if !seen[cluster[row]] {
				seen[cluster[row]] = true
				clusters++
			}
		}
		return clusters
	}
	for seed := range uint64(5) {
		chosen, err := student.Select(t.Context(), x, 8, func(student.Progress) {}, stream(seed))
		require.NoError(t, err)
		require.Equal(t, 4, of(chosen))
		again, err := student.Select(t.Context(), x, 8, func(student.Progress) {}, stream(seed))
		require.NoError(t, err)
		require.Equal(t, chosen, again)
		require.Less(t, of(stream(seed).Perm(rows)[:8]), 4)
	}
	all, err := student.Select(t.Context(), x, rows, func(student.Progress) {}, stream(1))
	require.NoError(t, err)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), rows)
}

func requireDistinct(t *testing.T, queries []int, m, rows int) {
	t.Helper()
	require.Len(t, queries, m)
	seen := map[int]bool{}
	for _, q := range queries {
		require.False(t, q < 0 || q >= rows || seen[q])
		seen[q] = true
	}
}

func TestSelectCoversAllClusters(t *testing.T) {
	x, y := blobs(400, 30, 10, stream(1))
	p := newPool(t, x, student.Config{})
	queries, err := p.Select(t.Context(), 20, stream(2))
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, q := range queries {
		seen[y[q]] = true
	}
	require.Len(t, seen, 10)
	all, err := p.Select(t.Context(), 400, stream(2))
	require.NoError(t, err)
	requireDistinct(t, all, 400, 400)
}
