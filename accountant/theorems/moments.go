package theorems

import (
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// publishedMoments answers as its RDP account does.
type publishedMoments struct{ *accountant.RDP }

// maxLambda is the largest moment the paper used.
const maxLambda = 32

// NewMoments starts an empty moments accountant as published (Abadi et al. 2016): log moments at the
// integers lambda = 1 ... 32, Theorem 2 to compose and the tail bound delta = min exp(alpha(lambda) -
// lambda epsilon). It is kept to reproduce published numbers; RDP is never worse and usually 20 % better.
// It holds what the paper holds: Gaussian noise, alone or on Poisson samples. Its Lower is always 0; Order
// is lambda + 1.
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

// Compose implements Accountant.
func (m *publishedMoments) Compose(e accountant.Event, count int64) error {
	if err := checkRuns(e, count); err != nil {
		return err
	}
	if err := onlyGaussians(e, "the moments accountant was published for Gaussian noise, sampled or not; use rdp"); err != nil {
		return err
	}
	return m.RDP.Compose(e, count)
}

// onlyGaussians refuses everything but compositions of Gaussian releases of real-valued queries and their
// Poisson samples.
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
