package label

import (
	"context"
	"fmt"
	"io"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Charged is what labels cost, reserved before there are votes, together with what the votes
// follow from: on a ledger made for this run alone, whose name covers the private rows and all
// that was chosen.
type Charged struct {
	Book        *run.Book
	Reservation *ledger.Reservation
	Key         rng.Key // of the run, for these labels alone; zero where it was destroyed
}

// RunCharged labels the votes as Run does, under a charge that was made before. Ledger is the
// path of its book; Account and Expect are not taken.
func RunCharged(ctx context.Context, c Config, charged Charged) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	j := job{Config: c, account: charged.Book.Ledger.Config(), book: charged.Book, id: identity{Seeded: c.Seed != nil}}
	s, err := c.setting()
	if err != nil {
		return Result{}, err
	}
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	r := run.Release{Events: []accountant.Event{e}, Charged: []*ledger.Reservation{charged.Reservation}, Key: run.Key{Given: charged.Key}, Out: run.Out{Path: c.Out, Mode: 0o644}}
	if j.withheld() {
		r.Out.Mode = 0o600
	}
	var count counts
	r.Draw, r.Read = j.drawing(ctx, s, &count)
	done, err := charged.Book.Release(ctx, r)
	if err != nil {
		return Result{}, err
	}
	result, err := j.result(ctx, s, count)
	result.Resumed, result.Complete, result.Entry, result.SHA256 = done.Recorded, done.Complete, done.Entry, done.SHA256
	return result, err
}

// Event returns what the labels of a setting with all its noise cost, whoever votes.
func Event(s aggregate.Setting) (accountant.Event, error) {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	return setting{d, d.Complete(s)}.event()
}

// drawing returns how labels are drawn and how their file is read, both of which count them.
func (j job) drawing(ctx context.Context, s setting, count *counts) (draw func([]*ledger.Reservation, rng.Key, io.Writer) error, read func(io.Reader) error) {
	draw = func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
		w := newLabelWriter(out, FormOf(j.Out), j.Votes.ClassNames(), j.withheld())
		err := j.draw(ctx, s, reservations[0], key, w)
		*count = w.counts
		return err
	}
	read = func(file io.Reader) (err error) {
		*count, err = countLabels(file)
		return err
	}
	return draw, read
}
