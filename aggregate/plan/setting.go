package plan

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
)

const (
	GNMax       = "gnmax"
	Confident   = "confident"
	exponential = "exponential"
)

// Plannable reports whether plans support d. Each answer must depend only on the votes of its query.
func Plannable(d aggregate.Description) bool { return !d.Predicts && !d.Distances }

// Alternative is a setting with its privacy cost and its expected labels.
type Alternative struct {
	aggregate.Setting
	// Epsilon is the privacy cost of Setting at the delta of [Goal] or [Evaluate].
	Epsilon         float64
	By              accountant.Method // the accountant that computed Epsilon
	ExpectedAnswers float64
	ExpectedCorrect float64
	Least           float64 // of ForLabels: the lowest accuracy in the worlds under which the plan must hold
}

// Accuracy returns the expected fraction of correct labels among the answers.
func (a Alternative) Accuracy() float64 {
	if a.ExpectedAnswers == 0 {
		return 0
	}
	return a.ExpectedCorrect / a.ExpectedAnswers
}

const maxPlannedNoise = 1 << 20

// Evaluate returns the privacy cost of s at delta by the given accountant, and the expected labels for
// queries drawn from examples.
func Evaluate(ctx context.Context, examples []Example, s aggregate.Setting, by accountant.Method, delta float64) (Alternative, error) {
	c, err := newCases(examples)
	if err != nil {
		return Alternative{}, err
	}
	a, err := c.expect(ctx, s)
	if err != nil {
		return Alternative{}, err
	}
	return a, a.claim(ctx, by, delta)
}

func described(mechanism string) (aggregate.Description, error) {
	d, err := mechanisms.Find(mechanism)
	if err != nil {
		return d, fmt.Errorf("plan: %w", err)
	}
	if !Plannable(d) {
		return d, fmt.Errorf("plan: the answers of %s do not follow from votes on single queries: see Advise and Outcomes", mechanism)
	}
	return d, nil
}

func known(mechanism string) aggregate.Description {
	d, _ := described(mechanism)
	return d
}

func (c cases) chances(ctx context.Context, s aggregate.Setting, rough bool) (aggregate.Chances, []float64, error) {
	chances, err := known(s.Mechanism).Chances(s, len(c.counts[0]), rough)
	if err != nil {
		return chances, nil, fmt.Errorf("plan: %w", err)
	}
	right, err := c.each(ctx, func(i int) float64 { return chances.Right(c.counts[i], c.labels[i]) })
	return chances, right, err
}

func (c cases) expect(ctx context.Context, s aggregate.Setting) (Alternative, error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return Alternative{}, err
	}
	if noise := d.MostNoise(s); noise > maxPlannedNoise {
		return Alternative{}, fmt.Errorf("plan: noise of %g votes is above the limit of a plan, %d", noise, maxPlannedNoise)
	}
	s = d.Complete(s)
	a := Alternative{Setting: s}
	chances, right, err := c.chances(ctx, s, false)
	if err != nil {
		return Alternative{}, err
	}
	if chances.Answered == nil {
		a.ExpectedAnswers = float64(s.Queries)
		a.ExpectedCorrect = float64(s.Queries) * sum(right) / float64(len(right))
		return a, nil
	}
	pass, err := c.each(ctx, func(i int) float64 { return chances.Answered(c.counts[i]) })
	if err != nil {
		return Alternative{}, err
	}
	passed, passedRight := 0.0, 0.0
	for i, p := range pass {
		passed, passedRight = passed+p, passedRight+p*right[i]
	}
	if passed == 0 {
		return a, nil
	}
	a.ExpectedAnswers = untilCap(s.Queries, passed/float64(len(right)), answersOf(s))
	a.ExpectedCorrect = a.ExpectedAnswers * passedRight / passed
	return a, nil
}

func answersOf(s aggregate.Setting) int {
	if n, capped := s.Values["answers"]; capped {
		return int(n)
	}
	return s.Queries
}

// untilCap returns E[min(N, limit)] for N ~ Bin(n, p).
func untilCap(n int, p float64, limit int) float64 {
	// With N' ~ Bin(n-1, p), this is n p P[N' < limit] + limit P[N > limit].
	switch {
	case limit >= n || p == 0:
		return float64(n) * p
	case p >= 1:
		return float64(limit)
	}
	return float64(n)*p*binomialAtMost(n-1, p, limit-1) + float64(limit)*mathext.RegIncBeta(float64(limit+1), float64(n-limit), p)
}

func binomialAtMost(n int, p float64, k int) float64 {
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}

func sum(xs []float64) float64 {
	total := 0.0
	for _, x := range xs {
		total += x
	}
	return total
}

// ClearVote is the fraction of teachers that agree in a clear vote.
const ClearVote = 0.8

// Clear describes how a setting answers queries on which most or all teachers agree.
type Clear struct {
	Right     float64 // probability of the right class for a [ClearVote] against one other class, given an answer
	Unanimous float64 // probability of the right class for a unanimous vote, given an answer
	Answered  float64 // probability of an answer for a unanimous vote
}

// Clearly computes [Clear] for a setting and numbers of teachers and classes.
func Clearly(s aggregate.Setting, teachers, classes int) (Clear, error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return Clear{}, err
	}
	s = d.Complete(s)
	if noise := d.MostNoise(s); noise > 64*float64(teachers) && noise > 1<<10 { // the noise hides every vote
		return Clear{Right: 1 / float64(classes), Unanimous: 1 / float64(classes), Answered: 1}, nil
	}
	chances, err := d.Chances(s, classes, false)
	if err != nil {
		return Clear{}, fmt.Errorf("plan: %w", err)
	}
	c := Clear{Answered: 1}
	votes := make([]int64, classes)
	last := classes - 1 // loses ties
	votes[last] = int64(math.Ceil(ClearVote * float64(teachers)))
	votes[0] = int64(teachers) - votes[last]
	c.Right = chances.Right(votes, last)
	votes[last], votes[0] = int64(teachers), 0
	c.Unanimous = chances.Right(votes, last)
	if chances.Answered != nil {
		c.Answered = chances.Answered(votes)
	}
	return c, nil
}

