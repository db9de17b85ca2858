package bayes

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// Step is one step of a training.
type Step struct {
	SamplingProbability float64 // q, of a record to be in the batch, in (0, 1]
	Noise               float64 // standard deviation, in the unit of the distances
}

func (s Step) validate() error {
	switch {
	case !(s.SamplingProbability > 0 && s.SamplingProbability <= 1):
		return fmt.Errorf("bayes: Step.SamplingProbability is %g, must be in (0, 1]", s.SamplingProbability)
	case !(s.Noise > 0) || !mathx.IsFinite(s.Noise):
		return fmt.Errorf("bayes: Step.Noise is %g, must be a finite number above 0", s.Noise)
	}
	return nil
}

// Account adds up the costs of a run. It is no accountant.Accountant: it takes no events and answers with a
// [Figure]. It is not safe for concurrent use.
type Account struct {
	cfg   Config
	costs []float64 // of the steps so far, at each order
	worst []float64 // the same for a record at Bound; nil without
	state progress
	// Kept from step to step: prices by sample size, the law, and the reference at Bound.
	prices map[int]float64
	law    *law
	bound  *reference
}

// progress counts steps and distances.
type progress struct {
	steps, unseen int // of them unseen were counted at Bound
	distances     int64
	fewest        int // distances of a step that was seen
}

// New starts an empty account.
func New(cfg Config) (*Account, error) {
	c, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	a := &Account{cfg: c, costs: make([]float64, len(c.Orders)), prices: make(map[int]float64)}
	if c.Bound > 0 {
		a.worst = make([]float64, len(c.Orders))
	}
	return a, nil
}

// slack allows for the rounding of a distance to single precision.
const slack = 1 + 0x1p-16

// Add adds a step. The distances are a sample of the distances between the sums with and without one record
// drawn from the law of the data. With Config.Bound a larger distance is an error, and less than two
// distances count as [Account.AddUnseen]. On an error nothing is added.
func (a *Account) Add(s Step, distances []float64) error { return a.AddRepeated(s, distances, 1) }

// AddRepeated adds equal steps that share one sample of distances.
func (a *Account) AddRepeated(s Step, distances []float64, times int) error {
	if err := s.validate(); err != nil {
		return err
	}
	if times < 1 {
		return fmt.Errorf("bayes: %d steps; must be at least 1", times)
	}
	if len(distances) < 2 && a.cfg.Bound > 0 {
		return a.addUnseen(s, times)
	}
	if len(distances) < 2 {
		return fmt.Errorf("bayes: %d distances; a step needs 2, or Config.Bound", len(distances))
	}
	squares := make([]float64, len(distances))
	largest, over := 0.0, a.cfg.Bound/s.Noise
	for i, d := range distances {
		switch {
		case !finite(d):
			return fmt.Errorf("bayes: distance %d is %g, must be a finite number, at least 0", i, d)
		case a.cfg.Bound > 0 && d > a.cfg.Bound*slack:
			return fmt.Errorf("bayes: distance %d is %g, above Config.Bound %g", i, d, a.cfg.Bound)
		}
		x := d / s.Noise
		if a.cfg.Bound > 0 {
			x = min(x, over)
		}
		squares[i] = x * x
		largest = math.Max(largest, squares[i])
	}
	if err := a.count(math.Max(largest, over*over), len(distances), times); err != nil {
		return err
	}
	a.prepare(s)
	ref := a.bound
	if a.cfg.Estimator == StudentT {
		ref = newReference(a.law, largest)
	}
	for i, f := range ref.scan(squares, a.cfg.Steps) {
		c := f.logMean(a.cfg.Estimator.surcharge(f, a.price(len(squares))), a.cfg.Steps)
		if a.bound != nil {
			c = math.Min(c, a.bound.costs[i]) // the mean does not exceed a bound of each record
			a.worst[i] += float64(times) * a.bound.costs[i]
		}
		a.costs[i] += float64(times) * math.Max(c, 0)
	}
	return nil
}

// price returns the price of an estimate from m distances.
func (a *Account) price(m int) float64 {
	p, ok := a.prices[m]
	if !ok {
		p = a.cfg.Estimator.price(a.cfg.Failure, m)
		a.prices[m] = p
	}
	return p
}

// prepare computes the law and the reference of a step where the last step had others.
func (a *Account) prepare(s Step) {
	if a.law == nil || a.law.probability != s.SamplingProbability {
		a.law, a.bound = newLaw(s.SamplingProbability, a.cfg.Orders), nil
	}
	x := a.cfg.Bound / s.Noise
	if x > 0 && (a.bound == nil || a.bound.square != x*x) {
		a.bound = newReference(a.law, x*x)
	}
}

// AddUnseen adds a step without distances, at the cost of a record at Config.Bound, which must be set.
func (a *Account) AddUnseen(s Step) error { return a.addUnseen(s, 1) }

func (a *Account) addUnseen(s Step, times int) error {
	if err := s.validate(); err != nil {
		return err
	}
	if a.cfg.Bound == 0 {
		return errors.New("bayes: a step without distances needs Config.Bound")
	}
	x := a.cfg.Bound / s.Noise
	if err := a.count(x*x, 0, times); err != nil {
		return err
	}
	a.prepare(s)
	for i, c := range a.bound.costs {
		a.costs[i] += float64(times) * c
		a.worst[i] += float64(times) * c
	}
	return nil
}

// count adds steps with squared distances up to largest. It refuses more steps than were planned.
func (a *Account) count(largest float64, distances, times int) error {
	if !(largest*MaxOrder*MaxOrder < 1e300) {
		return errors.New("bayes: distances are too large for the noise")
	}
	if times > a.cfg.Steps-a.state.steps {
		return fmt.Errorf("bayes: more than the %d planned steps: their number is in the cost of each", a.cfg.Steps)
	}
	a.state.steps += times
	if distances == 0 {
		a.state.unseen += times
		return nil
	}
	if a.state.fewest == 0 || distances < a.state.fewest {
		a.state.fewest = distances
	}
	a.state.distances += int64(distances)
	return nil
}

// Steps returns the number of added steps.
func (a *Account) Steps() int { return a.state.steps }

// best returns the least (cost - log budget)/lambda, and its order. The result is rounded up.
func best(orders []int, costs []float64, logDelta float64) (value float64, order int) {
	value = math.Inf(1)
	for i, lambda := range orders {
		if v := (costs[i] - logDelta) / float64(lambda); v < value {
			value, order = v, lambda
		}
	}
	return mathx.Up(value * (1 + 4e-16)), order
}
