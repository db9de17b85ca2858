package label

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/aggregate/stable"
	"github.com/pate-go/pate/internal/number"
)

// Interactive is the mechanism that asks the teachers only where they contradict
// the student's predictions.
const Interactive = "interactive"

// Setting is a mechanism and its noise. Noise that is 0 is chosen to use what is
// left of the budget; of a threshold test without noise of its own sigma1 is 3.75
// sigma, the proportion of 150 to 40 in the literature. Queries is set by the range
// of the votes.
type Setting struct {
	plan.Setting // with Interactive among its mechanisms, whose fields are those of Confident
	// Of Interactive: see aggregate.InteractiveGNMaxConfig. Teachers is that of
	// the votes.
	Confidence float64
	Teachers   int
	// Of the mechanisms of package stable: see stable.Config, whose Sigma, Scale and
	// Threshold are those of the plan.Setting, in votes that move. Their noise and
	// threshold are given together or not at all.
	ThresholdScale float64
	Failures       int // refusals after which the run stops; 0 means 5 % of the queries, at least 1
}

// testNoise is sigma1 as a multiple of sigma where both are chosen.
const testNoise = 150.0 / 40

// The noise that mechanisms take, in votes.
const (
	leastNoise = 1.0 / 1024
	mostNoise  = 1 << 40
)

// Tested says whether a threshold comes before the answer.
func (s Setting) Tested() bool { return s.Mechanism == plan.Confident || s.Mechanism == Interactive }

// Stable says whether it is a mechanism of package stable.
func (s Setting) Stable() bool { return slices.Contains(stable.Mechanisms(), s.Mechanism) }

// stops says whether refusals end the run.
func (s Setting) stops() bool { return s.Stable() && s.Mechanism != stable.MStab }

// sigmaName is what the noise of an answer is called beside that of a test.
func (s Setting) sigmaName() string {
	if s.Tested() {
		return "sigma2"
	}
	return "sigma"
}

// noises are the fields that the mechanism, none of package stable, has.
func (s *Setting) noises() []*float64 {
	switch {
	case s.Tested():
		return []*float64{&s.Sigma, &s.Sigma1}
	case s.Mechanism == plan.GNMax:
		return []*float64{&s.Sigma}
	}
	return []*float64{&s.Scale}
}

// settled says whether all noise is given.
func (s Setting) settled() bool {
	if s.Stable() {
		return s.Sigma != 0 || s.Scale != 0 || s.ThresholdScale != 0
	}
	for _, noise := range s.noises() {
		if *noise == 0 {
			return false
		}
	}
	return true
}

// with fills in noise that was not given.
func (s Setting) with(noise float64) Setting {
	factor := 1.0
	if s.Tested() && s.Sigma == 0 {
		factor = testNoise
	}
	if s.Tested() && s.Sigma1 == 0 {
		s.Sigma1 = bounded(noise * factor)
	}
	switch {
	case (s.Tested() || s.Mechanism == plan.GNMax) && s.Sigma == 0:
		s.Sigma = bounded(noise)
	case !s.Tested() && s.Mechanism != plan.GNMax && s.Scale == 0:
		s.Scale = bounded(noise)
	}
	return s
}

func bounded(noise float64) float64 { return min(max(noise, leastNoise), mostNoise) }

// interactive is the mechanism if it is that one.
func (s Setting) interactive() (*aggregate.InteractiveGNMax, error) {
	return aggregate.NewInteractiveGNMax(aggregate.InteractiveGNMaxConfig{
		Threshold: s.Threshold, Sigma1: s.Sigma1, Sigma2: s.Sigma, Teachers: s.Teachers, Confidence: s.Confidence,
		Queries: s.Queries, Answers: s.Answers,
	})
}

// stable is the mechanism if it is one of package stable.
func (s Setting) stable() (*stable.Mechanism, error) {
	if !(math.Abs(s.Threshold) <= 1<<50) || s.Threshold != math.Trunc(s.Threshold) {
		return nil, fmt.Errorf("label: a threshold of %v votes that move is not a whole number", s.Threshold)
	}
	cfg := stable.Config{Mechanism: s.Mechanism, Sigma: s.Sigma, Scale: s.Scale, ThresholdScale: s.ThresholdScale, Threshold: int64(s.Threshold), Failures: s.Failures}
	if s.Mechanism == stable.MStab {
		cfg.Queries = s.Queries
	}
	m, err := stable.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return m, nil
}

// event is the worst case of the whole run.
func (s Setting) event() (accountant.Event, error) {
	if s.Stable() {
		m, err := s.stable()
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	}
	if s.Mechanism == Interactive {
		m, err := s.interactive()
		if err != nil {
			return nil, fmt.Errorf("label: %w", err)
		}
		return m.Event(), nil
	}
	m, err := s.New()
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return m.Event(), nil
}

