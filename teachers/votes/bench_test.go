package votes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers/votes"
)

// agreeingVotes are labels of teachers who mostly agree, as good ones do, in cells of one byte.
func agreeingVotes(queries, count, classes int) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	cells := make([]byte, 0, queries*count)
	for range queries {
		class := rnd.IntN(classes)
		for range count {
			vote := class
			if rnd.IntN(10) == 0 {
				vote = rnd.IntN(classes)
			}
			cells = append(cells, byte(vote))
		}
	}
	return cells
}

// BenchmarkVotes reads 250 teachers, 10 classes, from memory on one goroutine: open is checking and hashing
// all, histograms is what follows.
func BenchmarkVotes(b *testing.B) {
	const queries, count, classes = 100_000, 250, 10
	cells := agreeingVotes(queries, count, classes)
	head := func(typ, fortran string) string {
		return fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%d, %d)}\n", typ, fortran, queries, count)
	}
	var text []byte
	for i, v := range cells[:queries/5*count] {
		sep := byte(',')
		if (i+1)%count == 0 {
			sep = '\n'
		}
		text = append(text, '0'+v, sep)
	}
	wide := make([]byte, 8*len(cells)/4)
	for i := range len(cells) / 4 {
		wide[8*i] = cells[i]
	}
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"npy-int8", npy(1, head("|i1", "False"), cells)},
		{"npy-uint8", npy(1, head("|u1", "False"), cells)},
		{"npy-int8-fortran", npy(1, head("|i1", "True"), cells)},
		{"npy-int64", npy(1, fmt.Sprintf("{'descr': '<i8', 'fortran_order': False, 'shape': (%d, %d)}\n", queries/4, count), wide)},
		{"csv", text},
	} {
		opt := votes.Options{Classes: classes}
		b.Run(c.name+"/open", func(b *testing.B) {
			rows := 0
			for b.Loop() {
				s, err := votes.OpenIn(opt, c.file)
				require.NoError(b, err)
				rows += s.Queries()
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "queries/s")
		})
		b.Run(c.name+"/histograms", func(b *testing.B) {
			s, err := votes.OpenIn(opt, c.file)
			require.NoError(b, err)
			rows := 0
			for b.Loop() {
				for ballot, err := range s.Histograms(context.Background()) {
					require.NoError(b, err)
					_ = ballot
					rows++
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
