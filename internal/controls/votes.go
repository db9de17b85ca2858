package controls

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/rng"
)

// mechanismTargets audits the mechanisms that have an example of two neighbours in their description, by
// law and by runs.
func mechanismTargets() []Target {
	var all []Target
	for _, d := range mechanisms.All() {
		if d.Neighbours[0] == nil {
			continue
		}
		claim := func(delta float64) (audit.Claim, error) {
			m, err := audited(d)(1)
			if err != nil {
				return audit.Claim{}, err
			}
			return eventClaim(m.Event(), d.Pure, delta)
		}
		all = append(all, votesByLaw(d, claim), votesByRuns(d, claim))
	}
	return all
}

// maker makes a mechanism for n queries.
type maker func(n int) (aggregate.Mechanism, error)

// audited makes the mechanism that is put to the test.
func audited(d aggregate.Description) maker {
	return func(n int) (aggregate.Mechanism, error) {
		s := d.Audit
		s.Queries = n
		return d.New(d.Complete(s))
	}
}

// eventClaim returns the claim of one query, for Gaussian noise at delta.
func eventClaim(event accountant.Event, pure bool, delta float64) (audit.Claim, error) {
	if pure {
		return pureClaim(event, accountant.ReplaceOne)
	}
	return claimAt(event, accountant.ReplaceOne, delta)
}

func votesByLaw(d aggregate.Description, claim claimer) Target {
	const teachers, classes = 10, 3
	return Target{Name: d.Name, Method: ByLaw, On: fmt.Sprintf("all votes of %d teachers, %d classes", teachers, classes),
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			m, err := audited(d)(1)
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
				law, err := m.Law(h)
				return append(law.LogLabels, law.LogDeclined), err
			})
		}}
}

func votesByRuns(d aggregate.Description, claim claimer) Target {
	one, two := d.Neighbours[0], d.Neighbours[1]
	return runs(d.Name, fmt.Sprintf("%v and %v", one, two), 100_000, claim, asked(audited(d), one), asked(audited(d), two))
}

// asked makes the runs of a mechanism that is asked about the same votes again and again.
func asked(mechanism maker, counts []int) side[aggregate.Answer] {
	return func(key rng.Key, n int) (audit.Run[aggregate.Answer], error) {
		m, err := mechanism(n)
		if err != nil {
			return nil, err
		}
		h, err := aggregate.NewHistogram(counts)
		if err != nil {
			return nil, err
		}
		r, err := (&reservations{event: m.Event(), size: 1}).take()
		if err != nil {
			return nil, err
		}
		session, err := m.Start(r, key)
		if err != nil {
			return nil, err
		}
		return func(i uint64) (aggregate.Answer, error) { return session.Ask(i, h) }, nil
	}
}