// check refuses what no noise would make right.
func (s Setting) check() error {
	if s.Stable() {
		return s.checkStable()
	}
	for _, noise := range s.noises() {
		if !(*noise >= 0) {
			return fmt.Errorf("label: noise of %g votes", *noise)
		}
	}
	_, err := s.with(1).event()
	return err
}

func (s Setting) checkStable() error {
	switch {
	case s.stops() && (s.Failures < 1 || s.Failures > s.Queries):
		return fmt.Errorf("label: %d refusals of %d queries", s.Failures, s.Queries)
	case s.settled():
		_, err := s.event()
		return err
	case s.Threshold != 0:
		return fmt.Errorf("label: a threshold of %v votes that move without its noise", s.Threshold)
	}
	return nil
}

// charge is the reservation of the whole run. Over budget it says how many queries
// would still fit.
func (s Setting) charge(ctx context.Context, book *ledger.Ledger, reserve func(accountant.Event) (*ledger.Reservation, error)) (*ledger.Reservation, error) {
	e, err := s.event()
	if err != nil {
		return nil, err
	}
	r, err := reserve(e)
	var over *ledger.BudgetError
	if !errors.As(err, &over) {
		return r, err
	}
	if s.stops() { // asking less would cost the same
		return nil, &BudgetError{BudgetError: over}
	}
	one := s
	one.Queries = 1
	if one.Tested() {
		one.Answers = 1
	}
	if e, err = one.event(); err != nil {
		return nil, err
	}
	fits, err := book.Fits(ctx, e)
	if err != nil {
		return nil, err
	}
	return nil, &BudgetError{BudgetError: over, Queries: fits}
}

// settle chooses noise that was not given: the least, rounded up to six digits,
// for which the whole run fits what is left. If none does, the error is a
// *ledger.BudgetError.
func (s Setting) settle(ctx context.Context, book *ledger.Ledger) (Setting, error) {
	if s.settled() {
		return s, nil
	}
	if s.Stable() {
		return s.settleStable(ctx, book)
	}
	var wrong error
	least, err := book.LeastNoise(ctx, func(noise float64) accountant.Event {
		e, err := s.with(noise).event()
		if err != nil {
			wrong = err
			return accountant.NonPrivate{}
		}
		return e
	})
	var bracket *accountant.NoBracketError
	switch {
	case wrong != nil:
		return s, wrong
	case errors.As(err, &bracket) && bracket.Epsilon > bracket.Target.Epsilon:
		return s.with(mostNoise), nil // the reservation will say what is left
	case errors.As(err, &bracket):
		least = leastNoise
	case err != nil:
		return s, err
	}
	return s.with(number.Up(least, 6)), nil
}

// settleStable chooses the noise and threshold that need the least agreement. Half of
// what the ledger has for releases that should not be is for this run, its delta or
// what it keeps of it, or half of that and so on where earlier runs have left less.
func (s Setting) settleStable(ctx context.Context, book *ledger.Ledger) (Setting, error) {
	account := book.Config()
	task := stable.Task{Mechanism: s.Mechanism, Queries: s.Queries, Failures: s.Failures, Delta: account.Delta / 2}
	if account.Mode == ledger.Filter {
		task.Delta = account.FailureDelta / 2
	}
	for range 6 {
		cfg, err := stable.Fit(task, func(event func(float64) accountant.Event) (float64, error) { return book.LeastNoise(ctx, event) })
		if errors.Is(err, stable.ErrNoFit) {
			task.Delta /= 2
			continue
		}
		if err != nil {
			return s, fmt.Errorf("label: %w", err)
		}
		s.Sigma, s.Scale, s.ThresholdScale, s.Threshold = cfg.Sigma, cfg.Scale, cfg.ThresholdScale, float64(cfg.Threshold)
		return s, nil
	}
	// What costs next to nothing: if it does not fit, its reservation will say what is
	// left.
	const wide = 1 << 20
	s.Scale, s.Threshold = wide, 30*wide
	if s.Mechanism == stable.SVT {
		s.ThresholdScale = wide
	}
	e, err := s.event()
	if err != nil {
		return s, err
	}
	if n, err := book.Fits(ctx, e); err != nil || n == 0 {
		return s, err
	}
	return s, &Error{What: "no noise that leaves anything of the votes fits what is left of the budget", Why: fmt.Sprintf("%s would need more than all teachers agreeing", s.Mechanism),
		Fix: "ask fewer queries, allow fewer failures, or take a noisy argmax"}
}
