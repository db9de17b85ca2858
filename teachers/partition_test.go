package teachers_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// TestPartitionMovesNobodyElse checks that every record keeps its teacher when other records come or go, in
// any order of the records. Records of one unit share a teacher.
func TestPartitionMovesNobodyElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.StringN(1, 6, -1), 1, 40).Draw(t, "units")
		count := rapid.IntRange(1, 300).Draw(t, "teachers")
		key := rng.SeedKey(rapid.Uint64().Draw(t, "seed"))
		share := testkit.Must(teachers.Partition(units, count, key))
		of := map[string]int{}
		for i, unit := range units {
			require.True(t, share[i] >= 0 && share[i] < count)
			if teacher, seen := of[unit]; seen {
				require.Equal(t, teacher, share[i], "one unit, two teachers")
			}
			of[unit] = share[i]
		}
		at := rapid.IntRange(0, len(units)).Draw(t, "at")
		more := testkit.Must(teachers.Partition(slices.Insert(slices.Clone(units), at, "somebody new"), count, key))
		require.Equal(t, share, slices.Delete(more, at, at+1))
	})
}

// TestPartitionIsBalanced runs a chi-square test of uniform shares, on ids that resemble each other as real
// ids do. The false-alarm rate is 1e-6.
func TestPartitionIsBalanced(t *testing.T) {
	const n, count = 50_000, 250
	units := make([]string, n)
	for i := range units {
		units[i] = fmt.Sprintf("train/%d", i)
	}
	share := testkit.Must(teachers.Partition(units, count, rng.SeedKey(7)))
	sizes := make([]float64, count)
	for _, teacher := range share {
		sizes[teacher]++
	}
	expected := slices.Repeat([]float64{n / count}, count)
	require.Less(t, stat.ChiSquare(sizes, expected), distuv.ChiSquared{K: count - 1}.Quantile(1-1e-6))

	// The test can fail: shares dealt out by position are too even, and a key that is not used gives two
	// runs the same shares.
	require.Less(t, stat.ChiSquare(expected, expected), distuv.ChiSquared{K: count - 1}.Quantile(1e-6))
	require.Greater(t, stat.ChiSquare(sizes, expected), distuv.ChiSquared{K: count - 1}.Quantile(1e-6))
	other := testkit.Must(teachers.Partition(units, count, rng.SeedKey(8)))
	same := 0
	for i := range share {
		if share[i] == other[i] {
			same++
		}
	}
	// Binomial(n, 1/count): mean 200, sd 14.
	require.InDelta(t, n/count, same, 5*15)
}

func TestPartitionRefuses(t *testing.T) {
	key := rng.SeedKey(1)
	for name, c := range map[string]struct {
		units []string
		count int
		key   rng.Key
	}{
		"no teachers": {[]string{"a"}, 0, key}, "too many": {[]string{"a"}, votes.MaxTeachers + 1, key},
		"no key": {[]string{"a"}, 2, rng.Key{}}, "empty unit id": {[]string{"a", ""}, 2, key},
	} {
		require.Error(t, testkit.Err(teachers.Partition(c.units, c.count, c.key)), name)
	}
}

// Twenty teachers, none of which sees a record of another, vote on two public rows.
func Example() {
	key := rng.SeedKey(1)
	private := teachers.Dataset{X: blas32.General{Rows: 400, Cols: 2, Stride: 2}, Y: make([]int, 400), Classes: 2}
	units := make([]string, 400)
	for i := range units {
		units[i] = fmt.Sprint("patient ", i)
		private.Y[i] = i % 2
		private.X.Data = append(private.X.Data, float32(1-i%2), float32(i%2))
	}
	share, err := teachers.Partition(units, 20, key)
	if err != nil {
		log.Fatal(err)
	}
	cfg := teachers.Config{Learner: teachers.KernelRidge{Gamma: 1, Lambda: 0.1}, Teachers: 20, Key: key}
	queries := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0.9, 0.1, 0.2, 0.8}}
	votes, err := teachers.Train(context.Background(), cfg, private, share, queries)
	if err != nil {
		log.Fatal(err)
	}
	histogram, err := votes.Histogram(0) // the counts are secret, and do not print
	fmt.Println(histogram, err)
	// Output: aggregate.Histogram(redacted) <nil>
}
