package controls

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/audit"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/rng"
)

// voting is a mechanism that answers queries on votes.
type voting struct {
	event accountant.Event
	law   func(aggregate.Histogram) (aggregate.Law, error)
	start func(r *ledger.Reservation, key rng.Key) (asker, error)
}

type asker func(query uint64, h aggregate.Histogram) (aggregate.Answer, error)

func votingOf(m interface {
	aggregate.Mechanism
	Law(aggregate.Histogram) (aggregate.Law, error)
}, err error) (voting, error) {
	if err != nil {
		return voting{}, err
	}
	return voting{m.Event(), m.Law, func(r *ledger.Reservation, key rng.Key) (asker, error) {
		s, err := m.Start(r, key)
		if err != nil {
			return nil, err
		}
		return s.Ask, nil
	}}, nil
}

func interactive(n int) (voting, error) {
	prediction := []float64{0.7, 0.2, 0.1}
	m, err := aggregate.NewInteractiveGNMax(aggregate.InteractiveGNMaxConfig{
		Threshold: 2, Sigma1: 3, Sigma2: argmaxNoise, Teachers: 10, Confidence: 0.6, Queries: n, Answers: n})
	if err != nil {
		return voting{}, err
	}
	law := func(h aggregate.Histogram) (aggregate.Law, error) { return m.Law(h, prediction) }
	return voting{m.Event(), law, func(r *ledger.Reservation, key rng.Key) (asker, error) {
		s, err := m.Start(r, key)
		if err != nil {
			return nil, err
		}
		return func(query uint64, h aggregate.Histogram) (aggregate.Answer, error) {
			return s.Ask(query, h, prediction)
		}, nil
	}}, nil
}

// argmaxNoise is the scale, or standard deviation, of noise on votes: a moved vote costs
// about 1.
const argmaxNoise = 2

// argmaxTargets are the noisy argmax mechanisms, on votes where a moved one costs
// nearly what it can.
func argmaxTargets() []Target {
	gnmax := func(n int) (voting, error) {
		return votingOf(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: argmaxNoise, Queries: n}))
	}
	confident := func(n int) (voting, error) {
		return votingOf(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
			Threshold: 8, Sigma1: 3, Sigma2: argmaxNoise, Queries: n, Answers: n}))
	}
	lnmax := func(n int) (voting, error) {
		return votingOf(aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: argmaxNoise, Queries: n}))
	}
	exponential := func(n int) (voting, error) {
		return votingOf(aggregate.NewExponential(aggregate.ExponentialConfig{Scale: argmaxNoise, Queries: n}))
	}
	flip := func(n int) (voting, error) {
		return votingOf(aggregate.NewPermuteAndFlip(aggregate.PermuteAndFlipConfig{Scale: argmaxNoise, Queries: n}))
	}
	var all []Target
	for _, m := range []struct {
		name     string
		make     func(n int) (voting, error)
		pure     bool
		one, two []int
	}{
		{"gnmax", gnmax, false, []int{4, 6, 0}, []int{5, 5, 0}},
		{"confident-gnmax", confident, false, []int{10, 0, 0}, []int{9, 1, 0}},
		{"interactive-gnmax", interactive, false, []int{8, 2, 0}, []int{9, 1, 0}},
		{"lnmax", lnmax, true, []int{9, 1, 0}, []int{8, 2, 0}},
		{"exponential", exponential, true, []int{8, 2, 0}, []int{7, 3, 0}},
		{"permute-and-flip", flip, true, []int{8, 2, 0}, []int{7, 3, 0}},
	} {
		claim := func(delta float64) (audit.Claim, error) {
			v, err := m.make(1)
			if err != nil {
				return audit.Claim{}, err
			}
			return eventClaim(v.event, m.pure, delta)
		}
		all = append(all,
			votesByLaw(m.name, m.make, claim),
			votesByRuns(m.name, m.make, claim, m.one, m.two))
	}
	return all
}

// eventClaim is the claim of one query, for Gaussian noise at delta.
func eventClaim(event accountant.Event, pure bool, delta float64) (audit.Claim, error) {
	if pure {
		return pureClaim(event, accountant.ReplaceOne)
	}
	return claimAt(event, accountant.ReplaceOne, delta)
}

func votesByLaw(name string, mechanism func(n int) (voting, error), claim claimer) Target {
	const teachers, classes = 10, 3
	return Target{Name: name, Method: ByLaw, On: fmt.Sprintf("all votes of %d teachers, %d classes", teachers, classes),
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			v, err := mechanism(1)
			if err != nil {
				return audit.Finding{}, err
			}
			c, err := claim(e.delta)
			if err != nil {
				return audit.Finding{}, err
			}
			return overVotes(ctx, c, teachers, classes, func(counts []int) ([]float64, error) {
				h, err := aggregate.NewHistogram(counts)
				if err != nil {
					return nil, err
				}
				law, err := v.law(h)
				return append(law.LogLabels, law.LogDeclined), err
			})
		}}
}

func votesByRuns(name string, mechanism func(n int) (voting, error), claim claimer, one, two []int) Target {
	return runs(name, fmt.Sprintf("%v and %v", one, two), 100_000, claim, asked(mechanism, one), asked(mechanism, two))
}

// asked is a mechanism that is asked about the same votes again and again.
func asked(mechanism func(n int) (voting, error), counts []int) side[aggregate.Answer] {
	return func(key rng.Key, n int) (audit.Run[aggregate.Answer], error) {
		v, err := mechanism(n)
		if err != nil {
			return nil, err
		}
		h, err := aggregate.NewHistogram(counts)
		if err != nil {
			return nil, err
		}
		r, err := (&purse{event: v.event, size: 1}).take()
		if err != nil {
			return nil, err
		}
		ask, err := v.start(r, key)
		if err != nil {
			return nil, err
		}
		return func(i uint64) (aggregate.Answer, error) { return ask(i, h) }, nil
	}
}
