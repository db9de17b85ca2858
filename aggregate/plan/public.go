package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/aggregate"
)

// Public holds what is public about votes that will be labelled, from which ForLabels
// plans without looking at a vote.
type Public struct {
	Teachers, Classes, Queries int
	Accuracy                   float64 // of one teacher; 0 means CautiousAccuracy
	Correlation, Confusion     float64 // see Simulation; 0 means its defaults
}

// CautiousAccuracy is the accuracy of one teacher at which a plan must hold too if none
// is declared. What it expects is what teachers of usualAccuracy would give.
const (
	CautiousAccuracy = 0.55
	usualAccuracy    = 0.8
)

// plannedExamples is how many queries are simulated for a plan.
const plannedExamples = 200

// ClearVote is the share of all votes for one class at which a vote counts as clear.
const ClearVote = 0.8

// ClearlyRight returns the probability that a clear vote, the rest of which is for one
// other class, gets its class, if it is answered; and the probability that a unanimous
// vote is answered, and with its class.
func ClearlyRight(s aggregate.Setting, teachers, classes int) (clear, unanimous float64, err error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return 0, 0, err
	}
	s = d.Complete(s)
	if noise := d.MostNoise(s); noise > 64*float64(teachers) && noise > 1<<10 { // it drowns every vote
		return 1 / float64(classes), 1 / float64(classes), nil
	}
	chances, err := d.ChancesOf(s, classes, false)
	if err != nil {
		return 0, 0, fmt.Errorf("plan: %w", err)
	}
	votes := make([]int64, classes)
	last := classes - 1 // which loses ties
	votes[last] = int64(math.Ceil(ClearVote * float64(teachers)))
	votes[0] = int64(teachers) - votes[last]
	clear = chances.Right(votes, last)
	votes[last], votes[0] = int64(teachers), 0
	unanimous = chances.Right(votes, last)
	if chances.Answered != nil {
		unanimous *= chances.Answered(votes)
	}
	return clear, unanimous, nil
}

// NoPlanError says that no plan gives labels that are right often enough, and what
// would.
type NoPlanError struct {
	Goal     Goal
	Epsilon  float64 // the least, to three digits, at which there is a plan; +Inf if it is absurd
	Teachers int     // that would do at the goal's epsilon, if they are as good; 0 if none were found
}

// Error implements error.
func (e *NoPlanError) Error() string {
	return fmt.Sprintf("%v: epsilon %g at delta %g, accuracy %g", ErrNoPlan, e.Goal.Epsilon, e.Goal.Delta, e.Goal.MinAccuracy)
}

// Unwrap returns ErrNoPlan.
func (e *NoPlanError) Unwrap() error { return ErrNoPlan }

// ForLabels returns the plan with the most right labels, from public numbers alone.
// Right is what the plurality says. A plan is right at least as often as the goal's
// MinAccuracy on simulated votes, and so is every clear vote that it answers. fits
// reports whether a ledger would take it: where part of a budget is spent, plans for
// less of it are tried. Without such a plan the error is a *NoPlanError.
func ForLabels(ctx context.Context, p Public, goal Goal, fits func(aggregate.Setting) (bool, error)) (Alternative, error) {
	for _, share := range []float64{0.997, 0.75, 0.55, 0.4, 0.28, 0.2, 0.14, 0.1} { // 0.3 % for a filter's own order
		part := goal
		part.Epsilon *= share
		a, err := p.best(ctx, part, fits)
		if err == nil {
			return a, nil
		}
		if !errors.Is(err, ErrNoPlan) {
			return Alternative{}, err
		}
		if !errors.Is(err, errDoesNotFit) { // and less of the budget would be worse
			break
		}
	}
	none := &NoPlanError{Goal: goal, Epsilon: math.Inf(1)}
	works := func(p Public, epsilon float64) (bool, error) {
		g := goal
		g.Epsilon = epsilon
		_, err := p.best(ctx, g, func(aggregate.Setting) (bool, error) { return true, nil })
		if err != nil && !errors.Is(err, ErrNoPlan) {
			return false, err
		}
		return err == nil, nil
	}
	low, high := goal.Epsilon, goal.Epsilon*2
	for ; high < 1000; low, high = high, high*2 {
		ok, err := works(p, high)
		if err != nil {
			return Alternative{}, err
		}
		if ok {
			break
		}
	}
	if high < 1000 {
		for range 3 {
			mid := math.Sqrt(low * high)
			ok, err := works(p, mid)
			if err != nil {
				return Alternative{}, err
			}
			if ok {
				high = mid
			} else {
				low = mid
			}
		}
		none.Epsilon = high
	}
	for more := p.Teachers * 3 / 2; more < 50*p.Teachers && more < maxTeachers; more = more*3/2 + 1 {
		q := p
		q.Teachers = more
		ok, err := works(q, goal.Epsilon)
		if err != nil {
			return Alternative{}, err
		}
		if ok {
			none.Teachers = more
			break
		}
	}
	return Alternative{}, none
}

