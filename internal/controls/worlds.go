package controls

import (
	"context"
	"fmt"
	"slices"

	"github.com/pate-go/pate/internal/accountant/audit"
)

// lawAccuracy is that of the laws, relative.
const lawAccuracy = 1e-9

// overVotes audits a law over all ways in which a number of teachers can vote or abstain, one of whom votes
// otherwise, stops or starts voting.
func overVotes(ctx context.Context, claim audit.Claim, teachers, classes int, law func(counts []int) ([]float64, error)) (audit.Finding, error) {
	laws := map[string][]float64{}
	var all [][]int
	for votes := range teachers + 1 {
		all = append(all, histograms(votes, classes)...)
	}
	for _, counts := range all {
		if err := ctx.Err(); err != nil {
			return audit.Finding{}, err
		}
		l, err := law(counts)
		if err != nil {
			return audit.Finding{}, err
		}
		laws[fmt.Sprint(counts)] = l
	}
	return audit.Exact(claim, lawAccuracy, func(yield func(p, q []float64) bool) {
		for _, counts := range all {
			p := laws[fmt.Sprint(counts)]
			for from := range classes + 1 { // the last stands for abstaining
				for to := range from { // audit.Exact takes a pair both ways
					other := slices.Clone(counts)
					if from < classes {
						other[from]--
					}
					if to < classes {
						other[to]++
					}
					if q, ok := laws[fmt.Sprint(other)]; ok && !yield(p, q) {
						return
					}
				}
			}
		}
	})
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
