package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/stable"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
)

// The hyper-parameters of a comparison: constants and rules of public numbers
// (units, columns, classes, epsilon), so nothing here costs privacy on data the
// constants have not seen. They were chosen on development splits of MNIST,
// optdigits, adult and letter, which never touch a row that scores but are made of
// rows that are private in the literature split: for these public benchmarks, as
// everywhere in the literature, epsilon does not cover the tuning
// (`pate compare --split development` repeats it).

// teachers is the number of teachers: n units make about sqrt(n) of sqrt(n)
// units each, at least 100 where each still gets 15. More teachers give larger
// gaps between vote counts, hence more answers for the same noise; fewer have
// more to learn from. On MNIST 250, 500 and 1000 teachers reach the same student
// accuracy; on optdigits 100 are better than 50 and 150.
func (c Config) teachers() int {
	if c.Teachers != 0 {
		return c.Teachers
	}
	n := c.units // rows would tell how many a unit has
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

// Sparse vectors ask so many questions against one answer of GNMax, for nothing, and may
// be refused this share of them, which is what they pay for.
const (
	sparseAsked   = 4
	sparseRefused = 0.05
)

// questions is how many pool rows a method asks.
func (p prepared) questions(method string) int {
	switch method {
	case ConfidentGNMax:
		return min(int(confidentAsked*float64(p.answers)), p.pool.Rows)
	case StableSVT, MSvec:
		return min(sparseAsked*p.answers, p.pool.Rows)
	}
	return p.answers
}

// voting is a mechanism with its noise: what it costs and how it is started.
type voting struct {
	event accountant.Event
	start func(*ledger.Reservation, aggregate.Key) (session, error)
}

// session is a run of a mechanism.
type session interface {
	Ask(query uint64, votes aggregate.Histogram) (aggregate.Answer, error)
	Releasable() bool
}

// mechanism calibrates a method's noise to the budget and fills the row's
// columns of it.
func (c Config) mechanism(ctx context.Context, method string, p prepared, row *Row) (voting, error) {
	if slices.Contains(StabilityMethods(), method) {
		return c.stability(ctx, method, p, row)
	}
	m, err := c.argmax(ctx, method, p, row)
	if err != nil {
		return voting{}, err
	}
	return voting{m.Event(), func(r *ledger.Reservation, key aggregate.Key) (session, error) { return m.Start(r, key) }}, nil
}

// stability is a mechanism of package stable, with half of delta for releases that
// should not be.
func (c Config) stability(ctx context.Context, method string, p prepared, row *Row) (voting, error) {
	task := stable.Task{Mechanism: strings.TrimPrefix(method, "pate/"), Queries: p.questions(method), Delta: c.Delta / 2}
	if method != MStab {
		task.Failures = max(1, int(sparseRefused*float64(task.Queries)))
	}
	cfg, err := stable.Fit(task, func(event func(float64) accountant.Event) (float64, error) { return calibrate(ctx, c, event) })
	if err != nil {
		return voting{}, fmt.Errorf("experiments: noise for %s: %w", method, err)
	}
	m, err := stable.New(cfg)
	if err != nil {
		return voting{}, fmt.Errorf("experiments: %s: %w", method, err)
	}
	need, err := m.DistanceFor(0.95)
	if err != nil {
		return voting{}, fmt.Errorf("experiments: %s: %w", method, err)
	}
	row.Sigma, row.Threshold = cfg.Sigma, float64(cfg.Threshold)
	row.Note = fmt.Sprintf("releases a plurality that survives about %d moved votes, of at most %d", need, c.teachers()/2)
	if task.Failures > 0 {
		row.Note += fmt.Sprintf("; ends after %d refusals", task.Failures)
	}
	return voting{m.Event(), func(r *ledger.Reservation, key aggregate.Key) (session, error) { return m.Start(r, key) }}, nil
}

func (c Config) argmax(ctx context.Context, method string, p prepared, row *Row) (aggregate.Mechanism, error) {
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
		Optimizer:           optim.Config{Momentum: 0.9},
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
		Optimizer:           optim.Config{Momentum: 0.9},
	}
}
