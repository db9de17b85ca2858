package label

import (
	"fmt"

	"github.com/pate-go/pate/accountant/ledger"
)

// BudgetError says that a run does not fit the budget, and how many queries would
// at its noise, all of them answered: 0 where asking less costs the same.
type BudgetError struct {
	*ledger.BudgetError
	Queries int64
}

// Error implements error.
func (e *BudgetError) Error() string {
	if e.Queries == 0 {
		return fmt.Sprintf("label: %v", e.BudgetError)
	}
	return fmt.Sprintf("label: %v (%d queries at this noise)", e.BudgetError, e.Queries)
}

// Unwrap returns what the ledger said.
func (e *BudgetError) Unwrap() error { return e.BudgetError }

// Error says why nothing is released, for a person. It never tells a vote.
type Error struct {
	What string
	Why  string // may be empty
	Fix  string // may be empty
	// Check: what is there is not what it should be. Otherwise the run cannot be
	// had as it was asked for.
	Check bool
	Err   error // cause; may be nil
}

// Error implements error.
func (e *Error) Error() string {
	msg := "label: " + e.What
	if e.Why != "" {
		msg += "; " + e.Why
	}
	if e.Fix != "" {
		msg += "; " + e.Fix
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
