package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/rng"
)

// Public holds public facts about teachers and queries. A plan from Public uses no votes.
type Public struct {
	Teachers, Classes, Queries int
	// Agreement describes the teachers as declared. A zero Accuracy means [UsualAccuracy]. If Accuracy is
	// declared without Correlation, a plan must meet its goal for small and large correlations.
	Agreement
	// Share is the mean fraction of teachers who vote for the largest class. LeastShare is a lower bound on
	// Share. If these private estimates are not 0, they replace Agreement.
	Share, LeastShare float64
}

const (
	plannedExamples = 600
	roughExamples   = 150
)

const smallCorrelation = 0.1

type world struct {
	cases
	slack float64 // subtracted from the goal's MinAccuracy
	only  bool    // the world is for the check of a plan only: no setting is searched in it
}

func (p Public) worlds(queries int) ([]world, error) {
	if p.Share > 0 {
		return p.sharing(queries)
	}
	s := p.simulation(queries)
	s.Accuracy, s.Correlation, s.Confusion = p.Accuracy, p.Correlation, p.Confusion
	correlations := []float64{s.withDefaults().Correlation}
	switch {
	case p.Accuracy == 0:
		s.Accuracy = UsualAccuracy
	case p.Correlation == 0:
		correlations = append(correlations, smallCorrelation)
	}
	var worlds []world
	for _, s.Correlation = range correlations {
		c, err := s.pluralities()
		if err != nil {
			return nil, err
		}
		worlds = append(worlds, world{cases: c})
	}
	return worlds, nil
}

func (p Public) simulation(queries int) Simulation {
	return Simulation{Teachers: p.Teachers, Classes: p.Classes, Queries: min(queries, MaxExamples(p.Classes)), even: true}
}

func (s Simulation) pluralities() (cases, error) {
	examples, err := s.Examples(rng.SeedKey(1)) // the simulation uses no private data
	if err != nil {
		return cases{}, err
	}
	votes := make([]aggregate.Histogram, len(examples))
	for i, e := range examples {
		votes[i] = e.Votes
	}
	return newCases(PluralityExamples(votes))
}

// Expect returns the expected labels of s on votes simulated from p, without the privacy cost.
func (p Public) Expect(ctx context.Context, s aggregate.Setting) (Alternative, error) {
	worlds, err := p.worlds(plannedExamples)
	if err != nil {
		return Alternative{}, err
	}
	return worlds[0].expect(ctx, s)
}

// NoPlanError reports that no plan meets Goal. [Public.Remedy] sets Epsilon and Teachers.
type NoPlanError struct {
	Goal Goal
	Best Alternative // the best plan, if its only fault is too few labels
	// Epsilon is at most 4 % above the least epsilon of a plan on a new ledger, and is rounded up to three
	// digits. Epsilon is +Inf if no epsilon up to 1000 suffices. For equally accurate teachers, Teachers is
	// at most 6 % above the least sufficient number, rounded up. Teachers is 0 if no number up to min(50
	// [Public].Teachers, 2^20) suffices.
	Epsilon  float64
	Teachers int
}

func (e *NoPlanError) Error() string {
	return fmt.Sprintf("%v: epsilon %g at delta %g, accuracy %g", ErrNoPlan, e.Goal.Epsilon, e.Goal.Delta, e.Goal.MinAccuracy)
}

func (e *NoPlanError) Unwrap() error { return ErrNoPlan }

