package label

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

const batchQueries = 4096

type batch struct {
	first       uint64
	votes       []aggregate.Histogram
	predictions [][]float64 // for mechanisms that compare votes with predictions
}

func batches(ctx context.Context, votes iter.Seq2[votes.Ballot, error], predictions *predictionReader) iter.Seq2[batch, error] {
	return func(yield func(batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		ahead := make(chan batch, 2)
		var failed error // read after the channel is closed
		go func() {
			defer close(ahead)
			failed = readBatches(ctx, votes, predictions, ahead)
		}()
		defer func() {
			cancel()
			for range ahead { // wait for the end of the reader
			}
		}()
		for b := range ahead {
			if !yield(b, nil) {
				return
			}
		}
		if failed != nil {
			yield(batch{}, failed)
		}
	}
}

func readBatches(ctx context.Context, votes iter.Seq2[votes.Ballot, error], predictions *predictionReader, to chan<- batch) error {
	var b batch
	send := func() error {
		if len(b.votes) == 0 {
			return nil
		}
		select {
		case to <- b:
			b = batch{}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for ballot, err := range votes {
		if err != nil {
			return err
		}
		if len(b.votes) == 0 {
			b.first, b.votes = uint64(ballot.Query), make([]aggregate.Histogram, 0, batchQueries)
		}
		b.votes = append(b.votes, ballot.Histogram)
		if predictions != nil {
			p, err := predictions.predictionOf(ballot.Query)
			if err != nil {
				return err
			}
			b.predictions = append(b.predictions, p)
		}
		if len(b.votes) == batchQueries {
			if err := send(); err != nil {
				return err
			}
		}
	}
	return send()
}

// askAll reads all votes even after a cap is used up, because a changed file is detected only at the end.
func askAll(ctx context.Context, votes iter.Seq2[votes.Ballot, error], predictions *predictionReader,
	ask answerFunc, w *labelWriter, progress func(done int)) error {
	done, exhausted := 0, false
	for b, err := range batches(ctx, votes, predictions) {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("label: %w", err)
		}
		if !exhausted {
			answers, err := ask(b)
			if exhausted = errors.Is(err, aggregate.ErrExhausted); err != nil && !exhausted {
				return err
			}
			if err := w.write(b.first, answers); err != nil {
				return fmt.Errorf("label: writing labels: %w", err)
			}
		}
		done += len(b.votes)
		progress(done)
	}
	return w.end()
}

// Planning chooses mechanism, noise and queries of a new run, from public values. It maximises the expected
// number of correct labels within the remaining budget. If an earlier run on the ledger includes the first
// query of Config.Votes, [Run] repeats this run. If labels would be too inaccurate or too few, the error is a
// *[plan.NoPlanError]. For a new ledger, the error suggests a remedy.
type Planning struct {
	Public plan.Public // Queries is ignored
	Goal   plan.Goal   // Epsilon, Delta and Accountant are ignored
	// Accept, if not nil, receives the plan before any charge. An error refuses the plan.
	Accept func(context.Context, plan.Alternative) error
	// Pilot, if not nil, makes [Run] release an estimate of type [Pilot] before it plans. The ledger must
	// have mode Filter. Run calls the function before the pilot is charged, and again after the pilot is
	// released. An error stops the run.
	Pilot func(p Pilot, released bool) error
}

func (c Config) planned(ctx context.Context, before *run.Before, runs []recorded) (Config, error) {
	first, _ := c.Votes.Range()
	var s aggregate.Setting
	from, to := first, 0
	if r := at(runs, c.Pool, first); r != nil {
		s, from, to = r.id.setting().s, r.id.Queries[0], r.id.Queries[1]
	} else {
		a, err := c.Plan.On(ctx, before, c.Votes.Queries())
		if err == nil && c.Plan.Accept != nil {
			err = c.Plan.Accept(ctx, a)
		}
		if err != nil {
			return c, err
		}
		s, to = a.Setting, first+a.Setting.Queries
	}
	c.Setting = aggregate.Setting{Mechanism: s.Mechanism, Values: s.Values}
	var err error
	c.Votes, err = c.Votes.Part(from, to)
	return c, err
}

// On plans a new run of at most `queries` queries within the remaining budget of the ledger.
func (p Planning) On(ctx context.Context, before *run.Before, queries int) (plan.Alternative, error) {
	p.prepare(before, queries)
	a, err := plan.ForLabels(ctx, p.Public, p.Goal, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return before.LeastNoise(ctx, event)
	})
	var none *plan.NoPlanError
	if before.Fresh && errors.As(err, &none) {
		err = errors.Join(err, p.Public.Remedy(ctx, none))
	}
	return a, err
}

// possible estimates the expected number of correct labels after a charge of the given events.
func (p Planning) possible(ctx context.Context, before *run.Before, queries int, first ...accountant.Event) (float64, error) {
	p.prepare(before, queries)
	return p.Public.Possible(ctx, p.Goal, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return before.LeastNoise(ctx, func(noise float64) (accountant.Event, error) {
			e, err := event(noise)
			return accountant.Composed{Events: append(slices.Clone(first), e)}, err
		})
	})
}

func (p *Planning) prepare(before *run.Before, queries int) {
	account := before.Config()
	p.Public.Queries = queries
	p.Goal.Epsilon, p.Goal.Delta, p.Goal.Accountant = account.Epsilon, account.Delta, account.Method()
}
