package ledger

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// ErrBudgetExceeded is matched by every *BudgetError.
var ErrBudgetExceeded = errors.New("ledger: budget would be exceeded")

// BudgetError is the refusal of an event that does not fit the budget. Nothing was spent and nothing was
// written.
type BudgetError struct {
	Epsilon float64 // the total with the event, at Delta; may be +Inf
	Asked   float64 // the event alone
	Spent   float64 // the total without it
	Budget  float64
	Delta   float64
	Left    float64 // see Ledger.Left
}

// Error implements error.
func (e *BudgetError) Error() string {
	if math.IsInf(e.Epsilon, 1) {
		return fmt.Sprintf("ledger: the budget is epsilon %.6g at delta %g; %.6g is spent and with this no epsilon would hold: "+
			"it may fail with a chance that delta, or Config.FailureDelta, does not cover",
			e.Budget, e.Delta, e.Spent)
	}
	text := fmt.Sprintf("ledger: the budget is epsilon %.6g at delta %g; %.6g is spent and this would make it %.6g",
		e.Budget, e.Delta, e.Spent, e.Epsilon)
	if e.Left > 0 {
		text += fmt.Sprintf("; a release of epsilon %.6g still fits", e.Left)
	}
	return text
}

// Is makes errors.Is(err, ErrBudgetExceeded) hold.
func (e *BudgetError) Is(target error) bool { return target == ErrBudgetExceeded }

var errExhausted = fmt.Errorf("%w: a reservation was cut off before it said its cost, so it counts as all that was left",
	ErrBudgetExceeded)

// count adds events to the balance and returns their charges and the total with each. On an error nothing
// is added.
func (l *Ledger) count(events []accountant.Event) ([]*charge, []float64, error) {
	b := l.chain.balance
	var before snapshot
	if len(events) > 1 { // a single one is refused before it is added
		before = b.snapshot()
	}
	// Loss distributions are asked once, of the whole batch.
	together := len(events) > 1 && b.cfg.Method() != accountant.ByRDP
	charges, epsilons := make([]*charge, len(events)), make([]float64, len(events))
	for i, e := range events {
		text, err := accountant.MarshalEvent(e)
		if err == nil && len(text) > maxLine/2 {
			err = fmt.Errorf("an event of %d bytes, at most %d are taken", len(text), maxLine/2)
		}
		if err == nil {
			charges[i], epsilons[i], err = l.afford(text, together)
		}
		if err == nil {
			err = b.add(charges[i])
		}
		if err != nil {
			if len(events) > 1 {
				b.restore(before)
			}
			var over *BudgetError
			if errors.As(err, &over) {
				return nil, nil, err
			}
			return nil, nil, fmt.Errorf("ledger: %w", err)
		}
	}
	if together {
		return charges, epsilons, l.affordAll(charges, epsilons[len(epsilons)-1], before)
	}
	return charges, epsilons, nil
}

// affordAll checks that a counted batch fits, or takes it back.
func (l *Ledger) affordAll(charges []*charge, line float64, before snapshot) error {
	b := l.chain.balance
	if line <= b.cfg.Epsilon && b.cfg.Method() != accountant.ByPLD {
		return nil
	}
	total, err := b.total()
	if err == nil && total.Epsilon <= b.cfg.Epsilon {
		return nil
	}
	b.restore(before)
	if err != nil {
		return err
	}
	return l.overBudget(total.Epsilon, charges...)
}

// overBudget returns the refusal of charges that would make the total epsilon.
func (l *Ledger) overBudget(epsilon float64, charges ...*charge) error {
	b := l.chain.balance
	spent, err := b.total()
	if err != nil {
		return err
	}
	return &BudgetError{
		Epsilon: epsilon, Asked: b.alone(charges...), Spent: spent.Epsilon,
		Budget: b.cfg.Epsilon, Delta: b.cfg.Delta, Left: b.left().Epsilon,
	}
}

// Try returns the error that Reserve, or ReserveBatch, would return for new events now. Nothing is charged
// and nothing is written.
func (l *Ledger) Try(events ...accountant.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.chain.mayReserve(); err != nil {
		return err
	}
	before := l.chain.balance.snapshot()
	_, _, err := l.count(events)
	l.chain.balance.restore(before)
	return err
}

// afford returns the charge of an event and the epsilon of its line, or a *BudgetError. Of events that are
// taken together it does not ask whether they fit.
func (l *Ledger) afford(text []byte, together bool) (*charge, float64, error) {
	b := l.chain.balance
	more, err := b.chargeOf(text)
	if err != nil {
		return nil, 0, err
	}
	if together {
		line, err := b.onOrders(more)
		return more, line, err
	}
	line, total, err := b.price(b.cfg.Method(), more)
	if err != nil {
		return nil, 0, err
	}
	if !(total <= b.cfg.Epsilon) {
		return nil, 0, l.overBudget(total, more)
	}
	return more, line, nil
}
