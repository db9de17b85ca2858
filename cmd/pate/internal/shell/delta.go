package shell

import (
	"fmt"

	"github.com/pate-go/pate/teachers/votes"
)

// CheckDelta refuses a delta that allows giving away the record of one of the teachers.
func CheckDelta(delta float64, votes *votes.Source) error {
	return CheckDeltaOf(delta, votes.Teachers())
}

// CheckDeltaOf does the same for n teachers, and nothing where n is 0, not known.
func CheckDeltaOf(delta float64, n int) error {
	if n > 0 && delta >= 1/float64(n) {
		return InputError(fmt.Errorf("--delta %g is not below 1/%d, one over the number of teachers", delta, n),
			"every teacher holds a record at least; such a delta allows giving one away", "choose a smaller --delta", "privacy")
	}
	return nil
}
