package ledger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Left is the rest of a budget under composition. This rest is larger than the budget minus the used epsilon:
// if 1.2 of 2 is used, about 1.55 is left. Left uses only Rényi divergences. More may fit with privacy loss
// distributions: see [Ledger.Fits] and [Ledger.LeastNoise].
type Left struct {
	// Rho is the zCDP cost of the largest Gaussian release that fits. Its noise multiplier is 1/sqrt(2 Rho).
	Rho float64
	// Epsilon is the epsilon of one Gaussian release with zCDP cost Rho, at the ledger's delta and the best
	// default order. If a larger epsilon fits at Rényi order +Inf (pure privacy), Epsilon is this larger
	// epsilon.
	Epsilon float64
}

func (b *balance) left() Left {
	var out Left
	pure, shift := 0.0, b.shift(b.failure)
	for i, a := range b.cfg.Orders {
		room := (b.cfg.Epsilon-b.penalty[i]-atOrder(shift, a))*(1-1e-12) - b.divergence(i, 0)
		switch {
		case !(room > 0): // also if the sum is infinite
		case math.IsInf(a, 1):
			pure = room
		default:
			out.Rho = math.Max(out.Rho, mathx.Down(room/a*(1-1e-11)))
		}
	}
	out.Epsilon = math.Max(b.gaussian(out.Rho), pure)
	return out
}

// gaussian returns the epsilon of one Gaussian release with zCDP parameter rho, at the ledger's delta. The
// result is at most the ledger's budget.
func (b *balance) gaussian(rho float64) float64 {
	// It uses the default orders, because a filter has few orders, at which even a tiny release has a large
	// epsilon.
	if rho == 0 {
		return 0
	}
	if b.alonePenalty == nil {
		b.aloneOrders = slices.DeleteFunc(accountant.DefaultOrders(), func(a float64) bool { return math.IsInf(a, 1) })
		for _, a := range b.aloneOrders {
			p, err := penalty(a, b.cfg.Delta)
			if err != nil { // an order without a conversion
				p = math.Inf(1)
			}
			b.alonePenalty = append(b.alonePenalty, p)
		}
	}
	least := math.Inf(1)
	for i, a := range b.aloneOrders {
		least = math.Min(least, a*rho+b.alonePenalty[i])
	}
	return math.Min(math.Max(0, least), b.cfg.Epsilon)
}

// Left returns the rest of the budget. It is zero if nothing more can be reserved.
func (l *Ledger) Left() Left {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.left()
}

func (c *chain) left() Left {
	if c.mayReserve() != nil {
		return Left{}
	}
	return c.balance.left()
}

// Fits returns the largest n for which accountant.Repeated{e, n} fits the budget now, and reserves nothing.
func (l *Ledger) Fits(ctx context.Context, e accountant.Event) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.chain.mayReserve(); err != nil {
		return 0, err
	}
	n, err := accountant.Affordable(ctx, l.trial, l.target(), func(count int64) (accountant.Event, error) {
		return accountant.Repeated{Event: e, Count: count}, nil
	})
	return n, wrapped(err)
}

// LeastNoise returns the least noise for which event(noise) fits the budget now, and reserves nothing.
func (l *Ledger) LeastNoise(ctx context.Context, event func(noise float64) (accountant.Event, error)) (float64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.chain.mayReserve(); err != nil {
		return 0, err
	}
	noise, _, err := accountant.CalibrateNoise(ctx, l.trial, l.target(), event)
	return noise, wrapped(err)
}

func (l *Ledger) target() accountant.Target {
	return accountant.Target{Epsilon: l.chain.balance.cfg.Epsilon, Delta: l.chain.balance.cfg.Delta}
}

func (l *Ledger) trial() (accountant.Accountant, error) {
	b := l.chain.balance
	return &trial{balance: b, method: b.cfg.Method()}, nil
}

type trial struct {
	balance *balance
	method  accountant.Method
	more    *charge
}

func (t *trial) Rough() accountant.Accountant {
	if t.method == accountant.ByRDP {
		return nil
	}
	return &trial{balance: t.balance, method: accountant.ByRDP}
}

func (t *trial) Compose(e accountant.Event, count int64) error {
	if t.more != nil || count != 1 {
		return errors.New("ledger: a trial takes one event")
	}
	text, err := accountant.MarshalEvent(e)
	if err != nil {
		return err
	}
	t.more, err = t.balance.chargeOf(text)
	return err
}

func (t *trial) Epsilon(context.Context, float64) (accountant.Bound, error) {
	line, err := t.balance.onOrders(t.more)
	if err != nil {
		return accountant.Bound{}, err
	}
	// Do not use price. Its fast case returns a larger epsilon, so a calibration would find too much noise.
	_, epsilon, err := t.balance.least(t.method, line, t.more)
	return accountant.Bound{Upper: epsilon}, err
}

func (t *trial) Delta(context.Context, float64) (accountant.Bound, error) {
	return accountant.Bound{}, errors.New("ledger: a trial has no delta of its own")
}

var ErrBudgetExceeded = errors.New("ledger: budget would be exceeded")

// BudgetError reports an event that does not fit the budget. Nothing was spent or written.
type BudgetError struct {
	Epsilon float64 // total with the event, at Delta; may be +Inf
	Asked   float64 // cost of the event alone
	Spent   float64 // total without the event
	Budget  float64
	Delta   float64
	Left    float64 // Epsilon of Ledger.Left
}

func (e *BudgetError) Error() string {
	if math.IsInf(e.Epsilon, 1) {
		return fmt.Sprintf("ledger: the budget is epsilon %.6g at delta %g, and epsilon %.6g is spent; with this charge no epsilon would hold, "+
			"because delta, or Config.FailureDelta, does not cover its probability of failure",
			e.Budget, e.Delta, e.Spent)
	}
	text := fmt.Sprintf("ledger: this charge would raise epsilon from %.6g to %.6g, but the budget is epsilon %.6g at delta %g",
		e.Spent, e.Epsilon, e.Budget, e.Delta)
	if e.Left > 0 {
		text += fmt.Sprintf("; a release of at most epsilon %.6g would fit", e.Left)
	}
	return text
}

func (e *BudgetError) Is(target error) bool { return target == ErrBudgetExceeded }

var errExhausted = fmt.Errorf("%w: a reservation was cut off before its cost was written, so it counts as all that was left",
	ErrBudgetExceeded)

// count adds events to the balance. If count returns an error, the balance is unchanged.
func (l *Ledger) count(events []accountant.Event) ([]*charge, []float64, error) {
	b := l.chain.balance
	var before snapshot
	if len(events) > 1 { // a single event is refused before it is added
		before = b.snapshot()
	}
	// Privacy loss distributions are computed once per batch.
	together := len(events) > 1 && b.cfg.Method() != accountant.ByRDP
	charges, epsilons := make([]*charge, len(events)), make([]float64, len(events))
	for i, e := range events {
		text, err := accountant.MarshalEvent(e)
		if err == nil && len(text) > maxLine/2 {
			err = fmt.Errorf("an event has %d bytes, but at most %d are allowed", len(text), maxLine/2)
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

// Try returns the error that ReserveBatch would return for new events. It charges and writes nothing.
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

// afford returns the charge of an event and the epsilon for its ledger line. If `together` is true, afford
// does not check the budget, and the caller must check it for the whole batch.
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
