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

// Stage returns the labels of c as a stage of a run that is charged for more than them, on a ledger made
// for this run alone, and what gives their result when it is done. Setting needs all its noise; c.Votes may
// be set until the stage is carried out. Ledger and Expect are not taken.
func Stage(ctx context.Context, c *Config) (run.Stage, func(*run.Session, run.Done) (Result, error)) {
	j := &job{}
	ready := func() (err error) {
		j.Config, j.account = *c, c.Account
		if err = j.check(); err == nil {
			j.s, err = c.setting()
		}
		return err
	}
	stage := run.Stage{
		Name: "labels", Out: c.Out,
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			if err := ready(); err != nil {
				return err
			}
			return j.draw(ctx, r[0], key, out)
		},
		Read: func(file io.Reader) error {
			if err := ready(); err != nil {
				return err
			}
			return j.read(file)
		},
	}
	return stage, func(s *run.Session, done run.Done) (Result, error) {
		j.account = s.Account
		return j.result(ctx, s.Ledger, done)
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
