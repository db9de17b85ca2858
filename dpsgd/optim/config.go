package optim

import (
	"cmp"
	"fmt"
)

// Method names an update rule.
type Method string

// These are the methods. The zero value means SGD.
const (
	SGD Method = "sgd" // gradient descent with momentum, of Nesterov's kind or not
	// AdaGrad divides by the root of the sum of squares (Duchi et al. 2011).
	AdaGrad Method = "adagrad"
	// Adam divides a mean of gradients by the root of a mean of squares (Kingma, Ba 2015).
	Adam Method = "adam"
	// AdamW is Adam with the decay of the weights separate from the gradient (Loshchilov, Hutter 2019).
	AdamW Method = "adamw"
)

// Config chooses an update rule. The zero value is plain gradient descent.
type Config struct {
	Method Method `json:"method,omitzero"`
	// Momentum is for SGD, in [0, 1). The default is none.
	Momentum float64 `json:"momentum,omitzero"`
	// Nesterov looks ahead by the momentum. It is for SGD with Momentum.
	Nesterov bool `json:"nesterov,omitzero"`
	// WeightDecay pulls parameters to zero. WeightDecay times a parameter is added to its
	// gradient. For AdamW the parameter shrinks by the learning rate times WeightDecay
	// instead. WeightDecay must be at least 0. The default is none.
	WeightDecay float64 `json:"weight_decay,omitzero"`
	// Beta1 and Beta2 set how much Adam's means of gradients and of squares remember, in
	// [0, 1). The defaults are 0.9 and 0.999.
	Beta1 float64 `json:"beta1,omitzero"`
	Beta2 float64 `json:"beta2,omitzero"`
	// Epsilon is added to the root in the denominator. The default is 1e-8 for Adam and
	// AdamW, and 1e-10 for AdaGrad.
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

// Validate returns an error for the first field that is out of range, or that the method does not read.
func (c Config) Validate() error {
	within := func(field string, v, low, high float64) error {
		if v >= low && v <= high {
			return nil
		}
		return fmt.Errorf("optim: Config.%s is %g, must be in [%g, %g]", field, v, low, high)
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
