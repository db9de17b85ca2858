package aggregate

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestRoughLaplace holds what ranks numbers of queries to its tolerance.
func TestRoughLaplace(t *testing.T) {
	for _, scale := range []float64{5, 20, 90, 400} {
		rough := testkit.Must(laplaceChance(scale, true))
		fine := testkit.Must(laplaceChance(scale, false))
		for _, counts := range [][]int64{{80, 12, 3, 3, 2}, {50, 48, 2, 0, 0}, {20, 20, 20, 20, 20}, {9, 0, 91, 0, 0}} {
			for label := range counts {
				require.InDelta(t, fine(counts, label), rough(counts, label), 1e-2)
			}
		}
	}
}

// Against a map, on numbers that are near each other, far away and at the end.
func TestAnswerPagesKeepAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Uint64Range(0, 200), rapid.Uint64Range(1<<40, 1<<40+200), rapid.Uint64Min(1<<64-70))
		want := map[uint64]Answer{}
		var g answerPages
		for range rapid.IntRange(1, 300).Draw(t, "asked") {
			q := number.Draw(t, "query")
			before, ok := want[q]
			a, has := g.answer(q)
			require.Equal(t, ok, has)
			if ok {
				require.Equal(t, before, a)
				continue
			}
			a = Answer{Label: rapid.IntRange(NoLabel, 1<<15).Draw(t, "label")}
			a.Answered = a.Label != NoLabel
			a.Reused = a.Answered && rapid.Bool().Draw(t, "reused")
			g.add(q, a)
			want[q] = a
		}
		require.Equal(t, len(want), g.n)
	})
}

// Whatever the votes are, what was drawn before decides: every class has a turn,
// and permute-and-flip gives it just one.
func TestTurnsDecideForAllVotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 9).Draw(t, "classes")
		scale := math.Exp2(rapid.Float64Range(-10, 12).Draw(t, "log2 scale"))
		s := rng.SeedKey(rapid.Uint64().Draw(t, "seed")).Stream()
		flip := permuteAndFlip(t, scale).draw(nil, s, classes)
		repeated := exponential(t, scale).draw(nil, s, classes)
		require.Len(t, flip, 2*classes)
		for name, turns := range map[string][]int64{"flip": flip, "exponential": repeated} {
			seen := map[int64]bool{}
			for i := 0; i < len(turns); i += 2 {
				seen[turns[i]] = true
				require.True(t, turns[i] >= 0 && turns[i] < int64(classes) && turns[i+1] >= 0)
			}
			require.Len(t, seen, classes, name)

			counts := make([]int64, classes)
			for i := range counts {
				counts[i] = int64(rapid.IntRange(0, 50).Draw(t, "count"))
			}
			a := firstAccepted(counts, turns)
			require.True(t, a.Answered)
			// the definition: stop at the first acceptance
			for i := 0; ; i += 2 {
				if slices.Max(counts)-counts[turns[i]] <= turns[i+1] {
					require.Equal(t, int(turns[i]), a.Label)
					break
				}
			}
		}
	})
}

// Turns left out because an earlier one of the class went as far never win.
func TestExponentialLeavesOutOnlyLosers(t *testing.T) {
	m := exponential(t, 3)
	for seed := range uint64(300) {
		var all []int64
		s, left := rng.SeedKey(seed).Stream(), map[int64]bool{0: true, 1: true, 2: true}
		for len(left) > 0 {
			class, distance := int64(s.Uint64N(3)), m.distances.Geometric(s)
			delete(left, class)
			all = turn(all, class, distance)
		}
		drawn := m.draw(nil, rng.SeedKey(seed).Stream(), 3)
		require.LessOrEqual(t, len(drawn), len(all))
		for _, counts := range testkit.Histograms(12, 3) {
			votes := histogram(t, counts...).counts()
			require.Equal(t, firstAccepted(votes, all), m.decide(votes, drawn))
		}
	}
}

// A distance as far as an int64 goes accepts everything and overflows nothing.
func TestFirstAcceptedAtTheEnds(t *testing.T) {
	counts := []int64{0, maxCount}
	require.Equal(t, 0, firstAccepted(counts, []int64{0, math.MaxInt64, 1, 0}).Label)
	require.Equal(t, 1, firstAccepted(counts, []int64{0, maxCount - 1, 1, 0}).Label)
	require.Equal(t, 0, firstAccepted(counts, []int64{0, maxCount, 1, 0}).Label)
}

// Claims never fall short of 2/Scale, and are exactly that where they can be.
func TestEpsilonOfScale(t *testing.T) {
	require.Equal(t, 0.5, twiceOver(4))
	require.Equal(t, 4.0, twiceOver(0.5))
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Exp2(rapid.Float64Range(-10, 40).Draw(t, "log2 scale"))
		eps := twiceOver(scale)
		require.GreaterOrEqual(t, math.FMA(eps, scale, -2), 0.0)
		require.Less(t, math.FMA(math.Nextafter(eps, 0), scale, -2), 0.0, "the least such number")
	})
}
