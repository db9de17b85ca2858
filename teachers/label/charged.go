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

// Stage returns the labels of c as a stage of a run that is charged for more than them, on a ledger
// made for this run alone, and what gives their result when it is done. Setting needs all its noise;
// c.Votes may be set until the stage is carried out. Ledger and Expect are not taken.
func Stage(ctx context.Context, c *Config) (run.Stage, func(*run.Session, run.Done) (Result, error)) {
	var s setting
	var count counts
	j := func() job { return job{Config: *c, account: c.Account, id: identity{Seeded: c.Seed != nil}} }
	ready := func() (err error) {
		if err = c.check(); err == nil {
			s, err = c.setting()
		}
		return err
	}
	stage := run.Stage{
		Name: "labels", Out: c.Out,
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			if err := ready(); err != nil {
				return err
			}
			draw, _ := j().drawing(ctx, s, &count)
			return draw(r, key, out)
		},
		Read: func(file io.Reader) error {
			if err := ready(); err != nil {
				return err
			}
			_, read := j().drawing(ctx, s, &count)
			return read(file)
		},
	}
	return stage, func(session *run.Session, done run.Done) (Result, error) {
		j := j()
		j.account, j.book = session.Account, session.Book
		result, err := j.result(ctx, s, count)
		result.Resumed, result.Complete, result.Entry, result.SHA256 = done.Recorded, done.Complete, done.Entry, done.SHA256
		return result, err
	}
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
