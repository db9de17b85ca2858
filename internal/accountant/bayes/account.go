package bayes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/internal/mathx"
)

type Step struct {
	SamplingProbability float64 // probability q that a record is in the batch, in (0, 1]
	Noise               float64 // standard deviation of the noise, in the unit of the distances
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

// Account adds up the costs of training steps. It is not an accountant.Accountant, because the result is not
// differential privacy. Concurrent use is not safe.
type Account struct {
	cfg    Config
	costs  []float64 // cost of the added steps at each order
	worst  []float64 // the same for a record at distance Bound; nil without Bound
	state  progress
	prices map[int]float64
	law    *law
	bound  *reference
}

type progress struct {
	steps, unseen int // unseen: number of steps at the cost of Bound
	distances     int64
	fewest        int // smallest number of distances in a step that has distances
}

// New returns an empty account.
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

// slack is the factor by which float32 rounding may raise a distance above Config.Bound.
const slack = 1 + 0x1p-16

// Add adds a step. Each distance is for one record from the data distribution. It is the norm of the sum's
// change if the record is removed. A distance above Config.Bound is an error. If Config.Bound is set, fewer
// than two distances count as [Account.AddUnseen]. On an error Add adds nothing.
func (a *Account) Add(s Step, distances []float64) error { return a.AddRepeated(s, distances, 1) }

// AddRepeated equals several calls of Add, but Figure.Distances counts the distances once.
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
			c = math.Min(c, a.bound.costs[i]) // the mean cannot exceed the bound of each record
			a.worst[i] += float64(times) * a.bound.costs[i]
		}
		a.costs[i] += float64(times) * math.Max(c, 0)
	}
	return nil
}

func (a *Account) price(m int) float64 {
	p, ok := a.prices[m]
	if !ok {
		p = a.cfg.Estimator.price(a.cfg.Failure, m)
		a.prices[m] = p
	}
	return p
}

func (a *Account) prepare(s Step) {
	if a.law == nil || a.law.probability != s.SamplingProbability {
		a.law, a.bound = newLaw(s.SamplingProbability, a.cfg.Orders), nil
	}
	x := a.cfg.Bound / s.Noise
	if x > 0 && (a.bound == nil || a.bound.square != x*x) {
		a.bound = newReference(a.law, x*x)
	}
}

// AddUnseen adds a step without distances. The cost assumes that all distances equal Config.Bound. Without
// Config.Bound, AddUnseen returns an error.
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

func best(orders []int, costs []float64, logDelta float64) (value float64, order int) {
	value = math.Inf(1)
	for i, lambda := range orders {
		if v := (costs[i] - logDelta) / float64(lambda); v < value {
			value, order = v, lambda
		}
	}
	return mathx.Up(value * (1 + 4e-16)), order
}

// MaxOrder is the largest order in Config.Orders.
const MaxOrder = 1024

// DefaultOrders returns all orders up to 64, then four orders per doubling up to MaxOrder.
func DefaultOrders() []int {
	var orders []int
	for lambda := 1; lambda <= 64; lambda++ {
		orders = append(orders, lambda)
	}
	for i := 1; i <= 16; i++ {
		orders = append(orders, int(math.Round(64*math.Exp2(float64(i)/4))))
	}
	return orders
}

// Config holds the fixed parameters of an Account. Steps and Delta are required.
type Config struct {
	// Steps is the planned number T of steps. The cost of each step depends on T, so T must be fixed in
	// advance. An account may contain fewer than T steps.
	Steps int
	// Delta (delta_mu), in (0, 1), bounds the probability that a random record's privacy loss exceeds the
	// result. The assumptions are in the package comment. Delta includes the failure probability of all
	// estimates (see Failure).
	Delta float64
	// Orders holds the orders lambda to try, from 1 to MaxOrder. The default is DefaultOrders. The orders
	// must be fixed in advance, because Delta includes the failure probability of each order.
	Orders []int
	// Failure is the probability that the estimate of one step at one order fails. The product of Steps, the
	// number of orders, and Failure must be below Delta. By default this product is Delta/10.
	Failure float64
	// Estimator bounds the mean from a sample. The default is Bernstein.
	Estimator Estimator
	// Bound is an upper bound on the distances for [Account.Add], for example the clip norm. The cost of a
	// step is at most the cost at distance Bound. 0 means no bound. Bernstein requires a bound.
	Bound float64
}

const maxSteps = 1 << 30

