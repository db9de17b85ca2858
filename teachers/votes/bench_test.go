package votes_test

import (
	"context"
	"math/rand/v2"
	"strconv"
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

// BenchmarkVotes opens the votes of 250 teachers among 10 classes from memory, and reads their histograms.
func BenchmarkVotes(b *testing.B) {
	const queries, count, classes = 20_000, 250, 10
	cells := agreeingVotes(queries, count, classes)
	at := func(q, c int) int { return int(cells[q*count+c]) }
	for name, file := range map[string][]byte{
		"npy-int8":         encodeNPY(1, "|i1", false, queries, count, at),
		"npy-int8-fortran": encodeNPY(1, "|i1", true, queries, count, at),
		"npy-int64":        encodeNPY(1, "<i8", false, queries, count, at),
		"csv":              encodeCSV(",", "\n", false, queries, count, func(q, c int) string { return strconv.Itoa(at(q, c)) }),
	} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				for _, err := range opened(b, votes.Options{Classes: classes}, file).Histograms(context.Background()) {
					require.NoError(b, err)
					rows++
				}
			}
			b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
