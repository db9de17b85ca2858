package dpsgd

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Scheme names how the batches of a run are drawn.
type Scheme string

// The schemes. The zero value is Poisson. In each of them a record's steps are drawn for it
// alone: they say nothing of any other record's, and the size of a batch is random.
const (
	// Poisson lets every record join every batch by a coin of its own.
	Poisson Scheme = "poisson"
	// Allocation puts every record in PerEpoch of the EpochSteps steps of an epoch, a
	// uniformly random choice, afresh in each epoch.
	Allocation Scheme = "allocation"
	// BallsInBins puts every record in one of EpochSteps batches, a uniformly random choice,
	// once and for all: in each epoch the same batches come in the same order.
	BallsInBins Scheme = "balls-in-bins"
	// Cyclic gives every record one of Bands turns, a uniformly random choice, once and for
	// all. At every step those whose turn it is join the batch by a coin of their own, and
	// turns come in the same order again and again. Noise is then correlated over Bands
	// steps, so that part of what a step adds is taken off in later ones: see
	// [BandedCoefficients]. This is banded matrix factorisation, BandMF (Choquette-Choo et
	// al. 2023).
	Cyclic Scheme = "cyclic"
)

// Schemes returns all schemes, the default first.
func Schemes() []Scheme { return []Scheme{Poisson, Allocation, BallsInBins, Cyclic} }

// Sampling says how batches are drawn. It is data, fixed before the run, and it alone decides
// both what [Train] draws and what [Config.Event] charges. Its zero value is Poisson
// sampling. A shuffle cut into batches of equal size is none of these schemes and is not
// offered: where the others are then tells where a record is, and the record is less hidden.
type Sampling struct {
	Scheme Scheme
	// EpochSteps is the number of steps of an epoch, for Allocation and BallsInBins. The
	// steps of a run, or of each of its phases, are a whole number of epochs.
	EpochSteps int
	// PerEpoch is the number of steps of an epoch that a record is in, for Allocation, from 1
	// to EpochSteps. The default is 1.
	PerEpoch int
	// Bands is the number of turns, and of bands of the noise, for Cyclic: from 1 to the
	// steps of the run. A record joins a batch when it is its turn with probability Bands
	// times SamplingProbability, at most 1. With one band it is Poisson sampling.
	Bands int
}

// EpochError is returned for steps that are not a whole number of epochs: no event stands
// for a part of one.
type EpochError struct {
	Field             string // of the Config
	Steps, EpochSteps int
}

// Error implements error.
func (e *EpochError) Error() string {
	below := e.Steps / e.EpochSteps * e.EpochSteps
	near := fmt.Sprintf("%d or %d", below, below+e.EpochSteps)
	if below == 0 {
		near = fmt.Sprint(e.EpochSteps)
	}
	return fmt.Sprintf("dpsgd: %s is %d, not a whole number of epochs of %d steps: %s would be", e.Field, e.Steps, e.EpochSteps, near)
}

// epochs reports whether batches are drawn epoch by epoch.
func (s Sampling) epochs() bool { return s.Scheme == Allocation || s.Scheme == BallsInBins }

// perEpoch returns the number of steps of an epoch that a record is in.
func (s Sampling) perEpoch() int { return max(1, s.PerEpoch) }

// inTurn returns the probability that a record joins a batch when it is its turn, for
// batches that it joins with probability q. It is what is drawn and what is charged.
func (s Sampling) inTurn(q float64) float64 { return math.Min(1, float64(s.Bands)*q) }

// bands returns the number of steps over which noise is correlated; 1 is not at all.
func (s Sampling) bands() int { return max(1, s.Bands) }

// probability returns the probability that a record is in a step of the phase.
func (s Sampling) probability(p Phase) float64 {
	if s.epochs() {
		return float64(s.perEpoch()) / float64(s.EpochSteps)
	}
	return p.SamplingProbability
}

// Probability returns the probability that a record is in a batch of the first phase. It is
// the expected batch over the number of records.
func (c Config) Probability() float64 { return c.Sampling.probability(c.phases()[0]) }

