package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// Goal is a budget, with the least accuracy and the least number of labels for a plan.
type Goal struct {
	Epsilon     float64 // > 0
	Delta       float64 // in (0, 1)
	MinAccuracy float64 // least expected fraction of correct answers, in [0, 1); 0 sets no minimum
	// Queries is the largest number of queries in a plan of Alternatives. 0 means the number of examples.
	Queries int
	// MinLabels is the least expected number of correct labels of a plan by ForLabels. A plan that asks all
	// queries may have fewer.
	MinLabels float64
	// Steady makes ForLabels first try GNMax with Sigma of about Teachers/5 or less. If that plan meets the
	// goal, ForLabels returns it. Use Steady for teachers of unknown accuracy.
	Steady bool
	// Accountant computes a plan's epsilon on a ledger of mode Reserved. The default is ByAuto.
	Accountant accountant.Method
}

// Validate returns an error for the first field that is out of range.
func (g Goal) Validate() error {
	switch {
	case !(g.Epsilon > 0) || math.IsInf(g.Epsilon, 1):
		return fmt.Errorf("plan: Epsilon must be a finite number above 0, not %v", g.Epsilon)
	case !(g.Delta > 0 && g.Delta < 1):
		return fmt.Errorf("plan: Delta must lie strictly between 0 and 1, not %v", g.Delta)
	case !(g.MinAccuracy >= 0 && g.MinAccuracy < 1):
		return fmt.Errorf("plan: MinAccuracy must be in [0, 1), not %v", g.MinAccuracy)
	case !(g.MinLabels >= 0):
		return fmt.Errorf("plan: MinLabels must not be negative, not %v", g.MinLabels)
	case g.Queries < 0:
		return fmt.Errorf("plan: Queries must not be negative, not %d", g.Queries)
	}
	return nil
}

// ErrNoPlan matches the error of a search that found no setting that meets the goal.
var ErrNoPlan = errors.New("plan: no setting meets the goal")

// Alternatives returns, for each mechanism, the best setting that meets the goal. Settings with more expected
// correct answers come first. For Confident-GNMax, the result also has the best settings at thresholds of 20,
// 40, 60, 80 and 100 % of the votes. Noise is rounded upwards to the six significant digits that commands
// print. If no setting meets the goal, the error matches [ErrNoPlan]. The search uses fast Rényi accounting,
// but the goal's accountant determines the returned noise.
func Alternatives(ctx context.Context, examples []Example, goal Goal) ([]Alternative, error) {
	if err := goal.Validate(); err != nil {
		return nil, err
	}
	c, err := newCases(examples)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(goal.Queries, len(examples))
	same, fits, err := goal.equivalent(most, goal.least(ctx))
	if err != nil {
		return nil, err
	}
	var settings []aggregate.Setting
	if fits {
		found, err := c.search(ctx, same, most)
		if err != nil {
			return nil, err
		}
		for _, a := range found {
			settings = append(settings, a.Setting)
		}
	}
	out, err := c.meeting(ctx, settings, goal)
	if err == nil && len(out) == 0 {
		err = &NoPlanError{Goal: goal}
	}
	return out, err
}

func (c cases) meeting(ctx context.Context, settings []aggregate.Setting, goal Goal) ([]Alternative, error) {
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
	slices.SortStableFunc(out, func(a, b Alternative) int { return cmp.Compare(b.ExpectedCorrect, a.ExpectedCorrect) })
	return out, nil
}

func (c cases) search(ctx context.Context, goal Goal, most int) ([]Alternative, error) {
	thin := c.thinned(maxSearched)
	settings, err := thin.confidentSettings(ctx, goal, most)
	if err != nil {
		return nil, err
	}
	for _, mechanism := range mechanisms.Names(mechanisms.AlwaysAnswers) {
		s, found, err := thin.bestQueries(ctx, mechanism, goal, most)
		if err != nil {
			return nil, err
		}
		if found {
			settings = append(settings, s)
		}
	}
	return c.meeting(ctx, settings, goal)
}

const maxSearched = 2000

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

func (c cases) accurate(ctx context.Context, s aggregate.Setting, goal Goal) (Alternative, error) {
	for tries := 0; ; tries++ {
		a, err := c.within(ctx, s, goal)
		if err != nil || a.Accuracy() >= goal.MinAccuracy || tries == 12 || s.Queries == 1 {
			return a, err
		}
		s = fewer(a.Setting, tries)
	}
}

func fewer(s aggregate.Setting, tries int) aggregate.Setting {
	less := func(n int) int {
		if tries > 1 {
			return min(n-1, n*97/100)
		}
		return min(n-1, n*99/100)
	}
	queries := less(s.Queries)
	if s.Mechanism != Confident {
		for name, v := range s.Values {
			s = s.With(name, v*math.Sqrt(float64(queries)/float64(s.Queries)))
		}
		s.Queries = queries
		return s
	}
	answers := answersOf(s)
	fewerAnswers := min(max(1, less(answers)), queries)
	s = s.With("sigma1", s.Values["sigma1"]*math.Sqrt(float64(queries)/float64(s.Queries)))
	s = s.With("sigma2", s.Values["sigma2"]*math.Sqrt(float64(fewerAnswers)/float64(answers)))
	s = s.With("answers", float64(fewerAnswers))
	s.Queries = queries
	return s
}

// bestQueries maximises the expected number of correct answers, for a mechanism that answers every query.
func (c cases) bestQueries(ctx context.Context, mechanism string, goal Goal, most int) (best aggregate.Setting, found bool, err error) {
	d := known(mechanism)
	mostCorrect := 0.0
	try := func(queries int) error {
		s, err := calibrated(ctx, mechanism, queries, goal)
		if errors.Is(err, accountant.ErrNoBracket) { // no noise is enough
			return nil
		}
		if err != nil || d.MostNoise(s) > maxPlannedNoise {
			return err
		}
		_, right, err := c.chances(ctx, s, true)
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
			return best, false, err
		}
	}
	if !found {
		return best, false, nil
	}
	at := slices.Index(rungs, best.Queries)
	from, to := rungs[min(at+1, len(rungs)-1)], rungs[max(at-1, 0)]
	const steps = 16
	for i := 1; i < steps; i++ {
		if queries := from + (to-from)*i/steps; queries != rungs[at] {
			if err := try(queries); err != nil {
				return best, false, err
			}
		}
	}
	return best, found, nil
}

func ladder(n int) []int {
	var rungs []int
	for x := float64(n); x > 0.5; x *= 6.0 / 7 {
		if r := int(math.Round(x)); len(rungs) == 0 || r < rungs[len(rungs)-1] {
			rungs = append(rungs, r)
		}
	}
	return rungs
}
