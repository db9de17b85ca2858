package stable

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

// Session is a run of a mechanism. It is safe for concurrent use; of MSvec the answers
// depend on the order of the queries, of all on which of them come after the end.
type Session struct {
	test *stability.Session[int] // or
	svt  *svt.StableSession[int]
}

// Start begins a run. It fails unless r charges exactly m.Event() and was not used
// before. A key must not be used for two sets of votes: derive it from their hash.
func (m *Mechanism) Start(r *ledger.Reservation, key aggregate.Key) (*Session, error) {
	s, err := &Session{}, error(nil)
	if m.test != nil {
		s.test, err = stability.Start[int](m.test, r, key)
	} else {
		s.svt, err = svt.Start[int](m.svt, r, key)
	}
	if err != nil {
		return nil, fmt.Errorf("stable: %w", err)
	}
	return s, nil
}

// Ask releases the plurality of the votes, or refuses. Query numbers are public and
// unique in the run; one that was asked before gets the stored answer. When the run
// has ended the error is aggregate.ErrExhausted.
func (s *Session) Ask(query uint64, votes aggregate.Histogram) (aggregate.Answer, error) {
	winner, distance, err := stability.Plurality(votes.Reveal(), stability.VoteMoves, stability.LowestIndex)
	if err != nil {
		return aggregate.Answer{}, fmt.Errorf("stable: %w", err)
	}
	var released bool
	if s.test != nil {
		var a stability.Answer[int]
		a, err = s.test.Ask(query, winner, distance)
		winner, released = a.Value, a.Released
	} else {
		var a svt.Answer[int]
		a, err = s.svt.Ask(query, winner, distance)
		winner, released = a.Value, a.Released
	}
	switch {
	case errors.Is(err, stability.ErrExhausted) || errors.Is(err, svt.ErrExhausted):
		return aggregate.Answer{}, fmt.Errorf("%w: %w", aggregate.ErrExhausted, err)
	case err != nil:
		return aggregate.Answer{}, fmt.Errorf("stable: %w", err)
	case !released:
		return aggregate.Answer{Label: aggregate.NoLabel}, nil
	}
	return aggregate.Answer{Label: winner, Answered: true}, nil
}

// AskBatch asks consecutive queries in order. With an error come the answers before
// it.
func (s *Session) AskBatch(first uint64, votes []aggregate.Histogram) ([]aggregate.Answer, error) {
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
func (s *Session) Releasable() bool {
	if s.test != nil {
		return s.test.Releasable()
	}
	return s.svt.Releasable()
}
