package label

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/teachers/votes"
)

// BenchmarkLabel labels the votes of 250 teachers, nine of ten of whom agree, by Run as a whole: votes in
// an NPY file, ledger, key, noise of the system's randomness, syncs and hash.
func BenchmarkLabel(b *testing.B) {
	const queries = 200_000
	matrix, err := votes.New(queries, 250, 10)
	require.NoError(b, err)
	rnd := rand.New(rand.NewPCG(1, 2))
	for q := range queries {
		class := rnd.IntN(10)
		for t := range 250 {
			vote := class
			if rnd.IntN(10) == 0 {
				vote = rnd.IntN(10)
			}
			require.NoError(b, matrix.Set(q, t, vote))
		}
	}
	path := filepath.Join(b.TempDir(), "votes.npy")
	require.NoError(b, matrix.Save(path))
	for _, s := range []aggregate.Setting{
		with("gnmax", "sigma", 40.0),
		with("confident", "threshold", 200.0, "sigma1", 150.0, "sigma2", 40.0, "answers", float64(queries)),
		with("lnmax", "scale", 20.0), with("exponential", "scale", 20.0), with("permute-and-flip", "scale", 20.0),
	} {
		b.Run(s.Mechanism, func(b *testing.B) {
			runs := 0
			for b.Loop() {
				source, err := votes.Open(context.Background(), []string{path}, votes.Options{Classes: 10})
				require.NoError(b, err)
				dir := b.TempDir()
				_, err = Run(context.Background(), Config{
					Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool", Votes: source, Setting: s,
					Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e6, Delta: 1e-5, Mode: ledger.Filter},
				})
				require.NoError(b, err)
				runs++
			}
			b.ReportMetric(float64(runs)*queries/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
