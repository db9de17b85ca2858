package online

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"sync"
	"sync/atomic"

	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// Answerer draws answers to questions that are not in the journal. Only one goroutine may use an Answerer.
type Answerer interface {
	// Ask answers questions in order. Once a cap is used up, Ask returns the answers of the first questions
	// and an error that matches [ErrExhausted]. After another error, the caller must not use the Answerer.
	Ask(ctx context.Context, questions []*Question) ([]tokens.Answer, error)
	// Resume counts an answer from the journal, with the data `more` from Question.More.
	Resume(ctx context.Context, a tokens.Answer, more []byte) error
	// Left returns the remaining numbers of questions and answers by vote.
	Left() tokens.Left
}

var (
	// ErrExhausted matches the error of a question after a cap is used up.
	ErrExhausted = errors.New("all charged questions or answers are used up")
	// ErrConflict matches the error of a query that was asked before with other inputs.
	ErrConflict = errors.New("the query was answered before, with other inputs")
	// ErrBusy matches the error of questions for which the queue has no room.
	ErrBusy = errors.New("too many questions wait; ask again later")
	// ErrFailed matches the error of all questions after something failed, usually the disk.
	ErrFailed = errors.New("the labeller failed; ask again after its restart")
	// ErrStopped matches the error of questions after a stop.
	ErrStopped = errors.New("the labeller stops; ask again after its restart")
)

// Reply is the answer to a question, or an error.
type Reply struct {
	tokens.Answer
	Err  error
	Left tokens.Left
}

// Engine draws one answer per question. A repeated question gets the same answer. Concurrent use is safe.
type Engine struct {
	journal *journal
	draws   Answerer
	hashes  sync.Pool // of hash.Hash, of inputs under a secret
	failed  error     // why nothing more is answered; only work uses it

	waiting atomic.Int64 // questions in the queue
	now     atomic.Pointer[Counts]

	mu      sync.RWMutex // against a send on the closed queue
	stopped bool
	queue   chan *job
	done    chan struct{}
}

// Counts has the numbers of answers and the remaining caps of a run. All these numbers may be published.
type Counts struct {
	Answers  tokens.State // answers since the run began
	Repeated int64        // answers that were given again since the start of the engine
	Left     tokens.Left  // queries and answers that the caps still allow
}

type job struct {
	questions []*Question
	replies   []Reply
	done      chan struct{}
}

const (
	mostWaiting = 1 << 14 // questions in the queue
	mostAtOnce  = 1 << 10 // questions from which a batch takes no further request
)

// Open opens the journal at path and passes its answers to draws.Resume. The function warn may be nil.
func Open(ctx context.Context, path string, key rng.Key, draws Answerer, warn func(string)) (*Engine, error) {
	secret, err := key.Derive("inputs").MarshalText()
	if err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	e := &Engine{draws: draws, queue: make(chan *job, mostWaiting), done: make(chan struct{})}
	var count Counts
	e.hashes.New = func() any { return hmac.New(sha256.New, secret) }
	if e.journal, err = openJournal(path, key, func(r record) error {
		count.Answers.Count(r.answer)
		return draws.Resume(ctx, r.answer, r.more)
	}); err != nil {
		return nil, err
	}
	if err := e.journal.guard(key, warn); err != nil {
		return nil, errors.Join(err, e.journal.close())
	}
	count.Left = draws.Left()
	e.now.Store(&count)
	go e.work()
	return e, nil
}

// Counts returns the counts after the last batch of questions.
func (e *Engine) Counts() Counts { return *e.now.Load() }

// Ask answers questions, and returns when the answers are on disk. Ask returns an error if the queue is full,
// the engine has stopped, or ctx ends. After ctx ends, the engine may still write the answers. A later Ask of
// the same questions returns these answers.
func (e *Engine) Ask(ctx context.Context, questions []*Question) ([]Reply, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	if e.waiting.Add(int64(len(questions))) > mostWaiting {
		e.waiting.Add(-int64(len(questions)))
		return nil, ErrBusy
	}
	h := e.hashes.Get().(hash.Hash)
	for _, q := range questions {
		q.hash(h)
	}
	e.hashes.Put(h)
	j := &job{questions: questions, replies: make([]Reply, len(questions)), done: make(chan struct{})}
	e.mu.RLock()
	if e.stopped {
		e.mu.RUnlock()
		return nil, ErrStopped
	}
	e.queue <- j // has room, because each job has a question
	e.mu.RUnlock()
	select {
	case <-j.done:
		return j.replies, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Stop answers the questions that wait, and closes the journal. If the engine failed, Stop returns the error
// of the failure.
func (e *Engine) Stop() error {
	e.close()
	<-e.done
	return e.failed
}

func (e *Engine) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.stopped {
		e.stopped = true
		close(e.queue)
	}
}

// Done returns a channel that is closed when the engine has ended, after Stop or a failure.
func (e *Engine) Done() <-chan struct{} { return e.done }

func (e *Engine) work() {
	defer close(e.done)
	defer func() { _ = e.journal.close() }() // each frame was synced
	for first := range e.queue {
		batch, n := []*job{first}, len(first.questions)
		for n < mostAtOnce && len(e.queue) > 0 {
			next := <-e.queue
			batch, n = append(batch, next), n+len(next.questions)
		}
		e.waiting.Add(-int64(n))
		e.answer(batch)
		for _, j := range batch {
			close(j.done)
		}
		if e.failed != nil {
			e.close()
		}
	}
}

// answer writes all new answers of a batch to disk before it releases any new answer.
func (e *Engine) answer(batch []*job) {
	var fresh []*Question
	places := map[string]int{} // of fresh questions
	type asker struct {
		reply *Reply
		of    int // index of the fresh question
	}
	var wait []asker
	count := e.Counts()
	for _, j := range batch {
		for i, q := range j.questions {
			r := &j.replies[i]
			at, again := places[q.ID]
			found, old, err := e.journal.find(q.ID)
			if err != nil && e.failed == nil {
				e.failed = err
			}
			switch {
			case e.failed != nil:
				r.Err = ErrFailed
			case old && found.inputs != q.inputs() || again && fresh[at].sum != q.sum:
				r.Err = ErrConflict
			case old:
				r.Answer = found.answer
				count.Repeated++
			case again:
				wait = append(wait, asker{r, at})
				count.Repeated++
			default:
				places[q.ID] = len(fresh)
				wait, fresh = append(wait, asker{r, len(fresh)}), append(fresh, q)
			}
		}
	}
	answers, err := e.draw(fresh)
	for _, a := range answers {
		count.Answers.Count(a)
	}
	for _, w := range wait {
		if w.of < len(answers) {
			w.reply.Answer = answers[w.of]
		} else {
			w.reply.Err = err
		}
	}
	count.Left = e.draws.Left()
	e.now.Store(&count)
	for _, j := range batch {
		for i := range j.replies {
			j.replies[i].Left = count.Left
		}
	}
}

// draw returns fewer answers than questions only with an error.
func (e *Engine) draw(fresh []*Question) ([]tokens.Answer, error) {
	if e.failed != nil {
		return nil, ErrFailed
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	answers, err := e.draws.Ask(context.Background(), fresh)
	if err == nil || errors.Is(err, ErrExhausted) {
		records := make([]record, len(answers))
		for i, a := range answers {
			q := fresh[i]
			records[i] = record{query: []byte(q.ID), inputs: q.inputs(), answer: a, more: q.More}
		}
		e.failed = e.journal.append(records)
	} else {
		e.failed = err
	}
	if e.failed != nil {
		return nil, ErrFailed
	}
	return answers, err
}
