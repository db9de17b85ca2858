package analysis

import (
	"context"
	"math"
	"testing"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/stretchr/testify/require"
)

// A bound in terms of q is used with an upper bound of q, so it must grow with q wherever it is given at all.
func TestFlipBoundGrowsWithTheProbability(t *testing.T) {
	given := 0
	for _, sigma := range []float64{2, 5, 10, 40, 150} {
		for _, a := range []float64{1.5, 2, 5, 17, 40} {
			last := 0.0
			for logQ := -60.0; logQ < 0; logQ += 0.01 {
				bound, ok := flipBound(logQ, sigma, a)
				if !ok {
					continue
				}
				given++
				require.GreaterOrEqual(t, bound, last*(1-1e-9), "sigma %v, order %v, log q %v", sigma, a, logQ)
				last = bound
			}
		}
	}
	require.Greater(t, given, 10000)
}

// Queries with the same votes change together: twice the queries are twice the
// sensitivity, of the threshold test too.
func TestSensitivityCountsEveryQuery(t *testing.T) {
	argmax := 0.0
	for _, m := range []Mechanism{gnmax(4), confident(8, 2, 4)} {
		l := testkit.Must(newSensitivity(m, 3, 3))
		profile := func(times int) []float64 {
			var rows [][]int
			for range times {
				rows = append(rows, smallVotes...)
			}
			groups, _, err := collect(context.Background(), histograms(rows), Options{})
			require.NoError(t, err)
			require.Len(t, groups, len(smallVotes), "equal votes are one group")
			p := testkit.Must(l.worst(context.Background(), groups, 20))
			return p
		}
		once, thrice := profile(1), profile(3)
		for d := range once {
			require.InDelta(t, 3*once[d], thrice[d], 1e-12*(1+once[d]), "%T at distance %d", m, d)
		}
		require.Positive(t, once[0])
		if m.Tested {
			require.Greater(t, once[0], argmax, "the test is sensitive too")
		}
		argmax = once[0]
	}
}

// What leaves is rounded up to the grid: on a coarse one it is above the noisy value
// by half a unit on average, and not below by that.
func TestReleaseIsRoundedUp(t *testing.T) {
	const seeds = 400
	s := testkit.Must(NewSanitizer(SanitizerConfig{
		Mechanism: gnmax(2), Queries: 60, Teachers: 20, Classes: 3, Delta: 1e-5,
		Order: 4, Beta: 0.05, Sigma: 0.05, Grid: 0.5,
	}))
	var rows [][]int
	for range 20 {
		rows = append(rows, smallVotes...)
	}
	groups, _, err := collect(context.Background(), histograms(rows), Options{})
	require.NoError(t, err)
	mean, sd, err := s.noise(context.Background(), groups)
	require.NoError(t, err)
	require.Greater(t, mean, 5*sd+1, "far from 0")
	require.Less(t, mean, s.worst-5*sd-1, "and from the worst case")
	total := 0.0
	for seed := range uint64(seeds) {
		charge := testkit.Must(book(t, 1e6).Reserve(s.Event()))
		r := testkit.Must(s.Release(t.Context(), charge, rng.SeedKey(seed), histograms(rows)))
		total += r.Cost - mean
	}
	// six standard deviations of the mean: false alarm below 1e-8
	require.InDelta(t, s.cfg.Grid/2, total/seeds, 6*math.Sqrt((sd*sd+s.cfg.Grid*s.cfg.Grid/12)/seeds))
	require.Less(t, 6*math.Sqrt((sd*sd+s.cfg.Grid*s.cfg.Grid/12)/seeds), s.cfg.Grid/2, "so a mean of -1/2 is found")
}
