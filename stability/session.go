package stability

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// Answer is the released result of one query: a value or a refusal.
type Answer[T any] struct {
	Value    T
	Released bool // false: the answer was refused and Value is zero
}

// ErrExhausted matches the error of Session.Ask after all charged queries were asked.
var ErrExhausted = errors.New("stability: exhausted")

// begin starts the use of r and returns a key for r's ledger entry. Different entries have different keys, so
// different charges have different noise.
func begin(event accountant.Event, use ledger.Use, r *ledger.Reservation, key rng.Key) (rng.Key, error) {
	if key.IsZero() {
		return key, errors.New("stability: zero Key: make one with NewKey or SeedKey")
	}
	use.Secret = key.Releasable()
	if err := r.Begin(event, use); err != nil {
		return key, fmt.Errorf("stability: starting: %w", err)
	}
	if n := r.Entry(); n > 1 { // the first ledger entry uses the key itself
		key = key.Derive("entry", uint64(n))
	}
	return key, nil
}

// Session answers each query with a stable answer or a refusal, up to the charged number of queries.
// Concurrent use is safe. The answers do not depend on the order of the queries.
type Session[T any] struct {
	test     *MStab
	key      rng.Key
	relation accountant.Relation // relation of the ledger

	mu      sync.Mutex
	answers map[uint64]Answer[T]
}

// Start begins a session of m. It fails if r does not charge exactly m.Event(), or if r was used before.
func Start[T any](m *MStab, r *ledger.Reservation, key rng.Key) (*Session[T], error) {
	key, err := begin(m.Event(), ledger.Use{}, r, key)
	if err != nil {
		return nil, err
	}
	return &Session[T]{test: m, key: m.derive(key), relation: r.Relation(), answers: make(map[uint64]Answer[T])}, nil
}

// Releasable reports whether answers may be released: the noise key must be secret.
func (s *Session[T]) Releasable() bool { return s.key.Releasable() }

// Ask releases value if distance passes the noisy test. The distance must change by at most 1 between
// neighbours. If the values on two neighbours differ, both distances must be at most 0 (see [Plurality]).
// Each query must have its own public question number. Repeating a question returns the stored answer at no
// cost.
func (s *Session[T]) Ask(question uint64, value T, distance int64) (Answer[T], error) {
	passes := s.test.draw(s.key.Derive("question", question).Stream()) // drawn before the comparison

	s.mu.Lock()
	defer s.mu.Unlock()
	if a, done := s.answers[question]; done {
		return a, nil
	}
	if len(s.answers) == s.test.cfg.Questions {
		return Answer[T]{}, fmt.Errorf("%w: all %d questions charged for were asked", ErrExhausted, s.test.cfg.Questions)
	}
	var a Answer[T]
	if passes(distance) {
		a = Answer[T]{Value: value, Released: true}
	}
	s.answers[question] = a
	return a, nil
}