// errDoesNotFit marks the error for plans that a ledger would not take.
var errDoesNotFit = errors.New("plan: the ledger would not take it")

// worlds returns simulated votes under which a plan must hold: teachers as declared or
// of two accuracies, who err together or nearly independently if Correlation is not
// declared. The first is the one that labels are counted in.
func (p Public) worlds() ([][]Example, error) {
	accuracies, correlations := []float64{p.Accuracy}, []float64{p.Correlation}
	if p.Accuracy == 0 {
		accuracies = []float64{usualAccuracy, CautiousAccuracy}
	}
	if p.Correlation == 0 {
		correlations = []float64{DefaultCorrelation, 0.02}
	}
	var worlds [][]Example
	for _, accuracy := range accuracies {
		for _, correlation := range correlations {
			s := Simulation{Teachers: p.Teachers, Classes: p.Classes, Queries: min(plannedExamples, MaxExamples(p.Classes)),
				Accuracy: accuracy, Correlation: correlation, Confusion: p.Confusion}
			examples, err := s.Examples(aggregate.SeedKey(1)) // of nothing private
			if err != nil {
				return nil, err
			}
			votes := make([]aggregate.Histogram, len(examples))
			for i, e := range examples {
				votes[i] = e.Votes
			}
			worlds = append(worlds, PluralityExamples(votes))
		}
	}
	return worlds, nil
}

// best returns the plan with the most right labels in the first world among those that
// are right often enough in all.
func (p Public) best(ctx context.Context, goal Goal, fits func(aggregate.Setting) (bool, error)) (Alternative, error) {
	worlds, err := p.worlds()
	if err != nil {
		return Alternative{}, err
	}
	goal.Queries = p.Queries
	var best Alternative
	refused := false
	for i, searched := range worlds {
		for j, accuracy := range []float64{goal.MinAccuracy, (1 + 2*goal.MinAccuracy) / 3} {
			if i > 0 && j > 0 { // the first world is searched twice
				continue
			}
			part := goal
			part.MinAccuracy = accuracy
			found, err := Alternatives(ctx, searched, part)
			if err != nil && !errors.Is(err, ErrNoPlan) {
				return Alternative{}, err
			}
			for _, a := range found {
				a, good, err := p.holds(ctx, worlds, a.Setting, goal)
				if err != nil {
					return Alternative{}, err
				}
				if !good || a.ExpectedCorrect <= best.ExpectedCorrect {
					continue
				}
				ok, err := fits(a.Setting)
				if err != nil {
					return Alternative{}, err
				}
				if refused = refused || !ok; ok {
					best = a
				}
			}
		}
	}
	switch {
	case best.Queries > 0:
		return best, nil
	case refused:
		return Alternative{}, fmt.Errorf("%w: %w", ErrNoPlan, errDoesNotFit)
	}
	return Alternative{}, fmt.Errorf("%w: epsilon %g at delta %g", ErrNoPlan, goal.Epsilon, goal.Delta)
}

// holds evaluates a setting in the first world, and reports whether it is right often
// enough in all.
func (p Public) holds(ctx context.Context, worlds [][]Example, s aggregate.Setting, goal Goal) (first Alternative, good bool, err error) {
	clear, unanimous, err := ClearlyRight(s, p.Teachers, p.Classes)
	if err != nil || clear < goal.MinAccuracy || unanimous < 0.5 {
		return first, false, err
	}
	for i, world := range worlds {
		a, err := Evaluate(ctx, world, s, goal.Delta)
		if err != nil {
			return first, false, err
		}
		if i == 0 {
			first = a
		}
		if a.Accuracy() < goal.MinAccuracy {
			return first, false, nil
		}
	}
	return first, true, nil
}
