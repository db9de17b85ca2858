package dpsgd

import (
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// Scheme selects how batches are drawn.
type Scheme string

// Under every Scheme, the batches that contain a record are drawn independently of all other records.
const (
	// Poisson puts every record in every batch independently, with a fixed probability.
	Poisson Scheme = "poisson"
	// Allocation divides a run into epochs of EpochSteps batches. In each epoch, every record is in exactly
	// PerEpoch batches, drawn uniformly and anew.
	Allocation Scheme = "allocation"
	// BallsInBins puts every record in one of EpochSteps batches, drawn uniformly. Every epoch uses the same
	// batches in the same order.
	BallsInBins Scheme = "balls-in-bins"
	// Cyclic divides the records into Bands parts, called turns. Each record joins one turn, drawn once and
	// uniformly. Steps use the turns in a fixed cyclic order. A batch contains each record of its turn
	// independently, with a fixed probability. Noise is correlated over Bands steps: later steps subtract
	// part of earlier noise. This is banded matrix factorisation, BandMF (Choquette-Choo et al. 2023).
	Cyclic Scheme = "cyclic"
)

// Schemes returns all schemes. The first one is the default.
func Schemes() []Scheme { return []Scheme{Poisson, Allocation, BallsInBins, Cyclic} }

// Sampling configures how batches are drawn. The zero value is Poisson sampling. Shuffling records into
// batches of equal size is not supported. It protects a record less, because the batches of all other records
// reveal the batch of a record.
type Sampling struct {
	Scheme Scheme `json:"scheme,omitzero"`
	// EpochSteps is the number of steps of an epoch, for Allocation and BallsInBins. It must divide Steps.
	EpochSteps int `json:"epoch_steps,omitzero"`
	// PerEpoch is the number of batches per epoch that contain a given record, for Allocation. PerEpoch is in
	// [1, EpochSteps], by default 1.
	PerEpoch int `json:"per_epoch,omitzero"`
	// Bands is the number of turns of the scheme Cyclic, in [1, number of steps]. A step's batch contains
	// each record of its turn with probability Bands x SamplingProbability. This product must be at most 1.
	Bands int `json:"bands,omitzero"`
}

type scheme interface {
	validate(c Config) error
	probability(p Phase) float64
	event(p Phase, steps int, noise accountant.Gaussian) accountant.Event
	sampler(probability float64, start, parts, blocks int) sampler
}

type sampler interface {
	// draw appends the drawn records of a part to dst, in ascending order. The part holds the records low to
	// high-1. Calls for different parts may run concurrently.
	draw(dst []pick, part, low, high int, key rng.Key, step int) []pick
}

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

// Probability returns the probability that a record is in a given batch. With Phases, the batch is in
// Phases[0].
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

type batcher struct {
	sampler sampler
	records int
	blocks  int

	rows   []int // of the batch, ordered by block and then by index
	starts []int // block b is rows[starts[b]:starts[b+1]]
	picked [][]pick
}

type pick struct{ row, block int }

const drawLength = 1 << 13

// newBatcher divides batches into blocks. The number `blocks` must depend only on public values (see the
// proof at grid).
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
