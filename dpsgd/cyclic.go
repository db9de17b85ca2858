package dpsgd

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// cyclic lets records take as many turns as the noise has bands.
type cyclic struct{ bands int }

// validate refuses more than one matrix or clip norm, which the event does not cover.
func (y cyclic) validate(c Config) error {
	if err := within("Config.Sampling.Bands", float64(y.bands), 1, math.Max(1, float64(c.TotalSteps()))); err != nil {
		return err
	}
	const slack = 1 + 0x1p-40 // of a probability that was divided by the bands
	most := float64(y.bands) * c.phases()[0].SamplingProbability
	switch {
	case len(c.Phases) > 1:
		return fmt.Errorf("dpsgd: Config.Phases: %q is accounted for one phase, since noise is correlated over the steps", Cyclic)
	case most > slack:
		return fmt.Errorf("dpsgd: Config.Sampling.Bands times SamplingProbability is %g, must be at most 1: "+
			"a batch comes from one of the parts", most)
	case c.Clipping.Adaptive.on():
		return fmt.Errorf("dpsgd: Config.Clipping.Adaptive: the noise of %q is for one clip norm in all steps", Cyclic)
	}
	return nil
}

// inTurn returns the probability, drawn and charged, that a record joins a batch when it is its turn, for
// batches that it joins with probability q.
func (y cyclic) inTurn(q float64) float64  { return math.Min(1, float64(y.bands)*q) }
func (cyclic) probability(p Phase) float64 { return p.SamplingProbability }

func (y cyclic) event(p Phase, steps int, noise accountant.Gaussian) accountant.Event {
	e := accountant.BandedMatrix{
		Bands: int64(y.bands), Steps: int64(max(steps, y.bands)),
		Probability: y.inTurn(p.SamplingProbability), NoiseMultiplier: noise.NoiseMultiplier,
	}
	if steps == 0 {
		return accountant.Repeated{Event: e}
	}
	return e
}

func (y cyclic) sampler(probability float64, _, parts, blocks int) sampler {
	return &cyclicSampler{include: rng.NewBernoulli(y.inTurn(probability)), bands: y.bands, blocks: blocks, parts: make([]turns, parts)}
}

// cyclicSampler draws Poisson batches from one part of the records at a time. Every record has a turn,
// drawn for it alone and once for all steps, and joins the batches of its turn by a coin each time. The
// turn is a function of the key and the record's place in the data, so a resumed run meets the same turns.
type cyclicSampler struct {
	include rng.Bernoulli
	bands   int
	blocks  int
	parts   []turns
}

type turns struct {
	key     rng.Key // they were drawn from; zero before
	records [][]int // of every turn, ascending
}

func (c *cyclicSampler) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	own := &c.parts[part]
	if own.key != key {
		own.key, own.records = key, make([][]int, c.bands)
		w := newWords(key.Derive("turns").Derive("part", uint64(part)))
		for record := low; record < high; record++ {
			turn := w.below(uint64(c.bands))
			own.records[turn] = append(own.records[turn], record)
		}
	}
	records := own.records[step%c.bands]
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	c.include.Among(len(records), s, func(i int) {
		dst = append(dst, pick{records[i], int(s.Uint64N(uint64(c.blocks)))})
	})
	return dst
}
