package label

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/teachers/votes"
)

// batchQueries is how many queries are held in memory at a time, a few times.
const batchQueries = 4096

// batch is consecutive queries.
type batch struct {
	first       uint64
	votes       []aggregate.Histogram
	predictions [][]float64 // of mechanisms that compare with them
}

// batches reads votes, and predictions if there are any, ahead of their use. The error of reading comes
// last.
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
			for range ahead { // until the reader has ended
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
			p, err := predictions.of(ballot.Query)
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

// askAll asks all queries in order, until a cap is met, and writes the labels. It reads the votes to the
// end in any case: only then a file that changed meanwhile is noticed.
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
