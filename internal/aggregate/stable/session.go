package stable

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

// Start begins a run. Of MSvec the answers depend on the order of the queries, of all
// mechanisms on which queries come after the end.
func (m *Mechanism) Start(r *ledger.Reservation, key rng.Key) (aggregate.Session, error) {
	if m.test != nil {
		s, err := stability.Start[int](m.test, r, key)
		if err != nil {
			return nil, fmt.Errorf("stable: %w", err)
		}
		return session{s.Releasable(), func(query uint64, winner int, distance int64) (int, bool, error) {
			a, err := s.Ask(query, winner, distance)
			return a.Value, a.Released, err
		}}, nil
	}
	s, err := svt.Start[int](m.svt, r, key)
	if err != nil {
		return nil, fmt.Errorf("stable: %w", err)
	}
	return session{s.Releasable(), func(query uint64, winner int, distance int64) (int, bool, error) {
		a, err := s.Ask(query, winner, distance)
		return a.Value, a.Released, err
	}}, nil
}

// session is a run of a mechanism.
type session struct {
	releasable bool
	test       func(query uint64, winner int, distance int64) (value int, released bool, err error)
}

// Ask releases the plurality of the votes, or refuses.
func (s session) Ask(query uint64, votes aggregate.Histogram) (aggregate.Answer, error) {
	none := aggregate.Answer{Label: aggregate.NoLabel}
	winner, distance, err := plurality(votes)
	if err != nil {
		return none, err
	}
	winner, released, err := s.test(query, winner, distance)
	switch {
	case errors.Is(err, stability.ErrExhausted) || errors.Is(err, svt.ErrExhausted):
		return none, fmt.Errorf("%w: %w", aggregate.ErrExhausted, err)
	case err != nil:
		return none, fmt.Errorf("stable: %w", err)
	case !released:
		return none, nil
	}
	return aggregate.Answer{Label: winner, Answered: true}, nil
}

// AskBatch asks consecutive queries in order. With an error come the answers before it.
func (s session) AskBatch(first uint64, votes []aggregate.Histogram) ([]aggregate.Answer, error) {
	answers := make([]aggregate.Answer, 0, len(votes))
	for i, h := range votes {
		a, err := s.Ask(first+uint64(i), h)
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// Releasable reports whether the noise is secret, so that answers may leave.
func (s session) Releasable() bool { return s.releasable }
