package label

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
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

// sigmaName is what the noise of an answer is called beside that of a test.
func (s Setting) sigmaName() string {
	if s.Tested() {
		return "sigma2"
	}
	return "sigma"
}

// noises are the fields that the mechanism has.
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

// event is the worst case of the whole run.
func (s Setting) event() (accountant.Event, error) {
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
	for _, noise := range s.noises() {
		if !(*noise >= 0) {
			return fmt.Errorf("label: noise of %g votes", *noise)
		}
	}
	_, err := s.with(1).event()
	return err
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
	return s.with(roundUp(least)), nil
}

// roundUp rounds to six significant digits, up.
func roundUp(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-5)
	for n := math.Ceil(x / unit); ; n++ {
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(n*unit, 'g', 6, 64), 64)
		if err != nil || rounded >= x {
			return max(rounded, x)
		}
	}
}