// event returns the event of the first steps of a phase with this noise. An epoch that has
// begun is charged as a whole.
func (s Sampling) event(p Phase, steps int, noise accountant.Event) accountant.Event {
	if s.Scheme == Cyclic {
		e := accountant.BandedMatrix{Bands: int64(s.Bands), Steps: int64(max(steps, s.Bands)), Probability: s.inTurn(p.SamplingProbability)}
		if g, ok := noise.(accountant.Gaussian); ok {
			e.NoiseMultiplier = g.NoiseMultiplier
		}
		if steps == 0 {
			return accountant.Repeated{Event: e}
		}
		return e
	}
	if !s.epochs() {
		return accountant.Repeated{Event: accountant.PoissonSampled{Probability: p.SamplingProbability, Event: noise}, Count: int64(steps)}
	}
	t := int64(s.EpochSteps)
	epochs := (int64(steps) + t - 1) / max(1, t)
	switch {
	case s.Scheme == Allocation:
		return accountant.Repeated{Event: accountant.RandomAllocation{K: int64(s.perEpoch()), Steps: t, Event: noise}, Count: epochs}
	case epochs == 0:
		return accountant.Repeated{Event: accountant.BallsInBins{Bins: t, Epochs: 1, Event: noise}}
	}
	return accountant.BallsInBins{Bins: t, Epochs: epochs, Event: noise}
}

// validate returns an error for what does not suit the other fields of a Config.
func (s Sampling) validate(c Config) error {
	var err error
	switch {
	case s.Scheme == Cyclic:
		err = s.validateCyclic(c)
	case s.Bands != 0:
		return fmt.Errorf("dpsgd: Config.Sampling.Bands is for %q", Cyclic)
	case s.epochs():
		err = s.validateEpochs(c)
	case s.Scheme != "" && s.Scheme != Poisson:
		return fmt.Errorf("dpsgd: Config.Sampling.Scheme %q is unknown, must be one of %q", s.Scheme, Schemes())
	case s.EpochSteps != 0 || s.PerEpoch != 0:
		return fmt.Errorf("dpsgd: Config.Sampling.EpochSteps and PerEpoch are for %q and %q", Allocation, BallsInBins)
	default:
		return nil
	}
	switch {
	case err != nil:
		return err
	case c.Laplace:
		return fmt.Errorf("dpsgd: Config.Laplace needs every record in every step: not with Config.Sampling %q", s.Scheme)
	case c.Distances.Observe != nil:
		return fmt.Errorf("dpsgd: Config.Distances needs Poisson sampling: not with Config.Sampling %q", s.Scheme)
	}
	return nil
}

// validateEpochs refuses what the event of batches of an epoch does not cover.
func (s Sampling) validateEpochs(c Config) error {
	if err := within("Config.Sampling.EpochSteps", float64(s.EpochSteps), 1, math.MaxInt32); err != nil {
		return err
	}
	if err := within("Config.Sampling.PerEpoch", float64(s.PerEpoch), 0, float64(s.EpochSteps)); err != nil {
		return err
	}
	switch {
	case s.Scheme == BallsInBins && s.PerEpoch > 1:
		return fmt.Errorf("dpsgd: Config.Sampling.PerEpoch is for %q", Allocation)
	case s.Scheme == BallsInBins && len(c.Phases) > 1:
		return fmt.Errorf("dpsgd: Config.Phases: %q is accounted for one phase, since all epochs have the same batches", BallsInBins)
	}
	return nil
}

// validateCyclic refuses what the event does not cover: one matrix and one clip norm are
// for all steps.
func (s Sampling) validateCyclic(c Config) error {
	if err := within("Config.Sampling.Bands", float64(s.Bands), 1, math.Max(1, float64(c.TotalSteps()))); err != nil {
		return err
	}
	const slack = 1 + 0x1p-40 // of a probability that was divided by the bands
	most := float64(s.Bands) * c.phases()[0].SamplingProbability
	switch {
	case s.EpochSteps != 0 || s.PerEpoch != 0:
		return fmt.Errorf("dpsgd: Config.Sampling.EpochSteps and PerEpoch are for %q and %q", Allocation, BallsInBins)
	case len(c.Phases) > 1:
		return fmt.Errorf("dpsgd: Config.Phases: %q is accounted for one phase, since noise is correlated over the steps", Cyclic)
	case most > slack:
		return fmt.Errorf("dpsgd: Config.Sampling.Bands times SamplingProbability is %g, must be at most 1: a batch comes from one of the parts", most)
	case c.Clipping.Adaptive.on():
		return fmt.Errorf("dpsgd: Config.Clipping.Adaptive: the noise of %q is for one clip norm in all steps", Cyclic)
	}
	return nil
}
