package label

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// job is a run on an open ledger.
type job struct {
	Config
	account ledger.Config
	book    *run.Book
	id      identity
}

// release carries out a new run, goes on with a recorded one, or checks that it is
// complete: see [run.Book.Release].
func (j job) release(ctx context.Context, found *recordedRun) (Result, error) {
	r := run.Release{Out: run.Out{Path: j.Out, Mode: 0o644}}
	var s setting
	var err error
	if found != nil {
		s, j.id, r.Run, r.Key.Name = found.id.setting(), found.id, found.name, found.id.Key
	} else {
		if s, err = j.chooseNoise(ctx, j.book.Ledger); err != nil {
			return Result{}, sealed(err)
		}
		// Refused as a batch of queries, for which it says how many would fit.
		_, err := s.charge(ctx, j.book.Ledger, func(e accountant.Event) (*ledger.Reservation, error) { return nil, j.book.Ledger.Try(e) })
		if err != nil {
			return Result{}, sealed(err)
		}
		j.id.take(s)
		r.NameOf = func(key string) (string, error) {
			named := j.id
			named.Key = key
			return named.encode()
		}
	}
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	r.Events, r.Out.Tag = []accountant.Event{e}, j.id.tag()
	if j.withheld() {
		r.Out.Mode = 0o600
	}
	if j.Seed != nil {
		r.Key.Given = rng.SeedKey(*j.Seed)
	} else {
		r.Key.File = keyFile(j.Ledger, j.id)
	}
	var count counts
	r.Draw, r.Read = j.drawing(ctx, s, &count)
	done, err := j.book.Release(ctx, r)
	if err != nil {
		return Result{}, sealed(err)
	}
	result, err := j.result(ctx, s, count)
	result.Resumed, result.Complete = done.Recorded, done.Complete
	result.Entry, result.SHA256 = done.Entry, done.SHA256
	if err != nil || found != nil {
		return result, err
	}
	asked, err := j.setting()
	result.Calibrated = !asked.hasNoise()
	return result, err
}

// withheld reports whether the labels must not be released, of which their file has a mark.
func (j job) withheld() bool { return j.Seed != nil || j.account.Withheld() != "" }

// draw asks all queries and writes the labels.
func (j job) draw(ctx context.Context, s setting, reservation *ledger.Reservation, key rng.Key, w *labelWriter) error {
	hash := j.Votes.Hash()
	ask, err := s.start(reservation, key.DeriveBytes("votes", hash[:]))
	if err != nil {
		return err
	}
	var predictions *predictionReader
	if j.Predictions != "" {
		if predictions, err = openPredictions(j.Predictions, j.Votes.Classes()); err != nil {
			return err
		}
		defer predictions.close()
	}
	progress := func(int) {}
	if j.Progress != nil {
		progress = func(done int) { j.Progress(done, s.s.Queries) }
	}
	if err := askAll(ctx, j.Votes.Histograms(ctx), predictions, ask, w, progress); err != nil {
		return err
	}
	if predictions != nil {
		return predictions.unchanged(j.id.Predictions)
	}
	return nil
}

// result says what there is.
func (j job) result(ctx context.Context, s setting, count counts) (Result, error) {
	result := Result{
		Asked: count.asked, Answered: count.answered, Declined: count.asked - count.answered, NotAsked: s.s.Queries - count.asked,
		Setting: s.s, Delta: j.account.Delta, Account: j.account, Left: j.book.Ledger.Left(),
		Releasable: !j.withheld(),
	}
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	own, err := alone(ctx, e, j.account)
	if err != nil {
		return Result{}, err
	}
	result.Epsilon, result.Lack = own.Upper, own.Lack
	result.Claim, result.By = j.account.Epsilon, accountant.ByRDP
	if j.account.Mode == ledger.Reserved {
		claim, err := j.book.Ledger.Claim()
		if err != nil {
			return Result{}, fmt.Errorf("label: %w", err)
		}
		result.Claim, result.By = claim.Epsilon, claim.By
	}
	return result, nil
}

// alone returns the cost of one event by itself.
func alone(ctx context.Context, e accountant.Event, account ledger.Config) (accountant.Claim, error) {
	claim, err := accountant.Tightest(ctx, account.Method(), account.Relation, account.Delta, e)
	if err != nil {
		return claim, fmt.Errorf("label: %w", err)
	}
	return claim, nil
}
