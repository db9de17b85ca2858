package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/student"
)

type near struct {
	*job
	*public
	plan nearby.Plan // plan of a new run
}

func (n *near) look(ctx context.Context) (data [32]byte, err error) {
	if err := n.readRows(ctx); err != nil {
		return data, err
	}
	n.public = n.read
	n.Say(fmt.Sprintf("units: %d, as declared", n.Size))
	if !n.begun {
		if n.plan, err = n.planned(ctx); err != nil {
			return data, err
		}
	}
	return n.hash, nil
}

func (n *near) planned(ctx context.Context) (nearby.Plan, error) {
	plan := nearby.Nearest
	if n.Method == Sample {
		plan = nearby.Sampled
	}
	askable := mostDrawn
	if n.drawn == nil {
		askable = min(n.pool.Len(), student.MaxSpread)
	}
	p, err := plan(ctx, nearby.Task{Units: n.Size, Classes: len(n.Classes), Askable: askable, Before: n.drawn.event(), Drawn: n.drawn != nil,
		Images: n.Image.Rows > 0, Target: accountant.Target{Epsilon: n.Epsilon, Delta: n.Delta}})
	if err != nil {
		return p, err
	}
	if p.Futile() {
		return p, &fault.Error{What: fmt.Sprintf("%d units are too few for labels of %d classes at this budget", n.Size, len(n.Classes)),
			Why: fmt.Sprintf("noise would hide the votes, or votes would come from afar (%s, noise %.3g); nothing was charged", p.Note(), p.Sigma),
			Fix: n.otherwise()}
	}
	event, err := p.Event()
	if err != nil {
		return p, err
	}
	return p, n.try(event)
}

func (n *near) otherwise() string {
	if n.drawn != nil {
		return "raise --epsilon"
	}
	return "raise --epsilon, or choose --method dpsgd"
}

func (n *near) release(ctx context.Context) (r *Report, err error) {
	plan, err := kept(n.dir.Private("plan.json"), func() (nearby.Plan, error) {
		if n.plan.Questions > 0 {
			return n.plan, nil
		}
		return n.planned(ctx)
	})
	if err != nil {
		return nil, err
	}
	n.Say(fmt.Sprintf("plan: %d questions, %s, noise %.3g on every count of votes", plan.Questions, plan.Note(), plan.Sigma))
	event, err := plan.Event()
	if err != nil {
		return nil, err
	}
	var rows []int
	stage := n.labels(ctx, plan, &rows)
	if n.drawn != nil {
		defer func() { err = errors.Join(err, n.drawn.close()) }()
		if err := n.draw(ctx, drawnFor(plan.Questions), plan, event, stage); err != nil {
			return nil, err
		}
		n.public = n.read
		n.private.X = n.drawn.ranges.Rescale(n.Encoder, n.private.X) // to the scales of the drawn columns
	}
	if rows, err = n.questionsOf(ctx, n.public, plan.Questions); err != nil {
		return nil, err
	}
	if err := n.label(ctx, plan, rows, event, stage); err != nil {
		return nil, err
	}
	r = &Report{Schema: schemaPublish, Method: n.Method, Public: n.pool.Len(), Units: n.Size, Classes: n.Classes, Unit: n.Unit,
		Asked: len(rows), Mechanism: plan.Note(), Releasable: n.releasable()}
	if n.Method == Nearest {
		n.Say(labelsFile + " is " + nearby.ForTraining)
	}
	return r, n.results(ctx, n.public, rows, r)
}

// labels returns the stage that releases labels. Before the stage draws noise, the caller must set *rows
// to the indices of the queries in the pool.
func (n *near) labels(ctx context.Context, plan nearby.Plan, rows *[]int) run.Stage {
	return run.Stage{
		Name: "labels", Out: n.made(labelsFile), Mode: 0o600, Key: func(key rng.Key) rng.Key { return key.Derive("near") },
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			private, asked, err := published.Voters(ctx, n.Schema, n.pool, n.private, *rows)
			if err != nil {
				return err
			}
			released, err := plan.Release(ctx, r[0], key, private, asked)
			if err != nil {
				return err
			}
			return n.labelsTable(released).Write(out, table.CSV)
		},
	}
}

// label charges `event` and releases the labels. For a pool drawn from noisy counts, the method draw has
// already charged event.
func (n *near) label(ctx context.Context, plan nearby.Plan, rows []int, event accountant.Event, stage run.Stage) (err error) {
	n.Progress("labels", 0, 1)
	defer n.Progress("labels", 1, 1)
	if n.drawn.counted() {
		_, err := n.drawn.session.Next(ctx)
		return err
	}
	file, pool := n.ledger(), n.pool.Hash()
	if file.New.Run, err = run.ID(n.key, "publish", n.hash[:], fmt.Sprintf("%+v, rows %v of %x", plan, rows, pool)); err != nil {
		return err
	}
	return run.Run{File: file, Units: n.Units(), Key: n.key, Stages: []run.Stage{stage},
		Plan: func(context.Context, *run.Before) (run.Plan, error) {
			return run.Plan{Events: [][]accountant.Event{{event}}}, nil
		}}.Do(ctx, nil)
}

func (n *near) labelsTable(released nearby.Labels) table.Table {
	name := "label"
	if !n.releasable() {
		name = published.WithheldLabel
	}
	return released.Table(name, dataset.Numbers(len(released.Of)), strconv.Itoa, n.Classes)
}
