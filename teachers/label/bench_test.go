package label

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// agreeing are votes of 250 teachers on 10 classes, nine of ten with the rest.
func agreeing(b *testing.B, queries int) *votes.Matrix {
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
			if err := matrix.Set(q, t, vote); err != nil {
				b.Fatal(err)
			}
		}
	}
	return matrix
}

func inMemory(matrix *votes.Matrix) iter.Seq2[votes.Ballot, error] {
	return func(yield func(votes.Ballot, error) bool) {
		for q := range matrix.Queries() {
			h, err := matrix.Histogram(q)
			if !yield(votes.Ballot{Query: q, Histogram: h}, err) {
				return
			}
		}
	}
}

// BenchmarkLabel is votes in, lines of labels out, with noise from the system's randomness: of a matrix in
// memory, and of an NPY file by Run as a whole, with ledger, key, syncs and hash.
func BenchmarkLabel(b *testing.B) {
	const queries = 200_000
	matrix := agreeing(b, queries)
	account := ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e6, Delta: 1e-5, Mode: ledger.Filter}
	perSecond := func(b *testing.B, runs int) {
		b.ReportMetric(float64(runs)*queries/b.Elapsed().Seconds(), "queries/s")
		b.ReportMetric(0, "ns/op")
	}
	settings := []aggregate.Setting{
		with("gnmax", "sigma", 40.0),
		with("confident", "threshold", 200.0, "sigma1", 150.0, "sigma2", 40.0, "answers", float64(queries)),
		with("lnmax", "scale", 20.0),
		with("exponential", "scale", 20.0),
		with("permute-and-flip", "scale", 20.0),
	}
	for _, s := range settings {
		s.Queries = queries
		b.Run("memory/"+s.Mechanism, func(b *testing.B) {
			d, err := mechanisms.Find(s.Mechanism)
			require.NoError(b, err)
			run := setting{d, s}
			e, err := run.event()
			require.NoError(b, err)
			runs := 0
			for b.Loop() {
				book, err := ledger.New(account)
				require.NoError(b, err)
				r, err := book.Reserve(e)
				require.NoError(b, err)
				key, err := rng.NewKey()
				require.NoError(b, err)
				ask, err := run.start(r, key)
				require.NoError(b, err)
				w := newLabelWriter(io.Discard, CSV, nil, false)
				require.NoError(b, askAll(context.Background(), inMemory(matrix), nil, ask, w, func(int) {}))
				require.Equal(b, queries, w.asked)
				runs++
			}
			perSecond(b, runs)
		})
	}
	dir := b.TempDir()
	path := filepath.Join(dir, "votes.npy")
	require.NoError(b, matrix.Save(path))
	for _, s := range settings[:2] {
		b.Run("npy/"+s.Mechanism, func(b *testing.B) {
			runs := 0
			for b.Loop() {
				source, err := votes.Open(context.Background(), []string{path}, votes.Options{Classes: 10})
				require.NoError(b, err)
				dir := b.TempDir()
				_, err = Run(context.Background(), Config{
					Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool",
					Account: account, Votes: source, Setting: s,
				})
				require.NoError(b, err)
				runs++
			}
			perSecond(b, runs)
		})
	}
}
