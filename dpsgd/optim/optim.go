package optim

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

// Method selects an update rule.
type Method string

const (
	SGD Method = "sgd" // gradient descent, also with momentum or Nesterov momentum
	// AdaGrad divides each gradient by the square root of the accumulated squared gradients (Duchi et al.
	// 2011).
	AdaGrad Method = "adagrad"
	// Adam divides the mean gradient by the square root of the mean squared gradient (Kingma, Ba 2015).
	Adam Method = "adam"
	// AdamW is Adam with weight decay separate from the gradient (Loshchilov, Hutter 2019).
	AdamW Method = "adamw"
)

// Config configures an update rule. The zero value is plain gradient descent.
type Config struct {
	Method Method `json:"method,omitzero"`
	// Momentum is the momentum of SGD, in [0, 1).
	Momentum float64 `json:"momentum,omitzero"`
	// Nesterov selects Nesterov momentum, for SGD with a positive Momentum.
	Nesterov bool `json:"nesterov,omitzero"`
	// WeightDecay pulls parameters towards zero: WeightDecay times a parameter is added to its gradient. With
	// AdamW, the parameter is instead multiplied by 1 - WeightDecay * (learning rate).
	WeightDecay float64 `json:"weight_decay,omitzero"`
	// Beta1 and Beta2 are Adam's decay rates of the mean gradient and of the mean squared gradient. They are
	// in [0, 1), by default 0.9 and 0.999.
	Beta1 float64 `json:"beta1,omitzero"`
	Beta2 float64 `json:"beta2,omitzero"`
	// Epsilon is added to the square root in the denominator. By default it is 1e-8, or 1e-10 for AdaGrad.
	Epsilon float64 `json:"epsilon,omitzero"`
}

func (c Config) withDefaults() Config {
	switch c.Method {
	case "":
		c.Method = SGD
	case AdaGrad:
		c.Epsilon = cmp.Or(c.Epsilon, 1e-10)
	case Adam, AdamW:
		c.Beta1, c.Beta2, c.Epsilon = cmp.Or(c.Beta1, 0.9), cmp.Or(c.Beta2, 0.999), cmp.Or(c.Epsilon, 1e-8)
	}
	return c
}

// Validate returns an error if a field is out of range, or if the method ignores a field that is set.
func (c Config) Validate() error {
	within := func(field string, v, low, high float64) error {
		if v >= low && v <= high {
			return nil
		}
		return fmt.Errorf("optim: Config.%s is %g, but must be in [%g, %g]", field, v, low, high)
	}
	unread := func(field string, set bool) error {
		if !set {
			return nil
		}
		return fmt.Errorf("optim: Config.%s is nothing %s reads", field, c.withDefaults().Method)
	}
	const below1 = 1 - 0x1p-20
	checks := []error{
		within("Momentum", c.Momentum, 0, below1),
		within("WeightDecay", c.WeightDecay, 0, 0x1p20),
		within("Beta1", c.Beta1, 0, below1),
		within("Beta2", c.Beta2, 0, 1-0x1p-30),
		within("Epsilon", c.Epsilon, 0, 0x1p20),
	}
	adam := c.Method == Adam || c.Method == AdamW
	switch c.Method {
	case "", SGD:
		checks = append(checks, unread("Epsilon", c.Epsilon != 0))
		if c.Nesterov && c.Momentum == 0 {
			checks = append(checks, fmt.Errorf("optim: Config.Nesterov needs Config.Momentum"))
		}
	case AdaGrad, Adam, AdamW:
		checks = append(checks, unread("Momentum", c.Momentum != 0), unread("Nesterov", c.Nesterov))
	default:
		checks = append(checks, fmt.Errorf("optim: Config.Method %q is unknown, must be one of %q",
			c.Method, []Method{SGD, AdaGrad, Adam, AdamW}))
	}
	if !adam {
		checks = append(checks, unread("Beta1", c.Beta1 != 0), unread("Beta2", c.Beta2 != 0))
	}
	return cmp.Or(checks...)
}

// Optimizer is an update rule with its state.
type Optimizer struct {
	cfg   Config
	state State

	rate, correction1, correction2 float64
}

// State is the memory of an [Optimizer].
type State struct {
	Steps int64 // number of steps made
	// First is the velocity of SGD with momentum, or Adam's mean gradient. Second is AdaGrad's sum of
	// squares, or Adam's mean squared gradient. An unused slice is nil.
	First, Second []float64
}

