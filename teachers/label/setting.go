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

type setting struct {
	d aggregate.Description
	s aggregate.Setting
}

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

func (c Config) mayFail() bool {
	s, err := c.setting()
	return err == nil && s.d.Fails
}

func (s setting) event() (accountant.Event, error) {
	e, err := s.d.Event(s.s)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return e, nil
}

func (s setting) check() error {
	if n, capped := s.s.Values["failures"]; capped && n > float64(s.s.Queries) {
		return fmt.Errorf("label: %v refusals of %d queries", n, s.s.Queries)
	}
	return s.d.Check(s.s)
}

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

func (s setting) chooseNoise(ctx context.Context, book *ledger.Ledger) (setting, error) {
	if s.d.Settled(s.s) {
		return s, nil
	}
	least := func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return book.LeastNoise(ctx, event)
	}
	if s.d.Fit != nil {
		return s.fit(ctx, book, least)
	}
	noise, err := s.d.Least(s.s, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return book.LeastNoise(ctx, func(noise float64) (accountant.Event, error) { // more noise may cost 1e-6 more
			return event(number.Up(noise, 6))
		})
	})
	if errors.Is(err, accountant.ErrNoBracket) { // the reservation will fail, and its error has the remaining budget
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

func (s setting) fit(ctx context.Context, book *ledger.Ledger, least aggregate.LeastNoise) (setting, error) {
	// The mechanism's failure probability is half of the ledger's Delta or, in mode Filter, of FailureDelta.
	// While nothing fits, fit halves this probability, up to five times.
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
	// Noise of 2^20 costs almost nothing. If even this noise does not fit, the caller returns a BudgetError.
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
	return s, &fault.Error{What: "no useful noise fits the rest of the budget",
		Why: fmt.Sprintf("with such noise, %s would release nothing even if all teachers agreed", s.s.Mechanism),
		Fix: "ask fewer queries, allow fewer failures, or use a noisy argmax"}
}

type answerFunc func(batch) ([]aggregate.Answer, error)

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

// BudgetError refuses a run over budget. Queries is the number of queries that would fit at this noise.
// Queries is 0 if no query would fit, or if the cost does not depend on the number of queries.
type BudgetError struct {
	*ledger.BudgetError
	Queries int64
}

func (e *BudgetError) Error() string {
	if e.Queries == 0 {
		return fmt.Sprintf("label: %v", e.BudgetError)
	}
	return fmt.Sprintf("label: %v (%d queries at this noise)", e.BudgetError, e.Queries)
}

func (e *BudgetError) Unwrap() error { return e.BudgetError }
