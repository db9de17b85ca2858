package online

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// voting answers by a mechanism of package tokens.
type voting struct {
	m        tokens.Mechanism
	sessions []tokens.Session // one for each goroutine
	state    tokens.State
}

func newVoting(m tokens.Mechanism, key rng.Key) *voting {
	v := &voting{m: m}
	for range runtime.GOMAXPROCS(0) {
		v.sessions = append(v.sessions, m.Start(key))
	}
	return v
}

func (v *voting) Left() tokens.Left { return v.m.Left(v.state) }

func (v *voting) Resume(_ context.Context, a tokens.Answer, _ []byte) error {
	v.state.Count(a)
	return nil
}

// fewQuestions is the number of questions for which another goroutine is worth its start.
const fewQuestions = 8

// Ask draws answers on all cores. Of the state, an answer depends only on whether a cap is used up, which is
// found out in order. Answers drawn beyond a cap are dropped.
func (v *voting) Ask(_ context.Context, questions []*Question) ([]tokens.Answer, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	answers, asked := make([]tokens.Answer, len(questions)), uint64(v.state.Voted+v.state.Public+v.state.Declined)
	workers := max(1, min(len(v.sessions), len(questions)/fewQuestions))
	failed := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		work := func() {
			for i := len(questions) * w / workers; i < len(questions)*(w+1)/workers; i++ {
				q := questions[i]
				q.In.Name = q.name()
				a, err := v.sessions[w].Answer(v.state, asked+uint64(i), q.In)
				if err != nil {
					failed[w] = fmt.Errorf("online: %w", err)
					return
				}
				answers[i] = a
			}
		}
		if w == workers-1 {
			work()
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return nil, err
		}
	}
	for i, a := range answers {
		if err := v.check(); err != nil {
			return answers[:i], err
		}
		v.state.Count(a)
	}
	return answers, nil
}

// check returns an error once a cap is used up.
func (v *voting) check() error {
	if left := v.Left(); left.Queries == 0 || left.Answers == 0 {
		return ErrExhausted
	}
	return nil
}
