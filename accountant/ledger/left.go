package ledger

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Left is the rest of a budget after composition, which is more than the difference of two epsilons: after
// 1.2 of 2, about 1.55. It is by Rényi divergences; where loss distributions may claim, [Ledger.Fits] and
// [Ledger.LeastNoise] find more.
type Left struct {
	// Rho is the largest Gaussian release that still fits, as zero-concentrated cost: one with noise
	// multiplier 1/sqrt(2 Rho).
	Rho float64
	// Epsilon is the cost of that release alone, at the ledger's delta and the best of the default orders;
	// or, with order +Inf in use, the largest pure epsilon that still fits where that is more.
	Epsilon float64
}

// left rounds down, so that its answer fits.
func (b *balance) left() Left {
	var out Left
	pure, shift := 0.0, b.shift(b.failure)
	for i, a := range b.cfg.Orders {
		room := (b.cfg.Epsilon-b.penalty[i]-atOrder(shift, a))*(1-1e-12) - b.divergence(i, 0)
		switch {
		case !(room > 0): // also where the sum is infinite
		case math.IsInf(a, 1):
			pure = room
		default:
			out.Rho = math.Max(out.Rho, mathx.Down(room/a*(1-1e-11)))
		}
	}
	out.Epsilon = math.Max(b.gaussian(out.Rho), pure)
	return out
}

// gaussian returns the epsilon of a Gaussian release alone, at the ledger's delta. It does not use the
// ledger's orders: at the one order of a filter a tiny release costs the whole penalty.
func (b *balance) gaussian(rho float64) float64 {
	if rho == 0 {
		return 0
	}
	if b.alonePenalty == nil {
		b.aloneOrders = slices.DeleteFunc(accountant.DefaultOrders(), func(a float64) bool { return math.IsInf(a, 1) })
		for _, a := range b.aloneOrders {
			p, err := penalty(a, b.cfg.Delta)
			if err != nil { // of no order that has a conversion
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

// Left returns the rest of the budget; zero once nothing more can be reserved.
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

// Fits returns how often, at most, e could be reserved now, as one accountant.Repeated. Nothing is
// reserved.
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

// LeastNoise returns the least noise for which the event could be reserved now; see
// accountant.CalibrateNoise. Nothing is reserved.
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

// trial is the accountant of one event on top of a balance.
type trial struct {
	balance *balance
	method  accountant.Method
	more    *charge
}

// Rough implements accountant.Rougher.
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
	// Not price: a calibration would take noise whose cost on orders just fits for the least.
	_, epsilon, err := t.balance.least(t.method, line, t.more)
	return accountant.Bound{Upper: epsilon}, err
}

func (t *trial) Delta(context.Context, float64) (accountant.Bound, error) {
	return accountant.Bound{}, errors.New("ledger: a trial has no delta of its own")
}
