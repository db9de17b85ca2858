package controls

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/pate-go/pate/internal/accountant/audit"
)

// lawAccuracy is the relative accuracy of the laws.
const lawAccuracy = 1e-9

// laws are logarithms of the probabilities of all outcomes, on pairs of neighbours.
type laws = iter.Seq2[[]float64, []float64]

// byLaw returns a target whose laws on pairs of neighbours are compared.
func byLaw(name, on string, claim claimer, pairs laws) Target {
	return Target{Name: name, Method: ByLaw, On: on, audit: func(_ context.Context, e effort) (audit.Finding, error) {
		c, err := claim(e.delta)
		if err != nil {
			return audit.Finding{}, err
		}
		return audit.Exact(c, lawAccuracy, pairs)
	}}
}

// onePair is for targets with one pair of laws.
func onePair(p, q []float64) laws {
	return func(yield func(p, q []float64) bool) { yield(p, q) }
}

// overVotes compares the laws over all ways in which a number of teachers can vote or abstain, one of whom
// votes otherwise, stops or starts voting.
func overVotes(teachers, classes int, law func(counts []int) []float64) laws {
	return func(yield func(p, q []float64) bool) {
		known := map[string][]float64{}
		var all [][]int
		for votes := range teachers + 1 {
			all = append(all, histograms(votes, classes)...)
		}
		for _, counts := range all {
			known[fmt.Sprint(counts)] = law(counts)
		}
		for _, counts := range all {
			for from := range classes + 1 { // the last stands for abstaining
				for to := range from { // audit.Exact takes a pair both ways
					other := slices.Clone(counts)
					if from < classes {
						other[from]--
					}
					if to < classes {
						other[to]++
					}
					if q, ok := known[fmt.Sprint(other)]; ok && !yield(known[fmt.Sprint(counts)], q) {
						return
					}
				}
			}
		}
	}
}

// histograms lists all ways in which votes can fall.
func histograms(votes, classes int) [][]int {
	if classes == 1 {
		return [][]int{{votes}}
	}
	var out [][]int
	for n := range votes + 1 {
		for _, rest := range histograms(votes-n, classes-1) {
			out = append(out, append([]int{n}, rest...))
		}
	}
	return out
}
