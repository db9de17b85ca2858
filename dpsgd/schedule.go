package dpsgd

import (
	"cmp"
	"fmt"
	"math"
)

// Shape names how a learning rate moves.
type Shape string

// The shapes. The zero value is Constant.
const (
	Constant Shape = "constant"
	Linear   Shape = "linear"   // in a straight line to Final
	Cosine   Shape = "cosine"   // along half a wave to Final
	Stepwise Shape = "stepwise" // times Factor, once in Every steps
)

// Schedule moves the learning rate from step to step. Its zero value keeps the rate constant.
type Schedule struct {
	Shape Shape `json:"shape,omitzero"`
	// Final is the rate of the last step, as a share of Config.LearningRate, for Linear and Cosine.
	Final float64 `json:"final,omitzero"`
	// Every is the number of steps between two drops. At each the rate is multiplied by Factor, in (0, 1].
	// Both are for Stepwise.
	Every  int     `json:"every,omitzero"`
	Factor float64 `json:"factor,omitzero"`
	// Warmup is a number of steps at the start in which the rate rises in a straight line to
	// Config.LearningRate, before the shape.
	Warmup int `json:"warmup,omitzero"`
}

func (s Schedule) validate(steps int) error {
	err := cmp.Or(
		within("Config.Schedule.Final", s.Final, 0, 0x1p20),
		within("Config.Schedule.Every", float64(s.Every), 0, math.MaxInt32),
		within("Config.Schedule.Factor", s.Factor, 0, 1),
		within("Config.Schedule.Warmup", float64(s.Warmup), 0, float64(steps)),
	)
	if err != nil {
		return err
	}
	final, stepwise := s.Shape == Linear || s.Shape == Cosine, s.Shape == Stepwise
	switch {
	case !final && !stepwise && s.Shape != "" && s.Shape != Constant:
		return fmt.Errorf("dpsgd: Config.Schedule.Shape %q is unknown, must be %q, %q, %q or %q",
			s.Shape, Constant, Linear, Cosine, Stepwise)
	case stepwise != (s.Every > 0):
		return fmt.Errorf("dpsgd: Config.Schedule.Every is for the shape %q, which needs it", Stepwise)
	case stepwise != (s.Factor > 0):
		return fmt.Errorf("dpsgd: Config.Schedule.Factor is for the shape %q, which needs it", Stepwise)
	case !final && s.Final != 0:
		return fmt.Errorf("dpsgd: Config.Schedule.Final is for the shapes %q and %q", Linear, Cosine)
	}
	return nil
}

// share returns the rate of a step, counted from 0, over Config.LearningRate.
func (s Schedule) share(step, steps int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup)
	}
	at, last := step-s.Warmup, steps-1-s.Warmup
	t := 1.0
	if last > 0 {
		t = float64(at) / float64(last)
	}
	switch s.Shape {
	case Linear:
		return (1 - t) + t*s.Final
	case Cosine:
		return s.Final + (1-s.Final)*(1+math.Cos(math.Pi*t))/2
	case Stepwise:
		return math.Pow(s.Factor, float64(at/s.Every))
	}
	return 1
}

func (c Config) rate(step int) float64 {
	return c.LearningRate * c.Schedule.share(step, c.TotalSteps())
}
