package label

import (
	"fmt"

	"github.com/pate-go/pate/accountant/ledger"
)

// BudgetError says that a run does not fit the budget, and how many queries would at its noise, all of them
// answered: 0 where asking less costs the same.
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
