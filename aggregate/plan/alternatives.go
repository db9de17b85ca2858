package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
)

// Goal is what a plan must keep and what it should reach.
type Goal struct {
	Epsilon     float64 // > 0
	Delta       float64 // in (0, 1)
	MinAccuracy float64 // of the answers expected, in [0, 1); 0 asks for nothing
	// Of Alternatives: the most queries that can be asked, whatever the number of
	// examples; 0 means as many as those.
	Queries int
}

func (g Goal) validate() error {
	switch {
	case !(g.Epsilon > 0) || math.IsInf(g.Epsilon, 1):
		return fmt.Errorf("plan: Epsilon must be a finite number above 0, not %v", g.Epsilon)
	case !(g.Delta > 0 && g.Delta < 1):
		return fmt.Errorf("plan: Delta must lie strictly between 0 and 1, not %v", g.Delta)
	case !(g.MinAccuracy >= 0 && g.MinAccuracy < 1):
		return fmt.Errorf("plan: MinAccuracy must be in [0, 1), not %v", g.MinAccuracy)
	case g.Queries < 0:
		return fmt.Errorf("plan: Queries must not be negative, not %d", g.Queries)
	}
	return nil
}

// ErrNoPlan is returned when no setting tried meets the goal.
var ErrNoPlan = errors.New("plan: no setting meets the goal")

