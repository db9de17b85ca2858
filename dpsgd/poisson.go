package dpsgd

import (
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// poisson draws every step by itself.
type poisson struct{}

func (poisson) validate(Config) error { return nil }

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

// draw implements sampler.
func (p poissonSampler) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	p.include.Among(high-low, s, func(i int) {
		dst = append(dst, pick{low + i, int(s.Uint64N(uint64(p.blocks)))})
	})
	return dst
}
