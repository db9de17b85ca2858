package aggregate

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/pate-go/pate/rng"
)

// noises is the noise of consecutive queries, one after the other, and where one goroutine draws it from.
type noises struct {
	values  []int64
	ends    []int
	streams *rng.Streams
	ids     []uint64 // of the query drawn last
}

// spare returns noises with no values, to be given back to the session's room.
func (s *session) spare() *noises {
	n, _ := s.room.Get().(*noises)
	if n == nil {
		n = &noises{streams: s.key.Streams("query")}
	}
	n.values, n.ends = n.values[:0], n.ends[:0]
	return n
}

// draw appends the noise of a query.
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

// fewQueries is how many queries are worth a goroutine.
const fewQueries = 64

// AskBatch implements [Session]. It draws on all cores, which is nearly all of the work, and decides in
// order, so that which queries come before a cap is deterministic.
func (s *session) AskBatch(first uint64, votes []Histogram) ([]Answer, error) {
	if len(votes) == 0 {
		return nil, nil
	}
	classes := votes[0].Classes()
	questions := []question{{rule: s.rule}} // one for all, or one for each query
	for i, h := range votes {
		q, err := s.question(first+uint64(i), h)
		if err != nil {
			return nil, fmt.Errorf("%w (query %d)", err, first+uint64(i))
		}
		if h.Classes() != classes {
			return nil, fmt.Errorf("aggregate: query %d has %d classes, the first of the batch has %d", first+uint64(i), h.Classes(), classes)
		}
		if s.predict != nil {
			questions = append(questions[:i], q)
		}
	}
	question := func(i int) question { return questions[min(i, len(questions)-1)] }
	if uint64(len(votes)) > math.MaxUint64-first {
		return nil, fmt.Errorf("aggregate: %d queries from %d go beyond the last number", len(votes), first)
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
