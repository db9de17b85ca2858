package aggregate

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// Session answers queries on budget that has been charged. It is safe for
// concurrent use. Which answers it gives does not depend on the order of the
// queries, except for which of them come after a cap.
type Session struct {
	rule    rule
	key     Key
	queries int
	answers int

	mu       sync.Mutex
	classes  int // of all histograms; 0 before the first
	answered int
	given    given

	room sync.Pool // of *noises
}

// start checks the charge before anything else.
func start(m interface{ Event() accountant.Event }, rule rule, r *ledger.Reservation, key Key, queries, answers int) (*Session, error) {
	if key.IsZero() {
		return nil, errors.New("aggregate: zero Key: make one with NewKey or SeedKey")
	}
	if err := r.Begin(m.Event(), ledger.Use{Secret: key.Releasable()}); err != nil {
		return nil, fmt.Errorf("aggregate: starting a session: %w", err)
	}
	// Noise of different parameters, and of different charges, must be independent
	// for answers of two sessions to compose: both are part of the key.
	// The first charge has the key itself: on a ledger of its own, nothing else to meet.
	name, params := rule.noise()
	key = key.Derive(name, params...)
	if n := r.Entry(); n > 1 {
		key = key.Derive("entry", uint64(n))
	}
	return &Session{
		rule: rule, key: key,
		queries: queries, answers: answers,
	}, nil
}

// Releasable reports whether the noise is secret, so that answers may leave.
func (s *Session) Releasable() bool { return s.key.Releasable() }

// Ask answers the query with the given number, public and unique in the run, on
// the votes h. A number asked before gets the stored answer, whatever h is, and
// uses up nothing. Beyond a cap the error is [ErrExhausted]. All histograms of a
// session have the same number of classes.
func (s *Session) Ask(query uint64, h Histogram) (Answer, error) {
	return s.ask(query, h, question{rule: s.rule})
}

// AskBatch is Ask for the queries first, first+1, ... one after the other, on all
// cores. It returns the answers to those before the first that fails, with its
// error; none if the votes themselves are wrong.
func (s *Session) AskBatch(first uint64, votes []Histogram) ([]Answer, error) {
	return s.askBatch(first, votes, func(int) question { return question{rule: s.rule} })
}

// question is how a query is treated. The rule may depend on what else is public
// about the query, as the noise then does.
type question struct {
	rule   rule
	public []uint64
}

func (s *Session) draw(noise []int64, query uint64, q question, classes int) []int64 {
	return q.rule.draw(noise, s.key.Derive("query", append([]uint64{query}, q.public...)...).Stream(), classes)
}

func (s *Session) ask(query uint64, h Histogram, q question) (Answer, error) {
	if err := h.check(); err != nil {
		return Answer{Label: NoLabel}, err
	}
	s.mu.Lock()
	a, done, err := s.admit(query, h.Classes())
	s.mu.Unlock()
	if done || err != nil {
		return a, err
	}
	// Noise first, outside the lock and without the votes. If another goroutine
	// asks the same number, both draw the same noise and the first one decides.
	noise := s.draw(nil, query, q, h.Classes())

	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(query, h, q, noise)
}

// answer decides on a query that may be asked. The lock is held.
func (s *Session) answer(query uint64, h Histogram, q question, noise []int64) (Answer, error) {
	if a, done, err := s.admit(query, h.Classes()); done || err != nil {
		return a, err
	}
	a := q.rule.decide(h.counts(), noise)
	s.given.add(query, a)
	if a.Answered && !a.Reused {
		s.answered++
	}
	return a, nil
}

// admit finds a stored answer (done), or says whether the query may be asked. The
// lock is held.
func (s *Session) admit(query uint64, classes int) (a Answer, done bool, err error) {
	if a, done := s.given.answer(query); done {
		return a, true, nil
	}
	switch {
	case s.classes != 0 && classes != s.classes:
		err = fmt.Errorf("aggregate: query %d has %d classes, the session has %d", query, classes, s.classes)
	case s.given.n == s.queries:
		err = fmt.Errorf("%w: all %d questions charged for were asked", ErrExhausted, s.queries)
	case s.answered == s.answers:
		err = fmt.Errorf("%w: all %d answers charged for were given", ErrExhausted, s.answers)
	}
	if err != nil {
		return Answer{Label: NoLabel}, false, err
	}
	s.classes = classes
	return Answer{}, false, nil
}
