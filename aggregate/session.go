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
	given    map[uint64]Answer
}

// start checks the charge before anything else.
func start(m interface{ Event() accountant.Event }, rule rule, r *ledger.Reservation, key Key, queries, answers int) (*Session, error) {
	if key.IsZero() {
		return nil, errors.New("aggregate: zero Key: make one with NewKey or SeedKey")
	}
	if err := r.Begin(m.Event()); err != nil {
		return nil, fmt.Errorf("aggregate: starting a session: %w", err)
	}
	// Noise of different parameters must be independent, for answers of two
	// sessions to compose: the parameters are part of the key.
	name, params := rule.noise()
	return &Session{
		rule: rule, key: key.Derive(name, params...),
		queries: queries, answers: answers,
		given: make(map[uint64]Answer),
	}, nil
}

// Releasable reports whether the noise is secret, so that answers may leave.
func (s *Session) Releasable() bool { return s.key.Releasable() }

// Ask answers the query with the given number, public and unique in the run, on
// the votes h. A number asked before gets the stored answer, whatever h is, and
// uses up nothing. Beyond a cap the error is [ErrExhausted]. All histograms of a
// session have the same number of classes.
func (s *Session) Ask(query uint64, h Histogram) (Answer, error) {
	if err := h.check(); err != nil {
		return Answer{Label: NoLabel}, err
	}
	return s.ask(query, h, s.rule)
}

// ask answers a query by a rule that depends on what else is public about it, as
// the noise then does.
func (s *Session) ask(query uint64, h Histogram, rule rule, public ...uint64) (Answer, error) {
	if a, done, err := s.admit(query, h.Classes()); done || err != nil {
		return a, err
	}
	// Noise first, outside the lock and without the votes. If another goroutine
	// asks the same number, both draw the same noise and the first one decides.
	noise := rule.draw(s.key.Derive("query", append([]uint64{query}, public...)...).Stream(), h.Classes())

	s.mu.Lock()
	defer s.mu.Unlock()
	if a, done, err := s.admitLocked(query, h.Classes()); done || err != nil {
		return a, err
	}
	a := rule.decide(h.counts(), noise)
	s.given[query] = a
	if a.Answered && !a.Reused {
		s.answered++
	}
	return a, nil
}

func (s *Session) admit(query uint64, classes int) (Answer, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitLocked(query, classes)
}

// admitLocked finds a stored answer (done), or says whether the query may be
// asked.
func (s *Session) admitLocked(query uint64, classes int) (a Answer, done bool, err error) {
	if a, done := s.given[query]; done {
		return a, true, nil
	}
	switch {
	case s.classes != 0 && classes != s.classes:
		err = fmt.Errorf("aggregate: query %d has %d classes, the session has %d", query, classes, s.classes)
	case len(s.given) == s.queries:
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
