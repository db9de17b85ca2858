package dpsgd

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Config says how to train. Every field that shapes the result is fixed before
// the data is touched.
type Config struct {
	// SamplingProbability is the chance of a record to be in a batch, in
	// [2^-64, 1]. The float64 is taken as the binary fraction it is.
	SamplingProbability float64
	// NoiseMultiplier is the standard deviation of the noise over the clip
	// norm, in [2^-10, 2^20].
	NoiseMultiplier float64
	// ClipNorm bounds the norm of a record's gradient, in [2^-40, 2^40]. It
	// shapes learning, not privacy.
	ClipNorm float64
	// Steps is the number of updates.
	Steps int
	// LearningRate multiplies an update; positive.
	LearningRate float64
	// FinalLearningRate, if not zero, is the rate of the last step; rates fall
	// (or rise) in a straight line from LearningRate. Default: constant.
	FinalLearningRate float64
	// Momentum is the heavy ball's, in [0, 1); default none.
	Momentum float64
	// Workers is the number of goroutines; default GOMAXPROCS. The result does
	// not depend on it, to the last bit.
	Workers int
	// Checkpoint is a file for the state of the run, mode 0600: an interrupted
	// Train with the same arguments, on a reservation of a resumed ledger, goes on
	// from it, to the last bit as if nothing had happened and at no further cost.
	// It is as secret as the data. Default: none.
	Checkpoint string
	// CheckpointEvery is the number of steps between two checkpoints; default a
	// twentieth of Steps.
	CheckpointEvery int
	// NonPrivate trains without noise, for a baseline: NoiseMultiplier must be
	// zero, ClipNorm may be +Inf. The event is accountant.NonPrivate, which no
	// budget admits, so Train then takes no reservation.
	NonPrivate bool
	// Progress, if set, is called after every step, from Train's goroutine. The
	// model holds that step's iterate: the caller may score it on public data,
	// and must not change it.
	Progress func(step, total int)
}

// Event is the worst case of a run, for the relation "add or remove one record".
func (c Config) Event() accountant.Event {
	if c.NonPrivate {
		return accountant.NonPrivate{}
	}
	return accountant.Repeated{
		Event: accountant.PoissonSampled{
			Probability: c.SamplingProbability,
			Event:       accountant.Gaussian{NoiseMultiplier: c.NoiseMultiplier},
		},
		Count: int64(c.Steps),
	}
}

// Validate reports the first field that is missing or out of range.
func (c Config) Validate() error {
	noise := within("Config.NoiseMultiplier", c.NoiseMultiplier, minNoise, maxNoise)
	clip := within("Config.ClipNorm", c.ClipNorm, minClip, maxClip)
	if c.NonPrivate {
		noise = within("Config.NoiseMultiplier", c.NoiseMultiplier, 0, 0)
		if math.IsInf(c.ClipNorm, 1) {
			clip = nil
		}
	}
	final := c.FinalLearningRate
	if final == 0 {
		final = c.LearningRate
	}
	return firstError(
		within("Config.SamplingProbability", c.SamplingProbability, 0x1p-64, 1),
		noise,
		clip,
		within("Config.Steps", float64(c.Steps), 1, math.MaxInt32),
		within("Config.LearningRate", c.LearningRate, 0x1p-60, 0x1p60),
		within("Config.FinalLearningRate", final, 0x1p-60, 0x1p60),
		within("Config.Momentum", c.Momentum, 0, 1-0x1p-20),
		within("Config.Workers", float64(c.Workers), 0, maxWorkers),
		within("Config.CheckpointEvery", float64(c.CheckpointEvery), 0, math.MaxInt32),
	)
}

const (
	minNoise, maxNoise = 0x1p-10, 0x1p20
	minClip, maxClip   = 0x1p-40, 0x1p40
	maxWorkers         = 1 << 16
)

// within reports a field whose value is outside [low, high].
func within(field string, v, low, high float64) error {
	if v >= low && v <= high {
		return nil
	}
	return fmt.Errorf("dpsgd: %s is %g, must be in [%g, %g]", field, v, low, high)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rate is the learning rate of a step, counted from 0.
func (c Config) rate(step int) float64 {
	if c.FinalLearningRate == 0 || c.Steps == 1 {
		return c.LearningRate
	}
	t := float64(step) / float64(c.Steps-1)
	return (1-t)*c.LearningRate + t*c.FinalLearningRate
}
