package audit

import (
	"fmt"
	"math"
)

// Claim is that a mechanism is (Epsilon, Delta)-differentially private.
type Claim struct {
	Epsilon float64 // >= 0, finite
	Delta   float64 // in [0, 1)
}

func (c Claim) validate() error {
	if !(c.Epsilon >= 0) || math.IsInf(c.Epsilon, 1) || !(c.Delta >= 0 && c.Delta < 1) {
		return fmt.Errorf("audit: a claim has a finite epsilon >= 0 and a delta in [0, 1), not (%g, %g)", c.Epsilon, c.Delta)
	}
	return nil
}

// Finding is what an audit has found out.
type Finding struct {
	Claim Claim
	// Epsilon is a lower bound on every epsilon that is true at Claim.Delta, with confidence 1 - Alpha; 0
	// says nothing, +Inf that there is none.
	Epsilon float64
	// Alpha is the chance that a true claim is refuted; 0 for exact laws.
	Alpha float64
	// Runs is the number of runs, or of guesses; 0 for exact laws.
	Runs int
	// Evidence says in words what the bound is made of.
	Evidence string
}

// Refuted reports whether the bound exceeds the claim.
func (f Finding) Refuted() bool { return f.Epsilon > f.Claim.Epsilon }
