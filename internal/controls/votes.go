package controls

import (
	"fmt"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/rng"
)

// mechanismTargets audits the mechanisms that have an example of two neighbours in their description, by
// law and by runs.
func mechanismTargets() []Target {
	const teachers, classes = 10, 3
	var all []Target
	for _, d := range mechanisms.All() {
		one, two := d.Neighbours[0], d.Neighbours[1]
		if one == nil {
			continue
		}
		mechanism := func(queries int) (aggregate.Mechanism, error) {
			s := d.Audit
			s.Queries = queries
			return d.New(d.Complete(s))
		}
		m := must(mechanism(1))
		claim := pureOrProfile(m.Event(), d.Pure)
		law := func(counts []int) []float64 {
			law := must(m.Law(must(aggregate.NewHistogram(counts))))
			return append(law.LogLabels, law.LogDeclined)
		}
		all = append(all,
			byLaw(d.Name, fmt.Sprintf("all votes of %d teachers, %d classes", teachers, classes), claim, overVotes(teachers, classes, law)),
			runs(d.Name, fmt.Sprintf("%v and %v", one, two), 100_000, claim, asked(mechanism, one), asked(mechanism, two)))
	}
	return all
}

// asked makes the runs of a mechanism for n queries that is asked about the same votes again and again.
func asked(mechanism func(n int) (aggregate.Mechanism, error), counts []int) side[aggregate.Answer] {
	return func(key rng.Key, n int) (audit.Run[aggregate.Answer], error) {
		m, err := mechanism(n)
		if err != nil {
			return nil, err
		}
		r, err := (&reservations{event: m.Event(), size: 1}).take()
		if err != nil {
			return nil, err
		}
		session, err := m.Start(r, key)
		h := must(aggregate.NewHistogram(counts))
		return func(i uint64) (aggregate.Answer, error) { return session.Ask(i, h) }, err
	}
}