// New returns an [Optimizer] for the given number of parameters, with zero state.
func New(cfg Config, parameters int) (*Optimizer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if parameters < 1 {
		return nil, fmt.Errorf("optim: %d parameters; there must be one", parameters)
	}
	o := &Optimizer{cfg: cfg.withDefaults()}
	if o.cfg.Momentum > 0 || o.adam() {
		o.state.First = make([]float64, parameters)
	}
	if o.cfg.Method == AdaGrad || o.adam() {
		o.state.Second = make([]float64, parameters)
	}
	return o, nil
}

func (o *Optimizer) adam() bool { return o.cfg.Method == Adam || o.cfg.Method == AdamW }

// State returns the state without a copy, so the next step changes the result.
func (o *Optimizer) State() State { return o.state }

// Restore copies s, the state of an optimizer with the same Config and size.
func (o *Optimizer) Restore(s State) error {
	if s.Steps < 0 || len(s.First) != len(o.state.First) || len(s.Second) != len(o.state.Second) {
		return errors.New("optim: the state is of another optimizer")
	}
	for _, v := range s.Second {
		if !(v >= 0) {
			return errors.New("optim: a mean of squares is negative or not a number")
		}
	}
	o.state.Steps = s.Steps
	copy(o.state.First, s.First)
	copy(o.state.Second, s.Second)
	return nil
}

// Begin starts a step with the given learning rate. Calls of Apply complete the step.
func (o *Optimizer) Begin(rate float64) {
	o.state.Steps++
	o.rate = rate
	if o.adam() {
		n := float64(o.state.Steps)
		o.correction1 = 1 - math.Pow(o.cfg.Beta1, n)
		o.correction2 = math.Sqrt(1 - math.Pow(o.cfg.Beta2, n))
	}
}

// Apply makes the step that Begin started, for the parameters from index low on. It reports whether the
// results are finite. Concurrent calls for different parameters are safe.
func Apply[T float32 | float64](o *Optimizer, low int, parameters []T, gradient []float64) (finite bool) {
	if len(parameters) != len(gradient) {
		panic("optim: dimension mismatch")
	}
	part := func(s []float64) []float64 {
		if s == nil {
			return nil
		}
		return s[low : low+len(gradient)]
	}
	first, second := part(o.state.First), part(o.state.Second)
	switch o.cfg.Method {
	case AdaGrad:
		return apply(o.cfg.WeightDecay, 0, parameters, gradient, func(j int, g float64) float64 {
			second[j] += g * g
			return o.rate * g / (math.Sqrt(second[j]) + o.cfg.Epsilon)
		})
	case Adam, AdamW:
		decay, shrink := o.cfg.WeightDecay, 0.0
		if o.cfg.Method == AdamW {
			decay, shrink = 0, o.rate*o.cfg.WeightDecay
		}
		rate := o.rate / o.correction1
		return apply(decay, shrink, parameters, gradient, func(j int, g float64) float64 {
			first[j] = o.cfg.Beta1*first[j] + (1-o.cfg.Beta1)*g
			second[j] = o.cfg.Beta2*second[j] + (1-o.cfg.Beta2)*g*g
			return rate * first[j] / (math.Sqrt(second[j])/o.correction2 + o.cfg.Epsilon)
		})
	}
	if first == nil {
		return kernel.Descend(parameters, gradient, o.cfg.WeightDecay, o.rate)
	}
	return apply(o.cfg.WeightDecay, 0, parameters, gradient, func(j int, g float64) float64 {
		first[j] = o.cfg.Momentum*first[j] + g
		if o.cfg.Nesterov {
			return o.rate * (g + o.cfg.Momentum*first[j])
		}
		return o.rate * first[j]
	})
}

func apply[T float32 | float64](decay, shrink float64, parameters []T, gradient []float64, move func(j int, g float64) float64) (finite bool) {
	finite = true
	for j, g := range gradient {
		p := float64(parameters[j])
		m := move(j, g+decay*p)
		parameters[j] = T(p - shrink*p - m)
		finite = finite && mathx.IsFinite(parameters[j])
	}
	return finite
}

// Average replaces each average[j] by decay average[j] + (1-decay) parameters[j]. For an exponential moving
// average, start with a copy of the initial parameters, and call Average once per step.
func Average[T float32 | float64](average []float64, parameters []T, decay float64) {
	for j, p := range parameters {
		average[j] = decay*average[j] + (1-decay)*float64(p)
	}
}
