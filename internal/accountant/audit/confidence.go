package audit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Count is how often an event happened in independent runs.
type Count struct{ Hits, Runs int }

func (c Count) validate() error {
	if c.Runs < 1 || c.Hits < 0 || c.Hits > c.Runs {
		return fmt.Errorf("audit: %d of %d runs is no count", c.Hits, c.Runs)
	}
	return nil
}

// Limits returns the Clopper-Pearson limits of the probability of the event: each is on the wrong side of
// it with probability at most alpha/2, whatever it is. They are rounded outwards.
func (c Count) Limits(alpha float64) (lower, upper float64, err error) {
	if err := c.validate(); err != nil {
		return 0, 0, err
	}
	if err := validateAlpha(alpha); err != nil {
		return 0, 0, err
	}
	upper = 1 - c.complement().lowerLimit(alpha) + 1e-14
	if c.Hits == 0 { // a closed form
		upper = -math.Expm1(math.Log(alpha/2) / float64(c.Runs))
	}
	return c.lowerLimit(alpha) * (1 - rounding), math.Min(upper*(1+rounding), 1), nil
}

func (c Count) complement() Count { return Count{c.Runs - c.Hits, c.Runs} }

// lowerLimit returns the p at which P[Bin(n, p) >= k] = I_p(k, n-k+1) is alpha/2.
func (c Count) lowerLimit(alpha float64) float64 {
	if c.Hits == 0 {
		return 0
	}
	k, n := float64(c.Hits), float64(c.Runs)
	return leastAbove(k/n, func(p float64) bool { return mathext.RegIncBeta(k, n-k+1, p) > alpha/2 })
}

// rounding is more than the relative error of a limit.
const rounding = 1e-11

func validateAlpha(alpha float64) error {
	if !(alpha >= 1e-12 && alpha <= 0.5) {
		return fmt.Errorf("audit: the chance of a false alarm must be in [1e-12, 1/2], not %g", alpha)
	}
	return nil
}

// leastAbove returns the p in (0, high) where an increasing condition begins to hold.
func leastAbove(high float64, holds func(p float64) bool) float64 {
	low := 0.0
	for range 200 {
		mid := low + (high-low)/2
		if mid <= low || mid >= high {
			break
		}
		if holds(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return low
}

// LowerBound returns the bound on epsilon at delta that an event chosen in advance gives, which happened on
// one input and beside it so often: the logarithm of (L - delta)/U, L and U the Clopper-Pearson limits
// below the one and above the other. It exceeds the true epsilon with probability at most alpha; it is 0 if
// the event shows nothing.
func LowerBound(on, beside Count, delta, alpha float64) (float64, error) {
	if !(delta >= 0 && delta < 1) {
		return 0, fmt.Errorf("audit: delta must be in [0, 1), not %g", delta)
	}
	low, _, err := on.Limits(alpha)
	if err != nil {
		return 0, err
	}
	_, high, err := beside.Limits(alpha)
	if err != nil {
		return 0, err
	}
	return math.Max(0, math.Log(math.Max(0, low-delta)/high)), nil
}