func (a *Alternative) claim(ctx context.Context, by accountant.Method, delta float64) error {
	e, err := known(a.Mechanism).Event(a.Setting)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	claim, err := accountant.Epsilon(ctx, by, accountant.AddRemove, delta, e)
	if err != nil {
		return fmt.Errorf("plan: %w", err)
	}
	a.Epsilon, a.By = claim.Upper, claim.By
	return nil
}

func (g Goal) least(ctx context.Context) aggregate.LeastNoise {
	return func(event func(float64) (accountant.Event, error)) (float64, error) {
		noise, _, err := accountant.CalibrateNoise(ctx, accountant.AutoConfig{Relation: accountant.AddRemove, Method: g.Accountant}.NewAccount,
			accountant.Target{Epsilon: g.Epsilon, Delta: g.Delta}, event)
		return noise, err
	}
}

// equivalent returns a goal for Rényi accounting. With this goal, GNMax needs about the same noise as with
// `budget`. The boolean is false if no noise fits the budget.
func (g Goal) equivalent(queries int, budget aggregate.LeastNoise) (Goal, bool, error) {
	g.Accountant = accountant.ByRDP
	d := known(GNMax)
	s := aggregate.Setting{Mechanism: GNMax, Queries: min(queries, 100)}
	noise, err := d.Least(s, budget)
	if errors.Is(err, accountant.ErrNoBracket) {
		return g, false, nil
	}
	if err != nil {
		return g, false, fmt.Errorf("plan: %w", err)
	}
	a := Alternative{Setting: d.WithNoise(s, noise)}
	err = a.claim(context.Background(), accountant.ByRDP, g.Delta)
	g.Epsilon = a.Epsilon
	return g, err == nil && g.Epsilon > 0 && !math.IsInf(g.Epsilon, 1), err
}

const unspent = 1e-4 // within stops if at most this fraction of the goal's epsilon is unused

func (c cases) within(ctx context.Context, s aggregate.Setting, goal Goal) (Alternative, error) {
	// Log epsilon is nearly linear in log noise, so a secant method takes few steps.
	d := known(s.Mechanism)
	const enough, most = 5, 30 // largest numbers of steps: after a step within the budget, and in total
	var best Alternative
	var lastAt, lastMiss float64
	at, slope := 0.0, -1.2 // at is the log of the noise factor; the slope is between -1 and -2 for Gaussian noise
	for tries := 0; ; tries++ {
		a := Alternative{Setting: scaled(d, s, math.Exp(at))}
		if err := a.claim(ctx, goal.Accountant, goal.Delta); err != nil {
			return Alternative{}, err
		}
		miss := max(math.Log(a.Epsilon/goal.Epsilon), -30) // finite if epsilon is 0
		if miss <= 0 && (best.Queries == 0 || a.Epsilon > best.Epsilon) {
			best = a
		}
		if best.Queries > 0 && (best.Epsilon >= goal.Epsilon*(1-unspent) || tries >= enough) {
			break
		}
		if tries == most || math.IsNaN(miss) {
			return Alternative{}, fmt.Errorf("plan: %s costs epsilon %g, but the goal is %g", s.Mechanism, a.Epsilon, goal.Epsilon)
		}
		if tries > 0 && at != lastAt {
			slope = min(max((miss-lastMiss)/(at-lastAt), -4), -0.5)
		}
		lastAt, lastMiss = at, miss
		at += min(max((-unspent/4-miss)/slope, -1), 1)
	}
	out, err := c.expect(ctx, best.Setting)
	out.Epsilon, out.By = best.Epsilon, best.By
	return out, err
}

func scaled(d aggregate.Description, s aggregate.Setting, factor float64) aggregate.Setting {
	for _, p := range d.Noise() {
		s = s.With(p.Name, min(max(number.Up(s.Values[p.Name]*factor, 6), p.Min), p.Max))
	}
	return s
}

func calibrated(ctx context.Context, mechanism string, queries int, goal Goal) (aggregate.Setting, error) {
	s := aggregate.Setting{Mechanism: mechanism, Queries: queries}
	d := known(mechanism)
	noise, err := d.Least(s, goal.least(ctx))
	if err != nil {
		return s, fmt.Errorf("plan: %w", err)
	}
	return d.WithNoise(s, noise), nil
}

func fit(s aggregate.Setting, budget aggregate.LeastNoise) (aggregate.Setting, bool, error) {
	// The noise is rounded upwards to six digits before it is tested, because a computed epsilon may rise
	// slightly with the noise.
	d, bare := known(s.Mechanism), s
	proportions := d
	bare.Values, proportions.Parameters = nil, nil
	for _, q := range d.Parameters {
		if v, given := s.Values[q.Name]; q.Kind == "noise" {
			q.Ratio = v
		} else if given {
			bare = bare.With(q.Name, v)
		}
		proportions.Parameters = append(proportions.Parameters, q)
	}
	at := func(noise float64) aggregate.Setting { return scaled(d, proportions.WithNoise(bare, noise), 1) }
	noise, err := budget.Find(func(noise float64) (accountant.Event, error) { return d.Event(at(noise)) })
	if errors.Is(err, accountant.ErrNoBracket) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("plan: %w", err)
	}
	fitted := at(noise)
	return fitted, d.MostNoise(fitted) <= maxPlannedNoise, nil
}
