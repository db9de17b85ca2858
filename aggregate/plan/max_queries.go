package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
)

// MaxQueries returns how many queries, at most, a new ledger would take of a setting: with its
// noise, and with a cap on answers in the same proportion. 0 if not one. Of two modes it
// tells what the choice costs: mode Filter lets others charge later what they choose by
// earlier answers, for which Rényi divergences at orders fixed in advance are the bound
// that holds; mode Reserved may claim by loss distributions.
func MaxQueries(ctx context.Context, s aggregate.Setting, cfg ledger.Config) (int, error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return 0, err
	}
	s = d.Complete(s)
	fits := func(queries int) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		part := s
		part.Queries = queries
		if _, capped := s.Values["answers"]; capped {
			share := float64(queries) / float64(s.Queries)
			part = part.With("answers", min(math.Ceil(s.Values["answers"]*share), float64(queries)))
		}
		e, err := d.Event(part)
		if err != nil {
			return false, fmt.Errorf("plan: %w", err)
		}
		book, err := ledger.New(cfg)
		if err != nil {
			return false, fmt.Errorf("plan: %w", err)
		}
		err = book.Try(e)
		var over *ledger.BudgetError
		if errors.As(err, &over) {
			return false, nil
		}
		return err == nil, err
	}
	// Invariant: low fits, high does not or is beyond.
	low, high := 0, maxCarried+1
	for next := min(s.Queries, maxCarried); high-low > 1; {
		ok, err := fits(next)
		if err != nil {
			return 0, err
		}
		if ok {
			low = next
		} else {
			high = next
		}
		next = low + (high-low)/2
		if high > maxCarried { // near where it began
			next = min(low+low/4+1, maxCarried)
		}
	}
	return low, nil
}

// maxCarried is more queries than anybody labels.
const maxCarried = 1 << 30
