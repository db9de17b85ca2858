package theorems

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Basic accounts by basic composition: epsilons add up, deltas add up (Dwork, Kenthapadi, McSherry,
// Mironov, Naor 2006). Events with a trade-off of epsilon against delta share what delta is left equally,
// run by run. It holds whatever the mechanisms are, also when they are chosen adaptively, and its Lower is
// always 0.
type Basic struct{ composition }

var _ accountant.Accountant = (*Basic)(nil)

// NewBasic starts an empty account.
func NewBasic(rel accountant.Relation) (*Basic, error) {
	c, err := newComposition(rel, nil, func(rs []runs, _ float64) float64 { return basicEpsilon(rs) })
	return &Basic{c}, err
}

// basicEpsilon returns the sum of all epsilons, rounded up.
func basicEpsilon(rs []runs) float64 {
	sum := 0.0
	for _, r := range rs {
		term := r.epsilon
		if r.count > 1 {
			term = mathx.Up(r.epsilon * float64(r.count))
		}
		sum = sumUp(sum, term)
	}
	if math.IsNaN(sum) {
		return math.Inf(1)
	}
	return sum
}
