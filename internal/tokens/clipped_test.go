package tokens

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestContributions: a contribution is within the clip for any numbers, also those that are not finite.
func TestContributions(t *testing.T) {
	m := testkit.Must(NewClipped(ClippedConfig{Clip: 2, Steps: 10, Teachers: 1, Temperature: 1, Queries: 1}))
	for _, c := range []struct{ teacher, public, want float64 }{
		{1, 0.5, 3}, {9, 0, 10}, {-9, 0, -10}, {0, math.Inf(-1), 10}, {math.Inf(-1), 0, -10}, {math.Inf(-1), math.Inf(-1), 0},
		{math.NaN(), 0, 0}, {0, math.NaN(), 0}, {1e300, -1e300, 10}, {0.1, 0, 1}, {0.05, 0, 0},
	} {
		scores := []int64{7}
		m.Add(scores, []float64{c.teacher}, []float64{c.public})
		require.Equal(t, 7+int64(c.want), scores[0], "%+v", c)
	}
	scores := make([]int64, 4)
	m.Add(scores, []float64{-3, -3.4, math.NaN(), -20}, nil)
	require.Equal(t, []int64{10, 8, 0, -10}, scores)
	m.Add(scores, []float64{math.Inf(-1), math.Inf(-1), math.NaN(), math.Inf(-1)}, nil)
	require.Equal(t, []int64{10, 8, 0, -10}, scores)
	require.Equal(t, []int64{maxBase, -maxBase, 5}, m.Base([]float64{math.Inf(1), math.Inf(-1), 1}))
}

// TestCoordinated: each teacher's vote has its own distribution (false-alarm rate 1e-9), and teachers with
// equal distributions agree, whatever the order of their tokens.
func TestCoordinated(t *testing.T) {
	tokens, law := []int{4, 9, 70, 100_000}, []float64{0.5, 0.25, 0.2, 0.05}
	logs := testkit.Series(len(law), func(i int) float64 { return math.Log(law[i]) + 3 })
	shuffled, moved := []int{70, 100_000, 4, 9, 5}, []float64{logs[2], logs[3], logs[0], logs[1], math.Inf(-1)}
	n, seen, agreed := some(200_000), make([]float64, 4), 0
	for q := range n {
		token := Coordinated(6, uint64(q), tokens, logs)
		require.Equal(t, token, Coordinated(6, uint64(q), shuffled, moved))
		seen[slices.Index(tokens, token)]++
		if token == Coordinated(7, uint64(q), tokens, logs) {
			agreed++
		}
	}
	requireLaw(t, seen, law)
	require.InDelta(t, 0.355, float64(agreed)/float64(n), 0.02) // independent seeds: the sum of squares
	require.Equal(t, None, Coordinated(6, 1, tokens[:2], []float64{math.Inf(-1), math.NaN()}))
}

func BenchmarkAnswer(b *testing.B) {
	in := Input{Counts: Counts{Size: 128_000}, Public: None}
	for i := range 100 { // of 512 teachers
		in.Counts.Tokens, in.Counts.Votes = append(in.Counts.Tokens, 1279*i), append(in.Counts.Votes, []int64{1, 417}[i/99])
	}
	for i := range 1000 {
		in.List, in.Scores = append(in.List, i), append(in.Scores, int64(i))
	}
	gnmax := testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 40, Queries: 1 << 30}))
	for name, m := range map[string]Mechanism{
		"gnmax":        gnmax,
		"screen":       testkit.Must(NewScreen(ScreenConfig{B1: 10, B2: 200, Threshold: 100, Failures: 1 << 20, Epochs: 1 << 10}, gnmax)),
		"limited 100":  testkit.Must(NewLimited(LimitedConfig{Scale: 10, Domain: 100, Margin: 200, Queries: 1 << 40})),
		"clipped 1000": testkit.Must(NewClipped(ClippedConfig{Clip: 1, Steps: 1 << 20, Teachers: 512, Temperature: 1, Queries: 1 << 40})),
	} {
		b.Run(name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				session := m.Start(rng.SeedKey(rand.Uint64()))
				for q := uint64(0); pb.Next(); q++ {
					if _, err := session.Answer(State{}, q, in); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
		})
	}
}
