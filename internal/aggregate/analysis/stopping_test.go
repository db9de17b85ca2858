package analysis

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStoppingAtADataDependentCostSeparatesNeighbours: answering the same query
// while its summed cost fits a budget takes a different number of answers on two
// histograms one moved vote apart, so the length of the transcript tells them apart.
func TestStoppingAtADataDependentCostSeparatesNeighbours(t *testing.T) {
	file := golden[struct {
		Stopping struct {
			Histogram, Neighbour []int
			Sigma, Alpha, Budget float64
			Cost                 []float64 `json:"cost_per_answer"`
			Answers              []int     `json:"answers_before_stop"`
		} `json:"data_dependent_stopping"`
	}](t, "mechanisms/filters.json")
	c := file.Stopping
	require.NotEmpty(t, c.Histogram)
	for i, counts := range [][]int{c.Histogram, c.Neighbour} {
		e := &instance{noise: gaussianNoise{c.Sigma}}
		cost := continuous(t, e, counts, []float64{c.Alpha}).both()[0]
		relative(t, c.Cost[i], cost, 1e-9, "%v", counts)
		require.Equal(t, c.Answers[i], int(math.Floor(c.Budget/cost)))
	}
	require.NotEqual(t, c.Answers[0], c.Answers[1])
	require.Less(t, c.Budget/float64(c.Answers[0]), c.Alpha/(c.Sigma*c.Sigma), "the worst case, which does not depend on the votes, stops both at once")
}
