package label

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// setting is a mechanism with its parameters. Noise that it does not have yet is chosen to use what is left
// of the budget.
type setting struct {
	d aggregate.Description
	s aggregate.Setting
}

// setting returns what is asked for, with its caps.
func (c Config) setting() (setting, error) {
	d, err := mechanisms.Find(c.Setting.Mechanism)
	if err != nil {
		return setting{}, fmt.Errorf("label: %w", err)
	}
	s := c.Setting
	s.Queries, s.Teachers = c.Votes.Queries(), 0
	if d.Predicts {
		s.Teachers = c.Votes.Teachers()
	}
	return setting{d, d.Complete(s)}, nil
}

// mayFail reports whether the mechanism may release what it should not.
func (c Config) mayFail() bool {
	s, err := c.setting()
	return err == nil && s.d.Fails
}

// hasNoise reports whether all noise is given.
func (s setting) hasNoise() bool { return s.d.Settled(s.s) }

// event returns the worst case of the whole run.
func (s setting) event() (accountant.Event, error) {
	e, err := s.d.Event(s.s)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return e, nil
}

// check refuses what no noise would make right.
func (s setting) check() error {
	if n, capped := s.s.Values["failures"]; capped && n > float64(s.s.Queries) {
		return fmt.Errorf("label: %v refusals of %d queries", n, s.s.Queries)
	}
	return s.d.Check(s.s)
}

// try refuses a run that does not fit, and says how many queries would.
func (s setting) try(ctx context.Context, before *run.Before) error {
	e, err := s.event()
	if err != nil {
		return err
	}
	err = before.Try(e)
	var over *ledger.BudgetError
	if !errors.As(err, &over) {
		return err
	}
	one, cheaper, err := s.d.One(s.s)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if !cheaper {
		return &BudgetError{BudgetError: over}
	}
	if e, err = s.d.Event(one); err != nil {
		return fmt.Errorf("label: %w", err)
	}
	fits, err := before.Fits(ctx, e)
	if err != nil {
		return err
	}
	return &BudgetError{BudgetError: over, Queries: fits}
}

// chooseNoise chooses noise that was not given: the least, rounded up to six digits, for which the whole
// run fits what is left. If none does, the error is a *ledger.BudgetError.
func (s setting) chooseNoise(ctx context.Context, book *ledger.Ledger) (setting, error) {
	if s.hasNoise() {
		return s, nil
	}
	least := func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return book.LeastNoise(ctx, event)
	}
	if s.d.Fit != nil {
		return s.fit(ctx, book, least)
	}
	noise, err := s.d.Least(s.s, least)
	if errors.Is(err, accountant.ErrNoBracket) { // the reservation will say what is left
		noise, err = math.Inf(1), nil
	} else if err == nil {
		noise = number.Up(noise, 6)
	}
	if err != nil {
		return s, err
	}
	s.s = s.d.WithNoise(s.s, noise)
	return s, nil
}

// fit chooses the noise and threshold that need the least agreement. Half of what the ledger has for
// releases that should not be is for this run, its delta or what it keeps of it, or half of that and so on
// where earlier runs have left less.
func (s setting) fit(ctx context.Context, book *ledger.Ledger, least aggregate.LeastNoise) (setting, error) {
	account := book.Config()
	delta := account.Delta / 2
	if account.Mode == ledger.Filter {
		delta = account.FailureDelta / 2
	}
	for range 6 {
		fitted, err := s.d.Fit(s.s, delta, least)
		if errors.Is(err, stable.ErrNoFit) {
			delta /= 2
			continue
		}
		if err != nil {
			return s, fmt.Errorf("label: %w", err)
		}
		s.s = fitted
		return s, nil
	}
	// What costs next to nothing: if it does not fit, its reservation will say what is left.
	const wide = 1 << 20
	wideSetting := setting{s.d, s.s.With("threshold", 30*wide)}
	for _, p := range s.d.Noise() {
		if p.Instead == "" || p.Name == "scale" {
			wideSetting.s = wideSetting.s.With(p.Name, wide)
		}
	}
	e, err := wideSetting.event()
	if err != nil {
		return s, err
	}
	if n, err := book.Fits(ctx, e); err != nil || n == 0 {
		return wideSetting, err
	}
	return s, &fault.Error{What: "no noise that leaves anything of the votes fits what is left of the budget", Why: fmt.Sprintf("%s would need more than all teachers agreeing", s.s.Mechanism),
		Fix: "ask fewer queries, allow fewer failures, or take a noisy argmax"}
}

// chooseNoise returns the setting with all noise. Noise that was chosen and that no agreement of the
// teachers, whose number is public, gets over is not worth a charge.
func (c Config) chooseNoise(ctx context.Context, book *ledger.Ledger) (setting, error) {
	asked, err := c.setting()
	if err != nil {
		return asked, err
	}
	s, err := asked.chooseNoise(ctx, book)
	if err == nil && c.Accept != nil {
		err = c.Accept(s.s)
	}
	if err != nil || s.d.Fit == nil || asked.hasNoise() || c.Votes.Teachers() == 0 {
		return s, err
	}
	m, err := stable.New(stable.ConfigOf(s.s))
	if err != nil {
		return s, fmt.Errorf("label: %w", err)
	}
	need, err := m.DistanceFor(0.5)
	if err != nil {
		return s, fmt.Errorf("label: %w", err)
	}
	if most := int64(c.Votes.Teachers()) / 2; need > most {
		return s, &fault.Error{What: fmt.Sprintf("nothing would be released: %s needs %d votes to move for it, and of %d teachers at most %d can", s.s.Mechanism, need, c.Votes.Teachers(), most),
			Why: "its noise and threshold, at this budget, are above what agreement can reach; nothing was charged",
			Fix: "raise epsilon, ask fewer queries, allow fewer failures, or take a noisy argmax"}
	}
	return s, nil
}

// answerFunc answers a batch.
type answerFunc func(batch) ([]aggregate.Answer, error)

// start begins the session of a setting on what was reserved.
func (s setting) start(r *ledger.Reservation, key rng.Key) (answerFunc, error) {
	var current batch
	s.s.Predict = func(query uint64) ([]float64, error) { return current.predictions[query-current.first], nil }
	m, err := s.d.New(s.s)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	session, err := m.Start(r, key)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return func(b batch) ([]aggregate.Answer, error) {
		current = b
		return session.AskBatch(b.first, b.votes)
	}, nil
}
