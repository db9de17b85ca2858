package online

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

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

// fewQuestions is the least number of questions per goroutine, if Ask uses several goroutines.
const fewQuestions = 8

// Ask drops drawn answers beyond a cap. It draws the answers of a [tokens.Screen] in sequence, because each
// depends on earlier answers.
func (v *voting) Ask(_ context.Context, questions []*Question) ([]tokens.Answer, error) {
	answers, asked := make([]tokens.Answer, len(questions)), uint64(v.state.Voted+v.state.Public+v.state.Declined)
	draw := func(w, i int) (err error) {
		q := questions[i]
		q.In.Name = q.name()
		if answers[i], err = v.sessions[w].Answer(v.state, asked+uint64(i), q.In); err != nil {
			err = fmt.Errorf("online: %w", err)
		}
		return err
	}
	_, screened := v.m.(*tokens.Screen)
	if err := v.check(); err == nil && !screened {
		if err := v.parallel(len(questions), draw); err != nil {
			return nil, err
		}
	}
	for i := range answers {
		if err := v.check(); err != nil {
			return answers[:i], err
		}
		if screened {
			if err := draw(0, i); err != nil {
				return nil, err
			}
		}
		v.state.Count(answers[i])
	}
	return answers, nil
}

func (v *voting) parallel(n int, draw func(w, i int) error) error {
	workers := max(1, min(len(v.sessions), n/fewQuestions))
	failed := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		work := func() {
			for i := n * w / workers; i < n*(w+1)/workers && failed[w] == nil; i++ {
				failed[w] = draw(w, i)
			}
		}
		if w == workers-1 {
			work()
		} else {
			wg.Go(work)
		}
	}
	wg.Wait()
	return errors.Join(failed...)
}

func (v *voting) check() error {
	if left := v.Left(); left.Queries == 0 || left.Answers == 0 {
		return ErrExhausted
	}
	return nil
}