// ForLabels returns the plan with the most correct labels. The plurality counts as correct. The plan reaches
// MinAccuracy on simulated votes. If the true mean vote share of the largest class is p.LeastShare, the
// accuracy may be up to [ShareSlack] lower. The plan reaches MinLabels or asks all queries. The argument
// `budget` finds the least noise that a ledger accepts. The plan's Epsilon is the cost on a new ledger,
// computed by the goal's accountant. If no plan exists, the error is a *NoPlanError.
func ForLabels(ctx context.Context, p Public, goal Goal, budget aggregate.LeastNoise) (Alternative, error) {
	if err := goal.Validate(); err != nil {
		return Alternative{}, err
	}
	if p.Share > 0 && p.LeastShare <= 0.5 {
		return Alternative{}, &NoPlanError{Goal: goal}
	}
	worlds, err := p.worlds(plannedExamples)
	if err != nil {
		return Alternative{}, err
	}
	if goal.Steady {
		if a, found, err := p.steady(ctx, worlds, goal, budget); err != nil {
			return Alternative{}, err
		} else if found {
			return a, a.claim(ctx, goal.Accountant, goal.Delta)
		}
	}
	best, err := p.best(ctx, worlds, goal, budget)
	if err != nil && !errors.Is(err, ErrNoPlan) {
		return Alternative{}, err
	}
	if err == nil && p.enough(best, goal) {
		return best, best.claim(ctx, goal.Accountant, goal.Delta)
	}
	return Alternative{}, &NoPlanError{Goal: goal, Best: best}
}

// LeastPerClass is the least number of labels per class with which a student usually learns.
const LeastPerClass = 3

func (p Public) Remedy(ctx context.Context, none *NoPlanError) error {
	var err error
	if none.Epsilon, err = p.leastEpsilon(ctx, none.Goal, none.Best); err != nil {
		return err
	}
	none.Teachers, err = p.leastTeachers(ctx, none.Goal, none.Best)
	return err
}

func (p Public) enough(a Alternative, goal Goal) bool {
	return a.ExpectedCorrect >= goal.MinLabels || a.Queries == p.Queries
}

func (p Public) best(ctx context.Context, worlds []world, goal Goal, budget aggregate.LeastNoise) (Alternative, error) {
	same, fits, err := goal.equivalent(p.Queries, budget)
	if err != nil {
		return Alternative{}, err
	}
	if !fits {
		return Alternative{}, &NoPlanError{Goal: goal}
	}
	var best Alternative
	for _, searched := range worlds {
		if searched.only {
			continue
		}
		wanted := same
		wanted.MinAccuracy -= searched.slack
		found, err := searched.search(ctx, wanted, p.Queries)
		if err != nil {
			return Alternative{}, err
		}
		for _, a := range found[:min(len(found), 4)] {
			if a, err = p.holds(ctx, worlds, a.Setting, goal, budget); err != nil {
				return Alternative{}, err
			}
			if a.ExpectedCorrect > best.ExpectedCorrect {
				best = a
			}
		}
	}
	if best.Queries == 0 {
		return Alternative{}, &NoPlanError{Goal: goal}
	}
	return best, nil
}

func (p Public) holds(ctx context.Context, worlds []world, s aggregate.Setting, goal Goal, budget aggregate.LeastNoise) (Alternative, error) {
	for tries := range 24 {
		fitted, fits, err := fit(s, budget)
		if err != nil || !fits {
			return Alternative{}, err
		}
		first, holds := Alternative{}, true
		for i, world := range worlds {
			a, err := world.expect(ctx, fitted)
			if err != nil {
				return Alternative{}, err
			}
			if i == 0 {
				first = a
				first.Least = 1
			}
			first.Least, holds = min(first.Least, a.Accuracy()), holds && a.Accuracy() >= goal.MinAccuracy-world.slack
		}
		if holds {
			return first, nil
		}
		if s.Queries == 1 {
			break
		}
		s = fewer(s, tries)
	}
	return Alternative{}, nil
}

func (p Public) leastEpsilon(ctx context.Context, goal Goal, best Alternative) (float64, error) {
	const absurd = 1000
	found, err := least(goal.Epsilon, absurd, 1.04, goal.factor(best), func(epsilon float64) (bool, error) {
		g := goal
		g.Epsilon = number.Up(epsilon, 3)
		return p.works(ctx, g)
	})
	return number.Up(found, 3), err
}

func (p Public) leastTeachers(ctx context.Context, goal Goal, best Alternative) (int, error) {
	most := min(50*p.Teachers, maxTeachers)
	found, err := least(float64(p.Teachers), float64(most), 1.06, goal.factor(best), func(teachers float64) (bool, error) {
		q := p
		q.Teachers = int(math.Ceil(teachers))
		return q.works(ctx, goal)
	})
	if math.IsInf(found, 1) {
		return 0, err
	}
	return int(math.Ceil(found)), err
}

