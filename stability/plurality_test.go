package stability

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func sum(counts []int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

// graph lists, for each histogram of at most n votes, the histograms that one change leads to.
func graph(n, classes int, change Change) (nodes, edges [][]int) {
	nodes = testkit.Histograms(n, classes)
	return nodes, testkit.Neighbours(nodes, change == VoteMoves)
}

// winners lists who can win.
func winners(h []int, ties Ties) (set []int) {
	for j, n := range h {
		if n == slices.Max(h) {
			set = append(set, j)
		}
	}
	if ties == LowestIndex {
		set = set[:1]
	}
	return set
}

// radii returns, for every node, the number of changes that certainly leave the same winner. It searches from
// all unstable nodes at once. A node is at radius 0 if it is tied or next to a node with another winner.
func radii(nodes, edges [][]int, ties Ties) []int64 {
	radius := make([]int64, len(nodes))
	var queue []int
	for i, h := range nodes {
		radius[i] = -1
		own := winners(h, ties)
		unstable := len(own) > 1
		for _, j := range edges[i] {
			other := winners(nodes[j], ties)
			unstable = unstable || len(other) > 1 || other[0] != own[0]
		}
		if unstable {
			radius[i] = 0
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[0]
		queue = queue[1:]
		for _, j := range edges[i] {
			if radius[j] < 0 {
				radius[j] = radius[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return radius
}

// TestPluralityIsBreadthFirstSearch tries every histogram of eight teachers, of whom some
// may abstain, and up to four classes. The closed form is what breadth-first search finds.
func TestPluralityIsBreadthFirstSearch(t *testing.T) {
	for _, change := range []Change{VoteMoves, VoteAppears} {
		for _, ties := range []Ties{LowestIndex, AnyTies} {
			compared := 0
			for classes := 2; classes <= 4; classes++ {
				teachers := 8
				if change == VoteAppears {
					teachers = 17 // so that there are enough to cast any vote
				}
				if change == VoteAppears && classes == 4 {
					teachers = 12
				}
				nodes, edges := graph(teachers, classes, change)
				radius := radii(nodes, edges, ties)
				for i, h := range nodes {
					if change == VoteAppears && sum(h) > teachers/2 {
						continue // the search ends at the last teacher
					}
					winner, distance, err := Plurality(h, change, ties)
					require.NoError(t, err)
					require.Equal(t, winners(h, LowestIndex)[0], winner)
					require.Equal(t, radius[i], distance, "%v, change %v, ties %v", h, change, ties)
					compared++
				}
			}
			t.Logf("change %d, ties %d: %d histograms", change, ties, compared)
		}
	}
}

// TestOtherStatisticsAreNotAdmissible tries statistics that look like a distance and are not. The same
// graph finds a sensitivity above 1, or a positive value next to another winner.
func TestOtherStatisticsAreNotAdmissible(t *testing.T) {
	type verdict struct{ sensitivity, atChange float64 }
	lead := func(h []int) float64 { _, lead := margin(h); return float64(lead) }
	distance := func(ties Ties) func(h []int) float64 {
		return func(h []int) float64 {
			_, d, err := Plurality(h, VoteMoves, ties)
			require.NoError(t, err)
			return float64(d)
		}
	}
	for name, c := range map[string]struct {
		statistic func(h []int) float64
		want      verdict
	}{
		"distance":          {distance(LowestIndex), verdict{1, 0}},
		"tie-safe distance": {distance(AnyTies), verdict{1, 0}},
		"(gap-2)/2":         {func(h []int) float64 { return max(0, (lead(h)-2)/2) }, verdict{1, 0}},
		"gap/2":             {func(h []int) float64 { return lead(h) / 2 }, verdict{1, 1}},
		"floor of gap/2":    {func(h []int) float64 { return math.Floor(lead(h) / 2) }, verdict{1, 1}},
		"ceil of gap/2":     {func(h []int) float64 { return math.Ceil(lead(h) / 2) }, verdict{1, 1}},
		"(gap-1)/2":         {func(h []int) float64 { return max(0, (lead(h)-1)/2) }, verdict{1, 0.5}},
		"gap-1":             {func(h []int) float64 { return max(0, lead(h)-1) }, verdict{2, 1}},
		"gap":               {lead, verdict{2, 2}},
	} {
		var got verdict
		for classes := 2; classes <= 4; classes++ {
			nodes, edges := graph(7, classes, VoteMoves)
			for i, h := range nodes {
				for _, j := range edges[i] {
					a, b := c.statistic(h), c.statistic(nodes[j])
					got.sensitivity = max(got.sensitivity, math.Abs(a-b))
					if winners(h, LowestIndex)[0] != winners(nodes[j], LowestIndex)[0] {
						got.atChange = max(got.atChange, a, b)
					}
				}
			}
		}
		require.Equal(t, c.want, got, name)
	}
}

// TestPluralityProperties tries elections that are too large for the search. Distances of
// neighbours are at most 1 apart, and 0 where winners differ, and the distance is attained.
func TestPluralityProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		change := Change(rapid.IntRange(1, 2).Draw(t, "change"))
		ties := Ties(rapid.IntRange(1, 2).Draw(t, "ties"))
		h := rapid.SliceOfN(rapid.IntRange(0, 1000), 2, 8).Draw(t, "counts")
		winner, d, err := Plurality(h, change, ties)
		require.NoError(t, err)
		next := append([]int(nil), h...)
		up := rapid.IntRange(0, len(h)-1).Draw(t, "up")
		if change == VoteMoves {
			down := rapid.IntRange(0, len(h)-1).Draw(t, "down")
			if next[down] > 0 {
				next[down]--
			}
		}
		next[up]++
		other, e, err := Plurality(next, change, ties)
		require.NoError(t, err)
		require.LessOrEqual(t, max(d-e, e-d), int64(1))
		if other != winner {
			require.Zero(t, d)
			require.Zero(t, e)
		}
	})
}

func TestPluralityRefuses(t *testing.T) {
	for _, counts := range [][]int{nil, {1}, {1, -1}, {1, maxCount + 1}} {
		_, _, err := Plurality(counts, VoteMoves, LowestIndex)
		require.Error(t, err)
	}
	_, _, err := Plurality([]int{1, 2}, 0, LowestIndex)
	require.ErrorContains(t, err, "Change")
	_, _, err = Plurality([]int{1, 2}, VoteMoves, 3)
	require.ErrorContains(t, err, "Ties")
}
