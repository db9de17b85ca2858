package experiments

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/student"
)

// The hyper-parameters of a comparison: constants and rules of public numbers (units, columns, classes,
// epsilon), so they have no privacy cost on data that were not used to choose them. They were chosen on
// development splits of MNIST, optdigits, adult and letter. These splits contain private rows of the
// literature split, but no test rows. So epsilon does not cover the tuning for these public benchmarks, as
// everywhere in the literature (`pate compare --split development` uses these splits).

func (c Config) teachers() int {
	n := c.Teachers
	if n == 0 {
		n = training.TeachersFor(c.units) // rows would reveal the number of rows per unit
	}
	if silos := len(c.Task.Silos); silos > 0 {
		return silos * max(1, n/silos)
	}
	return n
}

const (
	confidentThreshold = 0.6  // threshold as a fraction of the number of teachers
	confidentTestNoise = 2.0  // noise of the test divided by the noise of the answer
	confidentAsked     = 1.25 // questions per answer
)

func (c Config) planAnswers(ctx context.Context, epsilon float64) (int, error) {
	affordable, err := plan.MaxCount(ctx, c.teachers(), accountant.Target{Epsilon: epsilon, Delta: c.Delta})
	if err != nil {
		return 0, fmt.Errorf("experiments: %w", err)
	}
	return int(min(max(affordable, int64(2*len(c.Task.Classes))), int64(c.askable()))), nil
}

func (c Config) askable() int { return min(c.Task.Pool.Len(), student.MaxSpread) }

// A sparse vector mechanism may ask up to sparseAsked times as many questions as GNMax. The mechanism stops
// when the fraction sparseRefused of this maximum is refused.
const (
	sparseAsked   = 4
	sparseRefused = 0.05
)

func (c point) questions(method string) int {
	switch d, _ := described(method); {
	case method == ConfidentGNMax:
		return min(int(confidentAsked*float64(c.answers)), c.askable())
	case slices.Contains(d.ParameterNames(), "failures"):
		return min(sparseAsked*c.answers, c.askable())
	}
	return c.answers
}

func methodOf(d aggregate.Description) string {
	if d.Name == plan.Confident {
		return ConfidentGNMax
	}
	return "pate/" + d.Name
}

func described(method string) (aggregate.Description, bool) {
	for _, d := range mechanisms.All() {
		if methodOf(d) == method && !d.Predicts {
			return d, true
		}
	}
	return aggregate.Description{}, false
}

type votingPlan struct {
	aggregate.Mechanism
	description aggregate.Description
	setting     aggregate.Setting
}

func (c point) mechanism(ctx context.Context, method string, row *Row) (votingPlan, error) {
	d, ok := described(method)
	if !ok {
		return votingPlan{}, fmt.Errorf("experiments: %s releases no labels by votes", method)
	}
	s, err := c.setting(ctx, method)
	if err != nil {
		return votingPlan{}, err
	}
	m, err := d.New(s)
	if err != nil {
		return votingPlan{}, fmt.Errorf("experiments: %s: %w", method, err)
	}
	row.Sigma, row.SigmaThreshold, row.Threshold = s.Values["sigma"]+s.Values["sigma2"], s.Values["sigma1"], s.Values["threshold"]
	if scale, laplace := s.Values["scale"]; laplace {
		row.Note = fmt.Sprintf("scale %.3g", scale)
	}
	if test, ok := m.(*stable.Mechanism); ok {
		need, err := test.DistanceFor(0.95)
		if err != nil {
			return votingPlan{}, fmt.Errorf("experiments: %s: %w", method, err)
		}
		row.Note = fmt.Sprintf("releases a plurality that survives about %d moved votes, of at most %d", need, c.teachers()/2)
	}
	if failures := s.Values["failures"]; failures > 0 {
		row.Note += fmt.Sprintf("; ends after %v refusals", failures)
	}
	return votingPlan{m, d, s}, nil
}

func (c point) setting(ctx context.Context, method string) (aggregate.Setting, error) {
	return once(c.plans, method, func() (aggregate.Setting, error) {
		d, _ := described(method)
		s := aggregate.Setting{Mechanism: d.Name, Queries: c.questions(method)}
		for _, parameter := range d.Parameters {
			switch parameter.Name {
			case "answers":
				s = s.With("answers", float64(c.answers))
			case "failures":
				s = s.With("failures", max(1, math.Floor(sparseRefused*float64(s.Queries))))
			}
		}
		s, err := c.withNoise(ctx, d, s)
		if err != nil {
			return s, fmt.Errorf("experiments: noise for %s: %w", method, err)
		}
		return s, nil
	})
}

func (c point) withNoise(ctx context.Context, d aggregate.Description, s aggregate.Setting) (aggregate.Setting, error) {
	least := func(event func(float64) (accountant.Event, error)) (float64, error) { return calibrate(ctx, c, event) }
	if d.Fit != nil {
		// Stability mechanisms use half of delta to bound the probability of an unstable answer in a run.
		return d.Fit(s, c.Delta/2, least)
	}
	if d.Name != plan.Confident {
		noise, err := d.Least(s, least)
		return d.WithNoise(s, noise), err
	}
	s = s.With("threshold", confidentThreshold*float64(c.teachers()))
	proportioned := func(sigma float64) aggregate.Setting {
		return s.With("sigma1", confidentTestNoise*sigma).With("sigma2", sigma)
	}
	sigma, err := least(func(sigma float64) (accountant.Event, error) { return d.Event(proportioned(sigma)) })
	return proportioned(sigma), err
}

func once[T any](plans *sync.Map, method string, made func() (T, error)) (T, error) {
	if plans == nil {
		return made()
	}
	f, _ := plans.LoadOrStore(method, sync.OnceValues(made))
	return f.(func() (T, error))()
}

type ahead struct {
	points []point
	err    error
	done   chan struct{}
}

func begin(ctx context.Context, c Config) (a *ahead, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	a = &ahead{done: make(chan struct{})}
	var group sync.WaitGroup
	group.Go(func() {
		defer close(a.done)
		a.points, a.err = c.points(ctx)
	})
	group.Go(func() {
		c.Hash()
		<-a.done
		for _, at := range a.points {
			for _, m := range append(neighbourMethods(), voteMethods()...) {
				if c.wants(m) {
					_, _ = at.methodEvent(ctx, m) // its caller handles the error
				}
			}
		}
	})
	return a, func() {
		cancel()
		group.Wait()
	}
}

func (a *ahead) wait(ctx context.Context) ([]point, error) {
	select {
	case <-a.done:
		return a.points, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