func (c Config) complete() (Config, error) {
	if len(c.Orders) == 0 {
		c.Orders = DefaultOrders()
	}
	c.Orders = slices.Clone(c.Orders)
	slices.Sort(c.Orders)
	c.Orders = slices.Compact(c.Orders)
	if _, err := c.Estimator.MarshalText(); err != nil {
		return c, err
	}
	switch {
	case c.Steps < 1 || c.Steps > maxSteps:
		return c, fmt.Errorf("bayes: Config.Steps is %d, must be in [1, 2^30]", c.Steps)
	case !(c.Delta > 0 && c.Delta < 1):
		return c, fmt.Errorf("bayes: Config.Delta is %g, must lie strictly between 0 and 1", c.Delta)
	case c.Orders[0] < 1 || c.Orders[len(c.Orders)-1] > MaxOrder:
		return c, fmt.Errorf("bayes: Config.Orders must be in [1, %d]", MaxOrder)
	case !(c.Bound >= 0) || !mathx.IsFinite(c.Bound):
		return c, fmt.Errorf("bayes: Config.Bound is %g, must be a finite number, at least 0", c.Bound)
	case c.Estimator == Bernstein && c.Bound == 0:
		return c, errors.New("bayes: Config.Bound is 0: the Bernstein estimator needs clipped distances")
	}
	if c.Failure == 0 {
		c.Failure = c.Delta / 10 / float64(c.Steps) / float64(len(c.Orders))
	}
	if !(c.Failure >= 1e-300 && c.Failure < 0.5) {
		return c, fmt.Errorf("bayes: Config.Failure is %g, must be in [1e-300, 0.5)", c.Failure)
	}
	if !(c.failures() < c.Delta) {
		return c, fmt.Errorf("bayes: %d steps at %d orders fail with probability up to %.3g together, "+
			"which is not below delta %g: lower Config.Failure", c.Steps, len(c.Orders), c.failures(), c.Delta)
	}
	return c, nil
}

func (c Config) failures() float64 { return float64(len(c.Orders)) * float64(c.Steps) * c.Failure }

// Estimator selects an upper limit on the mean of e^(T K(d)), computed from a sample of distances d. Here
// K(d) is a log moment of the privacy loss in each of T steps.
type Estimator int

const (
	// Bernstein is the empirical Bernstein bound of Maurer, Pontil 2009, Theorem 4:
	//
	//	mean + sqrt(2 V ln(2/f)/m) + 7 R ln(2/f)/(3 (m-1))
	//
	// The m values e^(T K(d)) have sample variance V and upper bound R = e^(T K(Bound)). For bounded
	// distances, the bound is below the true mean with probability at most f = Failure.
	Bernstein Estimator = iota
	// StudentT is the estimator of the paper, with the factor T, which its equation 14 omits:
	//
	//	mean + t S/sqrt(m-1)
	//
	// The m values e^(T K(d)) have the population standard deviation S. Here t is the quantile 1 - Failure of
	// Student's t distribution with m-1 degrees of freedom. The guarantee needs normally distributed values,
	// which never occur. It fails if 0.1 % of records have distance 1, and all others 0.1. With 32 distances,
	// T = 1000, order 8 and Failure = 1e-15, the estimate is too low with probability 0.968.
	StudentT
)

func (e Estimator) String() string {
	switch e {
	case Bernstein:
		return "bernstein"
	case StudentT:
		return "student-t"
	}
	return fmt.Sprintf("Estimator(%d)", int(e))
}

func (e Estimator) MarshalText() ([]byte, error) {
	if e != Bernstein && e != StudentT {
		return nil, fmt.Errorf("bayes: %v is not an estimator", e)
	}
	return []byte(e.String()), nil
}

func (e *Estimator) UnmarshalText(text []byte) error {
	for _, known := range []Estimator{Bernstein, StudentT} {
		if string(text) == known.String() {
			*e = known
			return nil
		}
	}
	return fmt.Errorf("bayes: estimator %q is neither %v nor %v", text, Bernstein, StudentT)
}

func (e Estimator) price(failure float64, m int) float64 {
	if e == StudentT {
		return studentQuantile(failure, m-1)
	}
	return math.Log(2 / failure)
}

func (e Estimator) surcharge(s shortfalls, price float64) float64 {
	m := float64(s.n)
	if e == StudentT {
		return price * math.Sqrt(s.deviations()/m/(m-1))
	}
	return math.Sqrt(2*price*s.deviations()/m/(m-1)) + 7*price/(3*(m-1))
}

// studentQuantile returns the t with P[X > t] = tail for a Student variable X. The tail must be in (0, 1/2).
func studentQuantile(tail float64, freedom int) float64 {
	// It uses only the upper tail, because 1 - tail would round to 1.
	nu := float64(freedom)
	exceeded := func(t float64) bool { // P[T > t] = I_x(nu/2, 1/2)/2 with x = nu/(nu + t^2)
		return mathext.RegIncBeta(nu/2, 0.5, nu/(nu+t*t))/2 <= tail
	}
	high := 1.0
	for !exceeded(high) && high < 1e150 {
		high *= 2
	}
	return mathx.Bisect(exceeded, 0, high)
}
