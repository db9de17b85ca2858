package optim

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

// Optimizer is an update rule and its memory.
type Optimizer struct {
	cfg   Config
	state State

	// These belong to the step that Begin opened.
	rate, correction1, correction2 float64
}

// State is the memory of an Optimizer.
type State struct {
	Steps int64 // number of steps made
	// First is the velocity of SGD with momentum, or Adam's mean of gradients. Second is AdaGrad's sum, or
	// Adam's mean of squares. Each has one number a parameter, or is nil if the method has none.
	First, Second []float64
}

// New returns an Optimizer for the given number of parameters, with an empty memory.
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

// State returns the memory itself, not a copy: it changes with the next step.
func (o *Optimizer) State() State { return o.state }

// Restore puts back a State of an Optimizer of the same Config and size. On an error it changes nothing.
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

// Step moves parameters by one step against gradient at the given learning rate. It reports
// whether all parameters are finite.
func Step[T float32 | float64](o *Optimizer, parameters []T, gradient []float64, rate float64) (finite bool) {
	o.Begin(rate)
	return Apply(o, 0, parameters, gradient)
}

// Begin opens a step at the given learning rate. Apply makes the step.
func (o *Optimizer) Begin(rate float64) {
	o.state.Steps++
	o.rate = rate
	if o.adam() {
		n := float64(o.state.Steps)
		o.correction1 = 1 - math.Pow(o.cfg.Beta1, n)
		o.correction2 = math.Sqrt(1 - math.Pow(o.cfg.Beta2, n))
	}
}

// Apply makes the open step for some of the parameters, from number low on. The slices
// parameters and gradient hold this part. Goroutines may share a step between them, each
// parameter once. It reports whether all parameters of the part are finite.
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

// apply shrinks the parameters, adds decay times each parameter to its gradient, and subtracts the move
// computed from that gradient. It reports whether all results are finite.
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

// Average moves average towards parameters: average = decay average + (1-decay) parameters.
// If it starts at the first parameters, it is their exponential moving average.
func Average[T float32 | float64](average []float64, parameters []T, decay float64) {
	for j, p := range parameters {
		average[j] = decay*average[j] + (1-decay)*float64(p)
	}
}