// Alternatives returns, most correct answers expected first, the best setting found
// of every mechanism, and of Confident-GNMax also the best at thresholds of 20, 40,
// 60, 80 and 100 % of the votes. The first is the plan. Mechanisms no setting of
// which meets the goal are left out; if all are, the error is [ErrNoPlan].
func Alternatives(ctx context.Context, examples []Example, goal Goal) ([]Alternative, error) {
	if err := goal.validate(); err != nil {
		return nil, err
	}
	c, err := newCases(examples)
	if err != nil {
		return nil, err
	}
	most := len(examples)
	if goal.Queries > 0 {
		most = goal.Queries
	}
	thin := c.thinned(maxSearched)
	settings, err := thin.confidentSettings(ctx, goal, most)
	if err != nil {
		return nil, err
	}
	for _, mechanism := range []string{GNMax, Exponential, PermuteAndFlip, LNMax} {
		s, found, err := thin.bestQueries(ctx, mechanism, goal, most)
		if err != nil {
			return nil, err
		}
		if found {
			settings = append(settings, s)
		}
	}
	var out []Alternative
	for _, s := range settings {
		a, err := c.accurate(ctx, s, goal)
		if err != nil {
			return nil, err
		}
		if a.Accuracy() >= goal.MinAccuracy {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: epsilon %g at delta %g, accuracy %g", ErrNoPlan, goal.Epsilon, goal.Delta, goal.MinAccuracy)
	}
	slices.SortStableFunc(out, func(a, b Alternative) int { return cmp.Compare(b.ExpectedCorrect, a.ExpectedCorrect) })
	return out, nil
}

// maxSearched is how many examples a search looks at; what it finds is evaluated on
// all.
const maxSearched = 2000

// thinned is every so many of the examples.
func (c cases) thinned(limit int) cases {
	every := (len(c.counts) + limit - 1) / limit
	if every <= 1 {
		return c
	}
	t := cases{teachers: c.teachers}
	for i := 0; i < len(c.counts); i += every {
		t.counts, t.labels, t.largest = append(t.counts, c.counts[i]), append(t.labels, c.labels[i]), append(t.largest, c.largest[i])
	}
	t.groups = byLargest(t.largest)
	return t
}

// accurate evaluates a setting that a search, which is approximate, found accurate
// enough, with a few queries less if it is not quite.
func (c cases) accurate(ctx context.Context, s Setting, goal Goal) (Alternative, error) {
	for tries := 0; ; tries++ {
		a, err := c.within(ctx, s, goal)
		if err != nil || a.Accuracy() >= goal.MinAccuracy || tries == 12 || s.Queries == 1 {
			return a, err
		}
		if s, err = fewer(ctx, s, goal); err != nil {
			return Alternative{}, err
		}
	}
}

// fewer is a setting with 3 % fewer queries, and as much less noise.
func fewer(ctx context.Context, s Setting, goal Goal) (Setting, error) {
	queries := min(s.Queries-1, s.Queries*97/100)
	if s.Mechanism != Confident {
		return calibrated(ctx, s.Mechanism, queries, goal)
	}
	answers := max(1, s.Answers*97/100)
	s.Sigma1 *= math.Sqrt(float64(queries) / float64(s.Queries))
	s.Sigma *= math.Sqrt(float64(min(answers, queries)) / float64(s.Answers))
	s.Queries, s.Answers = queries, min(answers, queries)
	return s, nil
}

// within evaluates a setting, with its noise raised by the few last bits that
// rounding may have left it short of.
func (c cases) within(ctx context.Context, s Setting, goal Goal) (Alternative, error) {
	for step := 1e-10; ; step *= 4 {
		m, err := s.New()
		if err != nil {
			return Alternative{}, err
		}
		eps, err := epsilon(m.Event(), goal.Delta)
		if err != nil {
			return Alternative{}, err
		}
		if eps <= goal.Epsilon {
			return c.evaluate(ctx, s, goal.Delta)
		}
		if step > 1e-3 {
			return Alternative{}, fmt.Errorf("plan: %s costs epsilon %g, the goal is %g", s.Mechanism, eps, goal.Epsilon)
		}
		s.Sigma, s.Sigma1, s.Scale = s.Sigma*(1+step), s.Sigma1*(1+step), s.Scale*(1+step)
	}
}

// calibrated is the setting with the noise, one parameter, that so many queries
// need.
func calibrated(ctx context.Context, mechanism string, queries int, goal Goal) (Setting, error) {
	s := Setting{Mechanism: mechanism, Queries: queries}
	noise := &s.Scale
	if mechanism == GNMax {
		noise = &s.Sigma
	}
	target := accountant.Target{Epsilon: goal.Epsilon, Delta: goal.Delta}
	var failed error
	x, _, err := accountant.CalibrateNoise(ctx, accountant.Config{Relation: accountant.AddRemove}.NewAccount, target, func(x float64) accountant.Event {
		*noise = min(max(x, leastNoise), mostNoise)
		m, err := s.New()
		if err != nil {
			failed = err
			return accountant.NonPrivate{}
		}
		return m.Event()
	})
	switch {
	case failed != nil:
		return Setting{}, failed
	case errors.Is(err, accountant.ErrNoBracket): // even the least noise is within the budget
		x = leastNoise
	case err != nil:
		return Setting{}, fmt.Errorf("plan: %w", err)
	}
	*noise = max(x, leastNoise)
	return s, nil
}

// The noise a mechanism takes, in votes.
const (
	leastNoise = 0x1p-10
	mostNoise  = 0x1p40
)

// bestQueries finds the number of queries, up to most, at which a
// mechanism that answers all of them answers most correctly: more queries need more
// noise each. A ladder first, then steps between its neighbouring rungs.
func (c cases) bestQueries(ctx context.Context, mechanism string, goal Goal, most int) (best Setting, found bool, err error) {
	mostCorrect := 0.0
	try := func(queries int) error {
		s, err := calibrated(ctx, mechanism, queries, goal)
		if err != nil {
			return err
		}
		if max(s.Sigma, s.Scale) > maxPlannedNoise {
			return nil
		}
		j, err := s.judge(len(c.counts[0]), true)
		if err != nil {
			return err
		}
		right, err := c.correct(ctx, j)
		if err != nil {
			return err
		}
		accuracy := sum(right) / float64(len(right))
		if correct := accuracy * float64(queries); correct > mostCorrect && accuracy >= goal.MinAccuracy {
			best, found, mostCorrect = s, true, correct
		}
		return nil
	}
	rungs := ladder(most)
	for _, queries := range rungs {
		if err := try(queries); err != nil {
			return Setting{}, false, err
		}
	}
	if !found {
		return Setting{}, false, nil
	}
	at := slices.Index(rungs, best.Queries)
	from, to := rungs[min(at+1, len(rungs)-1)], rungs[max(at-1, 0)]
	const steps = 16
	for i := 1; i < steps; i++ {
		if queries := from + (to-from)*i/steps; queries != rungs[at] {
			if err := try(queries); err != nil {
				return Setting{}, false, err
			}
		}
	}
	return best, found, nil
}

// ladder is n and what falls by a seventh each time from there, down to 1.
func ladder(n int) []int {
	var rungs []int
	for x := float64(n); x > 0.5; x *= 6.0 / 7 {
		if r := int(math.Round(x)); len(rungs) == 0 || r < rungs[len(rungs)-1] {
			rungs = append(rungs, r)
		}
	}
	return rungs
}
