package dpsgd

import (
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
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
	// bandedCoefficients. This is banded matrix factorisation, BandMF (Choquette-Choo et
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
	Scheme Scheme `json:"scheme,omitzero"`
	// EpochSteps is the number of steps of an epoch, for Allocation and BallsInBins. The
	// steps of a run, or of each of its phases, are a whole number of epochs.
	EpochSteps int `json:"epoch_steps,omitzero"`
	// PerEpoch is the number of steps of an epoch that a record is in, for Allocation, from 1
	// to EpochSteps. The default is 1.
	PerEpoch int `json:"per_epoch,omitzero"`
	// Bands is the number of turns, and of bands of the noise, for Cyclic: from 1 to the
	// steps of the run. A record joins a batch when it is its turn with probability Bands
	// times SamplingProbability, at most 1. With one band it is Poisson sampling.
	Bands int `json:"bands,omitzero"`
}

// scheme is the law of a [Sampling]. Adding one takes a file, a case of Sampling.scheme and a
// name in Schemes.
type scheme interface {
	// validate refuses what the event does not cover.
	validate(c Config) error
	// probability returns the probability that a record is in a step of the phase.
	probability(p Phase) float64
	// event returns the event of the first steps of a phase.
	event(p Phase, steps int, noise accountant.Gaussian) accountant.Event
	// sampler returns the sampler of the phase that begins at step start, in which a record
	// is in a step with the given probability.
	sampler(probability float64, start, parts, blocks int) sampler
}

// sampler draws which records are in the batch of a step, and which block each joins.
type sampler interface {
	// draw appends those from record low up to high, in ascending order. They are those of
	// one part; parts are drawn by several goroutines at a time.
	draw(dst []pick, part, low, high int, key rng.Key, step int) []pick
}

// scheme returns the scheme by its name, which Config.Validate checks.
func (s Sampling) scheme() scheme {
	switch s.Scheme {
	case Allocation:
		return allocation{s.epochs()}
	case BallsInBins:
		return ballsInBins{s.epochs()}
	case Cyclic:
		return cyclic{s.Bands}
	}
	return poisson{}
}

// Probability returns the probability that a record is in a batch of the first phase. It is
// the expected batch over the number of records.
func (c Config) Probability() float64 { return c.Sampling.scheme().probability(c.phases()[0]) }

// validateSampling returns an error for what does not suit the other fields of a Config.
func (c Config) validateSampling() error {
	s := c.Sampling
	law := s.scheme()
	switch {
	case s.Scheme != "" && !slices.Contains(Schemes(), s.Scheme):
		return fmt.Errorf("dpsgd: Config.Sampling.Scheme %q is unknown, must be one of %q", s.Scheme, Schemes())
	case s.Bands != 0 && s.Scheme != Cyclic:
		return fmt.Errorf("dpsgd: Config.Sampling.Bands is for %q", Cyclic)
	case (s.EpochSteps != 0 || s.PerEpoch != 0) && s.Scheme != Allocation && s.Scheme != BallsInBins:
		return fmt.Errorf("dpsgd: Config.Sampling.EpochSteps and PerEpoch are for %q and %q", Allocation, BallsInBins)
	}
	if err := law.validate(c); err != nil || law == (poisson{}) {
		return err
	}
	switch {
	case c.Laplace:
		return fmt.Errorf("dpsgd: Config.Laplace needs every record in every step: not with Config.Sampling %q", s.Scheme)
	case c.Distances.Observe != nil:
		return fmt.Errorf("dpsgd: Config.Distances needs Poisson sampling: not with Config.Sampling %q", s.Scheme)
	}
	return nil
}
