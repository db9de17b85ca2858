package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dpsgd"
)

// The hyper-parameters of a comparison: constants and rules of public numbers
// (records, columns, classes, epsilon), so nothing here costs privacy on data the
// constants have not seen. They were chosen on development splits of MNIST,
// optdigits, adult and letter, which never touch a row that scores but are made of
// rows that are private in the literature split: for these public benchmarks, as
// everywhere in the literature, epsilon does not cover the tuning
// (`pate compare --split development` repeats it).

// teachers is the number of teachers: n records make about sqrt(n) of sqrt(n)
// records each, at least 100 where each still gets 15. More teachers give larger
// gaps between vote counts, hence more answers for the same noise; fewer have
// more to learn from. On MNIST 250, 500 and 1000 teachers reach the same student
// accuracy; on optdigits 100 are better than 50 and 150.
func (c Config) teachers() int {
	if c.Teachers != 0 {
		return c.Teachers
	}
	n := c.Task.Private.Len()
	root := 10 * int(math.Ceil(math.Sqrt(float64(n))/10))
	return min(n, max(2, root, min(100, n/15)))
}

// noiseShare is the vote noise as a share of the number of teachers: at 0.2 two
// noisy counts differ by 0.28 of all votes (one standard deviation), so a
// typical gap of nine tenths is safe and a contested query is not. A lower share
// gives better but fewer labels.
const noiseShare = 0.2

// Confident-GNMax: the threshold in shares of the votes, the noise of the test
// over that of the answer, and how many questions stand against one answer.
const (
	confidentThreshold = 0.6
	confidentTestNoise = 2.0
	confidentAsked     = 1.25
)

// planAnswers is how many answers to pay for: what GNMax can afford at
// noiseShare and this epsilon, at least two a class, within the pool.
func planAnswers(ctx context.Context, c Config, p prepared) (int, error) {
	sigma := noiseShare * float64(c.teachers())
	target := accountant.Target{Epsilon: c.Epsilon, Delta: c.Delta}
	affordable, _, err := accountant.CalibrateCount(ctx, accountant.Config{Relation: relation}.NewAccount, target, func(n int64) accountant.Event {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: n}
	})
	if err != nil && !errors.Is(err, accountant.ErrNoBracket) {
		return 0, fmt.Errorf("experiments: %w", err)
	}
	return int(min(max(affordable, int64(2*p.classes)), int64(p.pool.Rows))), nil
}

// questions is how many pool rows a method asks.
func (p prepared) questions(method string) int {
	if method == ConfidentGNMax {
		return min(int(confidentAsked*float64(p.answers)), p.pool.Rows)
	}
	return p.answers
}

// mechanism calibrates a method's noise to the budget and fills the row's
// columns of it.
func (c Config) mechanism(ctx context.Context, method string, p prepared, row *Row) (aggregate.Mechanism, error) {
	asked := p.questions(method)
	build := func(sigma float64) (aggregate.Mechanism, error) {
		if method == GNMax {
			return aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: asked})
		}
		return aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
			Threshold: confidentThreshold * float64(c.teachers()), Sigma1: confidentTestNoise * sigma, Sigma2: sigma,
			Queries: asked, Answers: p.answers,
		})
	}
	var failed error
	sigma, err := calibrate(ctx, c, func(sigma float64) accountant.Event {
		m, err := build(sigma)
		if err != nil {
			failed = err
			return accountant.NonPrivate{}
		}
		return m.Event()
	})
	if err != nil {
		if failed != nil {
			err = failed
		}
		return nil, fmt.Errorf("experiments: noise for %s: %w", method, err)
	}
	row.Sigma = sigma
	if method == ConfidentGNMax {
		row.SigmaThreshold, row.Threshold = confidentTestNoise*sigma, confidentThreshold*float64(c.teachers())
	}
	return build(sigma)
}

// dpsgdPlan is everything of a DP-SGD run but its noise. Large batches, all
// records if there are few, make the noise of a step smallest against its signal
// (De et al. 2022), and at a fixed budget the best number of steps grows with the
// signal; 8192, 200 and the learning rate gave the best accuracy on the
// development split of MNIST within half a minute on two cores, and the floor of
// 50 steps on that of optdigits and adult.
func dpsgdPlan(records int) dpsgd.Config {
	return dpsgd.Config{
		SamplingProbability: math.Min(1, 8192/float64(records)),
		ClipNorm:            1,
		Steps:               int(math.Min(200, math.Max(50, 200*math.Sqrt(float64(records)/60000)))),
		LearningRate:        0.5,
		Momentum:            0.9,
	}
}

// nonPrivatePlan is the same descent without clipping and noise, for columns of
// standard deviation 1.
func nonPrivatePlan(records, columns int) dpsgd.Config {
	return dpsgd.Config{
		SamplingProbability: math.Min(1, 8192/float64(records)),
		ClipNorm:            math.Inf(1),
		NonPrivate:          true,
		Steps:               200,
		LearningRate:        0.5 / math.Sqrt(float64(columns)),
		Momentum:            0.9,
	}
}
