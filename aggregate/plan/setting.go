package plan

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

// The names of the mechanisms, as the command line spells them.
const (
	GNMax          = "gnmax"
	Confident      = "confident"
	LNMax          = "lnmax"
	Exponential    = "exponential"
	PermuteAndFlip = "permute-and-flip"
)

// Setting is one mechanism with all its parameters. Fields a mechanism does not
// have are 0.
type Setting struct {
	Mechanism string
	Threshold float64 // of the largest count, in votes: Confident
	Sigma1    float64 // noise of the threshold test, in votes: Confident
	Sigma     float64 // noise of the argmax, in votes: GNMax, and Confident's sigma2
	Scale     float64 // noise in votes: LNMax, Exponential, PermuteAndFlip
	Queries   int     // cap on questions
	Answers   int     // cap on answers: Confident; 0 elsewhere and there for as many as Queries
}

// New returns the mechanism of package aggregate.
func (s Setting) New() (aggregate.Mechanism, error) {
	switch s.Mechanism {
	case GNMax:
		return aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: s.Sigma, Queries: s.Queries})
	case Confident:
		return aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
			Threshold: s.Threshold, Sigma1: s.Sigma1, Sigma2: s.Sigma, Queries: s.Queries, Answers: s.answers()})
	case LNMax:
		return aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: s.Scale, Queries: s.Queries})
	case Exponential:
		return aggregate.NewExponential(aggregate.ExponentialConfig{Scale: s.Scale, Queries: s.Queries})
	case PermuteAndFlip:
		return aggregate.NewPermuteAndFlip(aggregate.PermuteAndFlipConfig{Scale: s.Scale, Queries: s.Queries})
	}
	return nil, fmt.Errorf("plan: no mechanism %q: one of %s, %s, %s, %s, %s", s.Mechanism, GNMax, Confident, LNMax, Exponential, PermuteAndFlip)
}

func (s Setting) answers() int {
	if s.Mechanism == Confident && s.Answers != 0 {
		return s.Answers
	}
	return s.Queries
}

// Alternative is a setting with what it costs and what is expected of it.
type Alternative struct {
	Setting
	Epsilon         float64 // at the goal's delta, of the mechanism's own Event, rounded up
	ExpectedAnswers float64
	ExpectedCorrect float64
}

// Accuracy is the expected share of correct labels among the answers.
func (a Alternative) Accuracy() float64 {
	if a.ExpectedAnswers == 0 {
		return 0
	}
	return a.ExpectedCorrect / a.ExpectedAnswers
}

// maxPlannedNoise bounds the tables of a plan: 2^20 votes of noise drown 2^20
// teachers.
const maxPlannedNoise = 1 << 20

// Evaluate says what a setting costs at delta and what to expect of it, when every
// query is drawn independently from the examples.
func Evaluate(ctx context.Context, examples []Example, s Setting, delta float64) (Alternative, error) {
	c, err := newCases(examples)
	if err != nil {
		return Alternative{}, err
	}
	return c.evaluate(ctx, s, delta)
}

func (c cases) evaluate(ctx context.Context, s Setting, delta float64) (Alternative, error) {
	if noise := max(s.Sigma, s.Sigma1, s.Scale); noise > maxPlannedNoise {
		return Alternative{}, fmt.Errorf("plan: noise of %g votes is above the limit of a plan, %d", noise, maxPlannedNoise)
	}
	m, err := s.New()
	if err != nil {
		return Alternative{}, err
	}
	a := Alternative{Setting: s}
	if a.Epsilon, err = epsilon(m.Event(), delta); err != nil {
		return Alternative{}, err
	}
	j, err := s.judge(len(c.counts[0]), false)
	if err != nil {
		return Alternative{}, err
	}
	right, err := c.correct(ctx, j)
	if err != nil {
		return Alternative{}, err
	}
	if s.Mechanism != Confident {
		a.ExpectedAnswers = float64(s.Queries)
		a.ExpectedCorrect = float64(s.Queries) * sum(right) / float64(len(right))
		return a, nil
	}
	pass, err := thresholdPass(s.Sigma1, int64(math.Ceil(s.Threshold)), int64(c.teachers))
	if err != nil {
		return Alternative{}, err
	}
	passed, passedRight := 0.0, 0.0
	for i, n := range c.largest {
		passed += pass[n]
		passedRight += pass[n] * right[i]
	}
	if passed == 0 {
		return a, nil
	}
	a.ExpectedAnswers = untilCap(s.Queries, passed/float64(len(right)), s.answers())
	a.ExpectedCorrect = a.ExpectedAnswers * passedRight / passed
	return a, nil
}

func (s Setting) judge(classes int, rough bool) (judge, error) {
	switch s.Mechanism {
	case LNMax:
		return laplaceJudge(s.Scale, rough)
	case Exponential:
		return exponentialJudge(s.Scale), nil
	case PermuteAndFlip:
		return permuteAndFlipJudge(s.Scale, classes), nil
	default:
		return gaussianJudge(s.Sigma, classes)
	}
}

// epsilon is the accountant's claim for one event.
func epsilon(e accountant.Event, delta float64) (float64, error) {
	return accounted(accountant.Config{Relation: accountant.AddRemove}, e, delta)
}

func accounted(cfg accountant.Config, e accountant.Event, delta float64) (float64, error) {
	account, err := accountant.NewRDP(cfg)
	if err != nil {
		return 0, err
	}
	if err := account.Compose(e, 1); err != nil {
		return 0, err
	}
	b, err := account.Epsilon(delta)
	return b.Upper, err
}

// untilCap is the expected number of answers when each of n queries is answered with
// probability p, independently, until limit answers are given. With N binomial,
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

// binomialAtMost is P[N <= k] for 0 <= k.
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
