package aggregate

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

type session struct {
	rule    rule
	predict func(query uint64, h Histogram) (prediction, error) // nil: rule applies to all queries
	key     rng.Key
	queries int
	answers int

	mu           sync.Mutex
	classes      int // number of classes of all histograms; 0 before the first query
	answered     int
	answersGiven answerPages

	room sync.Pool // of *noises
}

func start(m interface{ Event() accountant.Event }, rule rule, r *ledger.Reservation, key rng.Key, queries, answers int) (*session, error) {
	if key.IsZero() {
		return nil, errors.New("aggregate: zero Key: make one with NewKey or SeedKey")
	}
	if err := r.Begin(m.Event(), ledger.Use{Secret: key.Releasable()}); err != nil {
		return nil, fmt.Errorf("aggregate: starting a session: %w", err)
	}
	// The noise of two sessions must be independent, so the key depends on the noise parameters and on the
	// ledger entry. The first entry adds nothing.
	name, params := rule.noise()
	key = key.Derive(name, params...)
	if n := r.Entry(); n > 1 {
		key = key.Derive("entry", uint64(n))
	}
	return &session{rule: rule, key: key, queries: queries, answers: answers}, nil
}

func (s *session) Releasable() bool { return s.key.Releasable() }

type question struct {
	rule   rule
	public []uint64
}

func (s *session) question(query uint64, h Histogram) (question, error) {
	if s.predict == nil {
		return question{rule: s.rule}, h.check()
	}
	p, err := s.predict(query, h)
	q := question{rule: p, public: make([]uint64, len(p.votes))}
	for j, v := range p.votes {
		q.public[j] = uint64(v)
	}
	return q, err
}

func (s *session) Ask(query uint64, h Histogram) (Answer, error) {
	q, err := s.question(query, h)
	if err != nil {
		return Answer{Label: NoLabel}, err
	}
	s.mu.Lock()
	a, done, err := s.admit(query, h.Classes())
	s.mu.Unlock()
	if done || err != nil {
		return a, err
	}
	// Draw the noise outside the lock, without reading the votes. Two goroutines with the same query draw the
	// same noise, and the first goroutine decides.
	n := s.spare()
	defer s.room.Put(n)
	n.draw(query, q, h.Classes())

	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(query, h, q, n.of(0))
}

// answer must be called with s.mu held.
func (s *session) answer(query uint64, h Histogram, q question, noise []int64) (Answer, error) {
	if a, done, err := s.admit(query, h.Classes()); done || err != nil {
		return a, err
	}
	a := q.rule.decide(h.counts(), noise)
	s.answersGiven.add(query, a)
	if a.Answered && !a.Reused {
		s.answered++
	}
	return a, nil
}

// admit must be called with s.mu held.
func (s *session) admit(query uint64, classes int) (a Answer, done bool, err error) {
	if a, done := s.answersGiven.answer(query); done {
		return a, true, nil
	}
	switch {
	case s.classes != 0 && classes != s.classes:
		err = fmt.Errorf("aggregate: query %d has %d classes, but the session has %d", query, classes, s.classes)
	case s.answersGiven.n == s.queries:
		err = fmt.Errorf("%w: all %d charged queries were asked", ErrExhausted, s.queries)
	case s.answered == s.answers:
		err = fmt.Errorf("%w: all %d charged answers were given", ErrExhausted, s.answers)
	}
	if err != nil {
		return Answer{Label: NoLabel}, false, err
	}
	s.classes = classes
	return Answer{}, false, nil
}

type answerPages struct {
	pages  map[uint64]*page
	number uint64 // index of the page used last
	last   *page
	n      int
}

type page [1 << pageBits]int32

const pageBits = 6

const codeReused = 1 << 30

func (g *answerPages) page(query uint64) *page {
	if number := query >> pageBits; number != g.number || g.last == nil {
		g.number, g.last = number, g.pages[number]
	}
	return g.last
}

func (g *answerPages) answer(query uint64) (Answer, bool) {
	p := g.page(query)
	if p == nil {
		return Answer{}, false
	}
	code := p[query%uint64(len(p))]
	a := Answer{Label: int(code&^codeReused) - 2, Reused: code&codeReused != 0}
	a.Answered = a.Label != NoLabel
	return a, code != 0
}

func (g *answerPages) add(query uint64, a Answer) {
	p := g.page(query)
	if p == nil {
		if g.pages == nil {
			g.pages = map[uint64]*page{}
		}
		p = new(page)
		g.pages[g.number], g.last = p, p
	}
	code := int32(a.Label + 2)
	if a.Reused {
		code |= codeReused
	}
	p[query%uint64(len(p))] = code
	g.n++
}

type noises struct {
	values  []int64
	ends    []int
	streams *rng.Streams
	ids     []uint64 // identifiers of the query drawn last
}

// spare returns empty noise buffers. The caller must put the buffers back into the pool s.room.
func (s *session) spare() *noises {
	n, _ := s.room.Get().(*noises)
	if n == nil {
		n = &noises{streams: s.key.Streams("query")}
	}
	n.values, n.ends = n.values[:0], n.ends[:0]
	return n
}

func (n *noises) draw(query uint64, q question, classes int) {
	n.ids = append(append(n.ids[:0], query), q.public...)
	n.values = q.rule.draw(n.values, n.streams.Of(n.ids...), classes)
	n.ends = append(n.ends, len(n.values))
}

func (n *noises) of(i int) []int64 {
	start := 0
	if i > 0 {
		start = n.ends[i-1]
	}
	return n.values[start:n.ends[i]]
}

const fewQueries = 64

func (s *session) AskBatch(first uint64, votes []Histogram) ([]Answer, error) {
	if len(votes) == 0 {
		return nil, nil
	}
	classes := votes[0].Classes()
	questions := []question{{rule: s.rule}} // one question for all queries, or one for each query
	for i, h := range votes {
		q, err := s.question(first+uint64(i), h)
		if err != nil {
			return nil, fmt.Errorf("%w (query %d)", err, first+uint64(i))
		}
		if h.Classes() != classes {
			return nil, fmt.Errorf("aggregate: query %d has %d classes, but the first of the batch has %d", first+uint64(i), h.Classes(), classes)
		}
		if s.predict != nil {
			questions = append(questions[:i], q)
		}
	}
	question := func(i int) question { return questions[min(i, len(questions)-1)] }
	if uint64(len(votes)) > math.MaxUint64-first {
		return nil, fmt.Errorf("aggregate: %d queries from %d exceed the largest query number", len(votes), first)
	}
	workers := max(1, min(runtime.GOMAXPROCS(0), len(votes)/fewQueries))
	drawn := make([]*noises, workers)
	var wg sync.WaitGroup
	for w := range drawn {
		n := s.spare()
		defer s.room.Put(n)
		drawn[w] = n
		wg.Go(func() {
			for i := len(votes) * w / workers; i < len(votes)*(w+1)/workers; i++ {
				n.draw(first+uint64(i), question(i), classes)
			}
		})
	}
	wg.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	answers := make([]Answer, 0, len(votes))
	for w, n := range drawn {
		start := len(votes) * w / workers
		for i := start; i < len(votes)*(w+1)/workers; i++ {
			a, err := s.answer(first+uint64(i), votes[i], question(i), n.of(i-start))
			if err != nil {
				return answers, err
			}
			answers = append(answers, a)
		}
	}
	return answers, nil
}
