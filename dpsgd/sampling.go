package dpsgd

import (
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// Scheme selects how the batches of a run are drawn.
type Scheme string

// The schemes. The zero value is Poisson. In each scheme the steps of a record are drawn for that record
// alone, independently of all others, and the size of a batch is random.
const (
	// Poisson lets every record join every batch independently, with a fixed probability.
	Poisson Scheme = "poisson"
	// Allocation puts every record in PerEpoch of the EpochSteps steps of an epoch. The choice is uniformly
	// random and new in each epoch.
	Allocation Scheme = "allocation"
	// BallsInBins puts every record in one of EpochSteps batches. The choice is uniformly random and made
	// once: every epoch has the same batches in the same order.
	BallsInBins Scheme = "balls-in-bins"
	// Cyclic gives every record one of Bands turns. The choice is uniformly random and made once. Turns
	// follow each other in a fixed order, again and again. At every step each record of the current turn
	// independently joins the batch. Noise is correlated over Bands steps: later steps subtract part of the
	// noise of a step. This is banded matrix factorisation, BandMF (Choquette-Choo et al. 2023).
	Cyclic Scheme = "cyclic"
)

// Schemes returns all schemes, the default first.
func Schemes() []Scheme { return []Scheme{Poisson, Allocation, BallsInBins, Cyclic} }

// Sampling sets how batches are drawn. It is fixed before the run, and it alone determines both the draws of
// [Train] and the charge of [Config.Event]. Its zero value is Poisson sampling. A shuffle cut into batches of
// equal size is none of these schemes and is not offered: there the places of the other records reveal the
// place of a record, so that it is hidden less.
type Sampling struct {
	Scheme Scheme `json:"scheme,omitzero"`
	// EpochSteps is the number of steps of an epoch, for Allocation and BallsInBins. The steps of a run, or
	// of each phase, must be a whole number of epochs.
	EpochSteps int `json:"epoch_steps,omitzero"`
	// PerEpoch is the number of steps of an epoch that a record is in, for Allocation, from 1 to EpochSteps.
	// The default is 1.
	PerEpoch int `json:"per_epoch,omitzero"`
	// Bands is the number of turns, and of bands of the noise, for Cyclic: from 1 to the steps of the run. In
	// its turn a record joins a batch with probability Bands times SamplingProbability, at most 1. With one
	// band this is Poisson sampling.
	Bands int `json:"bands,omitzero"`
}

// scheme implements a [Sampling].
type scheme interface {
	// validate returns an error for a Config that the event does not cover.
	validate(c Config) error
	// probability returns the probability that a record is in a step of the phase.
	probability(p Phase) float64
	// event returns the event of the first steps of a phase.
	event(p Phase, steps int, noise accountant.Gaussian) accountant.Event
	// sampler returns the sampler of the phase that begins at step start, in which a record is in a step
	// with the given probability.
	sampler(probability float64, start, parts, blocks int) sampler
}

// sampler draws which records are in the batch of a step, and which block each record joins.
type sampler interface {
	// draw appends the records of one part, from low up to high, in ascending order. Several goroutines draw
	// different parts at once.
	draw(dst []pick, part, low, high int, key rng.Key, step int) []pick
}

// scheme returns the scheme with the name that Config.Validate has checked.
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

// Probability returns the probability that a record is in a batch of the first phase: the expected batch size
// over the number of records.
func (c Config) Probability() float64 { return c.Sampling.scheme().probability(c.phases()[0]) }

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

type poisson struct{}

func (poisson) validate(Config) error       { return nil }
func (poisson) probability(p Phase) float64 { return p.SamplingProbability }

func (poisson) event(p Phase, steps int, noise accountant.Gaussian) accountant.Event {
	return accountant.Repeated{Event: accountant.PoissonSampled{Probability: p.SamplingProbability, Event: noise}, Count: int64(steps)}
}

func (poisson) sampler(probability float64, _, _, blocks int) sampler {
	return poissonSampler{rng.NewBernoulli(probability), blocks}
}

type poissonSampler struct {
	include rng.Bernoulli
	blocks  int
}

func (p poissonSampler) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	p.include.Among(high-low, s, func(i int) {
		dst = append(dst, pick{low + i, int(s.Uint64N(uint64(p.blocks)))})
	})
	return dst
}

// batcher draws batches of the records and assigns the records to blocks.
type batcher struct {
	sampler sampler
	records int
	blocks  int

	rows   []int // of the batch, block by block, ascending in each
	starts []int // block b is rows[starts[b]:starts[b+1]]
	picked [][]pick
}

type pick struct{ row, block int }

// drawLength is the number of records per stream of random numbers, so that goroutines can share the work.
const drawLength = 1 << 13

// newBatcher returns a batcher for the phase that begins at step start. probability is for Poisson sampling.
// The number of blocks must come from public numbers.
func newBatcher(s Sampling, probability float64, start, records, blocks int) *batcher {
	parts := (records + drawLength - 1) / drawLength
	return &batcher{
		sampler: s.scheme().sampler(probability, start, parts, blocks),
		records: records, blocks: blocks, starts: make([]int, blocks+1), picked: make([][]pick, parts),
	}
}

func (b *batcher) draw(workers int, key rng.Key, step int) {
	parallel.Each(workers, len(b.picked), func(_, part int) {
		low := part * drawLength
		b.picked[part] = b.sampler.draw(b.picked[part][:0], part, low, min(low+drawLength, b.records), key, step)
	})
	clear(b.starts)
	for _, picked := range b.picked {
		for _, p := range picked {
			b.starts[p.block]++
		}
	}
	at := 0
	for k, n := range b.starts {
		b.starts[k], at = at, at+n
	}
	b.rows = slices.Grow(b.rows[:0], at)[:at]
	next := slices.Clone(b.starts)
	for _, picked := range b.picked {
		for _, p := range picked {
			b.rows[next[p.block]] = p.row
			next[p.block]++
		}
	}
}

func (b *batcher) block(k int) []int { return b.rows[b.starts[k]:b.starts[k+1]] }
