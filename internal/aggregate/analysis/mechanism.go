package analysis

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// Mechanism is what answered the queries: one of [GNMax], [ConfidentGNMax] and
// [LNMax]. Unlike the mechanisms of package aggregate these only describe noise.
type Mechanism interface {
	// Validate reports the first parameter that is out of range.
	Validate() error
	// bounds returns the published bounds of what one query costs.
	bounds(t tally, orders []float64) query
	// exact returns what one query with these counts costs, exactly.
	exact(e laws, counts []int, orders []float64) (divergences, error)
	// laws are the exact laws of the argmax, of integer or continuous noise.
	laws(integer bool) (laws, error)
	// run is the mechanism of package aggregate with these caps.
	run(queries, answers int) (aggregate.Mechanism, error)
}

// query is the cost of one query at each order, in two steps.
type query struct {
	answer              float64 // probability of an answer
	test, testWorst     spent   // the threshold test; nil if there is none
	argmax, argmaxWorst spent   // the noisy argmax, if it is answered
}

// GNMax adds normal noise to every count (Papernot et al. 2018, section 4.1).
type GNMax struct {
	Sigma float64 // standard deviation, in votes
}

// ConfidentGNMax answers by GNMax with Sigma2 if the largest count plus noise
// reaches a threshold (Papernot et al. 2018, Algorithm 1).
type ConfidentGNMax struct {
	Threshold float64 // in votes
	Sigma1    float64 // standard deviation of the noise on the largest count, in votes
	Sigma2    float64 // standard deviation of the noise on every count of an answer, in votes
}

// LNMax adds Laplace noise to every count (Papernot et al. 2017).
type LNMax struct {
	Scale float64 // in votes
}

func positive(name string, x float64) error {
	if !(x > 0) || math.IsInf(x, 1) {
		return fmt.Errorf("analysis: %s must be a finite number above 0, not %v", name, x)
	}
	return nil
}

// Validate implements [Mechanism].
func (m GNMax) Validate() error { return positive("Sigma", m.Sigma) }

// Validate implements [Mechanism].
func (m ConfidentGNMax) Validate() error {
	if !mathx.IsFinite(m.Threshold) {
		return fmt.Errorf("analysis: Threshold must be finite, not %v", m.Threshold)
	}
	if err := positive("Sigma1", m.Sigma1); err != nil {
		return err
	}
	return positive("Sigma2", m.Sigma2)
}

// Validate implements [Mechanism].
func (m LNMax) Validate() error { return positive("Scale", m.Scale) }

func (m GNMax) laws(integer bool) (laws, error) {
	if !integer {
		return &instance{noise: gaussianNoise{m.Sigma}}, nil
	}
	return newGaussianLattice(m.Sigma)
}

func (m ConfidentGNMax) laws(integer bool) (laws, error) {
	if !integer {
		return &instance{noise: gaussianNoise{m.Sigma2}}, nil
	}
	e, err := newGaussianLattice(m.Sigma2)
	if err != nil {
		return nil, err
	}
	if e.test, err = rng.NewDiscreteGaussian(m.Sigma1); err != nil {
		return nil, &IntegerNoiseError{Scale: m.Sigma1, Err: err}
	}
	return e, nil
}

func (m LNMax) laws(integer bool) (laws, error) {
	if !integer {
		return &instance{noise: laplaceNoise{m.Scale}}, nil
	}
	return newLaplaceLattice(m.Scale)
}

func (m GNMax) bounds(t tally, orders []float64) query {
	logQ := t.logFlipGaussian(m.Sigma)
	return query{
		answer:      1,
		argmax:      costs(orders, func(a float64) float64 { return gnmaxRDP(logQ, m.Sigma, a) }),
		argmaxWorst: costs(orders, func(a float64) float64 { return gnmaxWorst(m.Sigma, a) }),
	}
}

func (m ConfidentGNMax) bounds(t tally, orders []float64) query {
	pass, fail := thresholdLaw(float64(t[0]), m.Threshold, m.Sigma1)
	logQ := t.logFlipGaussian(m.Sigma2)
	return query{
		answer:      math.Exp(pass),
		test:        costs(orders, func(a float64) float64 { return thresholdRDP(pass, fail, m.Sigma1, a) }),
		testWorst:   costs(orders, func(a float64) float64 { return thresholdWorst(m.Sigma1, a) }),
		argmax:      costs(orders, func(a float64) float64 { return gnmaxRDP(logQ, m.Sigma2, a) }),
		argmaxWorst: costs(orders, func(a float64) float64 { return gnmaxWorst(m.Sigma2, a) }),
	}
}

func (m LNMax) bounds(t tally, orders []float64) query {
	logQ := t.logFlipLaplace(m.Scale)
	return query{
		answer:      1,
		argmax:      costs(orders, func(a float64) float64 { return lnmaxRDP(logQ, m.Scale, a) }),
		argmaxWorst: costs(orders, func(a float64) float64 { return lnmaxWorst(m.Scale, a) }),
	}
}

func (m GNMax) exact(e laws, counts []int, orders []float64) (divergences, error) {
	return argmaxDivergences(e, counts, orders)
}

func (m ConfidentGNMax) exact(e laws, counts []int, orders []float64) (divergences, error) {
	return gatedDivergences(e, counts, m.Threshold, m.Sigma1, orders)
}

func (m LNMax) exact(e laws, counts []int, orders []float64) (divergences, error) {
	return argmaxDivergences(e, counts, orders)
}

func costs(orders []float64, cost func(a float64) float64) spent {
	s := make(spent, len(orders))
	for i, a := range orders {
		s[i] = cost(a)
	}
	return s
}

// published lists the mechanisms that have a published data-dependent cost.
func published() map[string]func(values map[string]float64) Mechanism {
	return map[string]func(map[string]float64) Mechanism{
		"gnmax": func(v map[string]float64) Mechanism { return GNMax{Sigma: v["sigma"]} },
		"confident": func(v map[string]float64) Mechanism {
			return ConfidentGNMax{Threshold: v["threshold"], Sigma1: v["sigma1"], Sigma2: v["sigma2"]}
		},
		"lnmax": func(v map[string]float64) Mechanism { return LNMax{Scale: v["scale"]} },
	}
}

// Published reports whether the mechanism with a name, as package mechanisms has it, has
// a published data-dependent cost.
func Published(name string) bool { return published()[name] != nil }

// Of returns the analysis of a mechanism with its parameters.
func Of(name string, values map[string]float64) (Mechanism, error) {
	describe := published()[name]
	if describe == nil {
		return nil, fmt.Errorf("analysis: no data-dependent cost of %q is published", name)
	}
	m := describe(values)
	return m, m.Validate()
}
