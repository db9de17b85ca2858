package theorems

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// An Estimate is an epsilon that is not a guarantee. Code that charges or calibrates does not accept this
// type.
type Estimate struct {
	Epsilon float64
	Flaw    string // the reason why Epsilon is not a bound, in a sentence
}

// An Estimator computes an epsilon by a published method that has no proof.
type Estimator interface {
	// Compose adds count runs of e.
	Compose(e accountant.Event, count int64) error
	// Estimate returns an epsilon at delta in (0, 1). The epsilon may be too small.
	Estimate(delta float64) (Estimate, error)
}

type gaussianSteps struct {
	account *accountant.RDP // holds the events
	flaw    string
	epsilon func(steps []step, delta float64) (float64, error)
}

func newGaussianSteps(rel accountant.Relation, flaw string, epsilon func([]step, float64) (float64, error)) (Estimator, error) {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: rel})
	return &gaussianSteps{account, flaw, epsilon}, err
}

func (g *gaussianSteps) Compose(e accountant.Event, count int64) error {
	if err := checkRuns(e, count); err != nil {
		return err
	}
	if err := onlyGaussians(e, "the estimate is made for Gaussian noise, sampled or not"); err != nil {
		return err
	}
	return g.account.Compose(e, count)
}

func (g *gaussianSteps) Estimate(delta float64) (Estimate, error) {
	if !(delta > 0 && delta < 1) {
		return Estimate{}, fmt.Errorf("theorems: delta must be in (0, 1), got %v", delta)
	}
	eps, err := g.epsilon(g.steps(), delta)
	return Estimate{eps, g.flaw}, err
}

type step struct{ q, sigma, count float64 }

func (g *gaussianSteps) steps() []step {
	var steps []step
	for _, run := range g.account.Runs() {
		s := step{q: 1, count: float64(run.Count)}
		switch e := run.Event.(type) {
		case accountant.Gaussian:
			s.sigma = e.NoiseMultiplier
		case accountant.PoissonSampled:
			s.q, s.sigma = e.Probability, e.Event.(accountant.Gaussian).NoiseMultiplier
		}
		steps = append(steps, s)
	}
	return steps
}

// NewStrongComposition returns an empty estimate by strong composition, as in Abadi et al. 2016 (section
// 5.1). The classical Gaussian mechanism has epsilon_0 = sqrt(2 log(1.25/delta_0))/sigma. A step sampled with
// probability q costs (q epsilon_0, q delta_0). Advanced composition (Dwork, Rothblum, Vadhan 2010) adds up
// the steps, with the best split of delta.
//
// The result is not a bound. The formula for epsilon_0 is valid only if epsilon_0 is below 1. The true
// epsilon of a sampled step, log(1 + q(e^epsilon_0 - 1)), is larger than q epsilon_0. The bound of
// NewAdvanced is valid.
func NewStrongComposition(rel accountant.Relation) (Estimator, error) {
	const flaw = "published, not a valid step: linear amplification by sampling, classical Gaussian noise at epsilon above 1"
	return newGaussianSteps(rel, flaw, func(steps []step, delta float64) (float64, error) {
		weight := 0.0
		for _, t := range steps {
			weight += t.count * t.q
		}
		if weight == 0 {
			return 0, nil
		}
		at := func(logit float64) float64 {
			f := 1 / (1 + math.Exp(-logit))
			step0 := f * delta / weight
			squares, drift := 0.0, 0.0
			for _, t := range steps {
				eps := t.q * math.Sqrt(2*math.Log(1.25/step0)) / t.sigma
				squares += t.count * eps * eps
				drift += t.count * eps * math.Expm1(eps)
			}
			return math.Sqrt(2*squares*-math.Log((1-f)*delta)) + drift
		}
		_, eps := mathx.GoldenSection(func(x float64) float64 { return at(x - 32) }, 1, 63)
		return eps, nil
	})
}

// NewCentralLimit returns an empty estimate by the central limit theorem of Gaussian differential privacy
// (Bu, Dong, Long, Su 2020). T steps at sampling rate q and noise multiplier sigma count as one Gaussian of
// mu = q sqrt(T (e^{1/sigma^2} - 1)). The estimate is usually too small, and sometimes too large. The error
// is large for few steps or small q.
func NewCentralLimit(rel accountant.Relation) (Estimator, error) {
	const flaw = "a limit for infinitely many steps, usually too small"
	return newGaussianSteps(rel, flaw, func(steps []step, delta float64) (float64, error) {
		squares := 0.0
		for _, t := range steps {
			variance := 1 / (t.sigma * t.sigma)
			if t.q < 1 {
				variance = t.q * t.q * math.Expm1(variance)
			}
			squares += t.count * variance
		}
		if squares == 0 || math.IsInf(squares, 1) {
			return squares, nil
		}
		return accountant.GaussianEpsilon(1/math.Sqrt(squares), delta)
	})
}

type publishedMoments struct{ *accountant.RDP }

const maxLambda = 32

// NewMoments returns an empty moments accountant as in Abadi et al. 2016. It uses the log moments
// alpha(lambda) at integers lambda from 1 to 32. By Theorem 2 of the paper, log moments add up, and delta =
// min exp(alpha(lambda) - lambda epsilon). The accountant reproduces published results. RDP gives bounds that
// are never worse, and usually 20 % better. Only Gaussian noise is supported, alone or on Poisson samples.
// Bound.Order is lambda + 1.
func NewMoments(rel accountant.Relation) (accountant.Accountant, error) {
	orders := make([]float64, maxLambda)
	for i := range orders {
		orders[i] = float64(i + 2)
	}
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: rel, Orders: orders, Conversion: accountant.Classic})
	if err != nil {
		return nil, err
	}
	return &publishedMoments{account}, nil
}

func (m *publishedMoments) Compose(e accountant.Event, count int64) error {
	if err := checkRuns(e, count); err != nil {
		return err
	}
	if err := onlyGaussians(e, "the moments accountant was published for Gaussian noise, sampled or not; use rdp"); err != nil {
		return err
	}
	return m.RDP.Compose(e, count)
}

func onlyGaussians(e accountant.Event, reason string) error {
	switch e := e.(type) {
	case accountant.Gaussian:
		return nil
	case accountant.PoissonSampled:
		if _, ok := e.Event.(accountant.Gaussian); ok {
			return nil
		}
	case accountant.Repeated:
		return onlyGaussians(e.Event, reason)
	case accountant.Composed:
		for i, inner := range e.Events {
			if err := onlyGaussians(inner, reason); err != nil {
				return fmt.Errorf("composed, events[%d]: %w", i, err)
			}
		}
		return nil
	}
	return unsupported(e, reason)
}