func (g Goal) factor(best Alternative) float64 {
	// The number of labels is about proportional to the square of epsilon, and to the square of the number of
	// teachers.
	if best.ExpectedCorrect == 0 {
		return 1.6
	}
	return max(1.01, math.Sqrt(g.MinLabels/best.ExpectedCorrect))
}

// least returns an x in (from, most] with works(x) = true, or +Inf if the search finds none. If works is
// monotone, the result is at most `ratio` times the smallest such x.
func least(from, most, ratio, step float64, works func(float64) (bool, error)) (float64, error) {
	low, high := from, from
	for ok := false; !ok; step = max(min(step, 1.6), 1.1) {
		if high >= most {
			return math.Inf(1), nil
		}
		low, high = high, min(high*step, most)
		var err error
		if ok, err = works(high); err != nil {
			return 0, err
		}
	}
	for high > ratio*low {
		mid := math.Sqrt(low * high)
		ok, err := works(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

func (p Public) works(ctx context.Context, goal Goal) (bool, error) {
	same, fits, err := goal.equivalent(p.Queries, goal.least(ctx))
	if err != nil || !fits {
		return false, err
	}
	labels, err := p.Possible(ctx, same, same.least(ctx))
	return labels > 0, err
}

// Possible quickly estimates the ExpectedCorrect of the plan that [ForLabels] returns. The estimate is 0 if
// Possible finds no plan. Possible ignores goal.Steady.
func (p Public) Possible(ctx context.Context, goal Goal, budget aggregate.LeastNoise) (float64, error) {
	if p.Share > 0 && p.LeastShare <= 0.5 {
		return 0, nil
	}
	worlds, err := p.worlds(roughExamples)
	if err != nil {
		return 0, err
	}
	a, err := p.best(ctx, worlds, goal, budget)
	if errors.Is(err, ErrNoPlan) || err == nil && !p.enough(a, goal) {
		return 0, nil
	}
	return a.ExpectedCorrect, err
}

// MaxQueries returns the largest number of queries at the noise of s that a new ledger with cfg accepts. The
// result is at most 2^30. If s caps the answers, the cap is proportional to the queries.
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
	// Invariant: low queries fit. high queries do not fit, or high exceeds maxCarried.
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
		if high > maxCarried { // stay near the starting point
			next = min(low+low/4+1, maxCarried)
		}
	}
	return low, nil
}

const maxCarried = 1 << 30

// noiseShare is the noise of GNMax in a plan with Goal.Steady, divided by the number of teachers. On splits
// of MNIST, optdigits, Adult and letter, students were best near 0.2 with each tested kind of teacher.
const noiseShare = 0.2

// MaxCount returns the largest number of queries, perhaps 0, that GNMax can answer within target. The
// standard deviation of the noise is 0.2 times the number of teachers.
func MaxCount(ctx context.Context, teachers int, target accountant.Target) (int64, error) {
	sigma := noiseShare * float64(teachers)
	event := func(n int64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: n}, nil
	}
	n, err := accountant.Affordable(ctx, accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount, target, event)
	if err != nil {
		return 0, fmt.Errorf("plan: %w", err)
	}
	return n, nil
}

func (p Public) steady(ctx context.Context, worlds []world, goal Goal, budget aggregate.LeastNoise) (Alternative, bool, error) {
	n, err := MaxCount(ctx, p.Teachers, accountant.Target{Epsilon: goal.Epsilon, Delta: goal.Delta})
	if err != nil || n == 0 {
		return Alternative{}, false, err
	}
	s := aggregate.Setting{Mechanism: GNMax, Queries: int(math.Min(float64(n), float64(p.Queries)))}
	a, err := p.holds(ctx, worlds, s, goal, budget)
	return a, a.Queries > 0 && p.enough(a, goal), err
}
