package plan

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// Names of mechanisms that plans treat by themselves.
const (
	GNMax       = "gnmax"
	Confident   = "confident"
	exponential = "exponential"
)

// Plannable reports whether a mechanism can be planned: it looks at votes alone, and at each query by itself.
func Plannable(d aggregate.Description) bool { return !d.Predicts && !d.Distances }

// Alternative is a setting with its cost and its expected labels.
type Alternative struct {
	aggregate.Setting
	// Epsilon is the claim of a ledger of its own, of mode reserved, at the goal's delta for the mechanism's
	// own Event, to the digit; By is the accountant that proves it.
	Epsilon         float64
	By              accountant.Method
	ExpectedAnswers float64
	ExpectedCorrect float64
}

// Accuracy returns the expected share of correct labels among the answers.
func (a Alternative) Accuracy() float64 {
	if a.ExpectedAnswers == 0 {
		return 0
	}
	return a.ExpectedCorrect / a.ExpectedAnswers
}

// maxPlannedNoise bounds the tables of a plan: 2^20 votes of noise drown 2^20 teachers.
const maxPlannedNoise = 1 << 20

// Evaluate returns the cost of a setting at delta, by that accountant, and the expected labels when every
// query is drawn independently from the examples.
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

// described returns the description of a mechanism that can be planned.
func described(mechanism string) (aggregate.Description, error) {
	d, err := mechanisms.Find(mechanism)
	if err != nil {
		return d, fmt.Errorf("plan: %w", err)
	}
	if !Plannable(d) {
		return d, fmt.Errorf("plan: what %s answers does not follow from votes on single queries: see Advise and Outcomes", mechanism)
	}
	return d, nil
}

// known returns the description of a mechanism that can be planned.
func known(mechanism string) aggregate.Description {
	d, _ := described(mechanism)
	return d
}

// chances returns the chances of a setting, and for each query the chance that its label is given if any is.
func (c cases) chances(ctx context.Context, s aggregate.Setting, rough bool) (aggregate.Chances, []float64, error) {
	chances, err := known(s.Mechanism).Chances(s, len(c.counts[0]), rough)
	if err != nil {
		return chances, nil, fmt.Errorf("plan: %w", err)
	}
	right, err := c.each(ctx, func(i int) float64 { return chances.Right(c.counts[i], c.labels[i]) })
	return chances, right, err
}

// expect returns the expected labels of a setting, without the cost.
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

// answersOf returns the cap on answers of a setting.
func answersOf(s aggregate.Setting) int {
	if n, capped := s.Values["answers"]; capped {
		return int(n)
	}
	return s.Queries
}

// untilCap returns the expected number of answers when each of n queries is answered
// with probability p, independently, until limit answers are given. With N binomial,
// E[min(N, limit)] = n p P[N' < limit] + limit P[N > limit] for N' of n-1 queries.
func untilCap(n int, p float64, limit int) float64 {
	switch {
	case limit >= n || p == 0:
		return float64(n) * p
	case p >= 1:
		return float64(limit)
	}
	return float64(n)*p*binomialAtMost(n-1, p, limit-1) + float64(limit)*mathext.RegIncBeta(float64(limit+1), float64(n-limit), p)
}

// binomialAtMost returns P[N <= k] for 0 <= k.
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

// ClearVote is the share of all votes for one class at which a vote counts as clear.
const ClearVote = 0.8

// Clear is what a setting makes of votes that leave no doubt.
type Clear struct {
	Right     float64 // probability that a vote of [ClearVote] gets its class, if it is answered; the rest is for one other class
	Unanimous float64 // the same of a vote of all teachers
	Answered  float64 // probability that a vote of all teachers is answered
}

// Clearly returns what a setting makes of clear votes of so many teachers.
func Clearly(s aggregate.Setting, teachers, classes int) (Clear, error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return Clear{}, err
	}
	s = d.Complete(s)
	if noise := d.MostNoise(s); noise > 64*float64(teachers) && noise > 1<<10 { // it drowns every vote
		return Clear{Right: 1 / float64(classes), Unanimous: 1 / float64(classes), Answered: 1}, nil
	}
	chances, err := d.Chances(s, classes, false)
	if err != nil {
		return Clear{}, fmt.Errorf("plan: %w", err)
	}
	c := Clear{Answered: 1}
	votes := make([]int64, classes)
	last := classes - 1 // which loses ties
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
