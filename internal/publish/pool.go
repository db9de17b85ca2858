package publish

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/run"
)

// A drawn pool has at most mostDrawn rows. More rows slow a student and hardly improve it.
const (
	drawnForQuery = 4
	fewestDrawn   = 500
	mostDrawn     = 3000
	tableRows     = 10_000 // rows of the labelled table
)

func drawnFor(queries int) int { return max(fewestDrawn, min(drawnForQuery*queries, mostDrawn)) }

// drawn is a pool of rows that are drawn from declared ranges. It is nil if public rows are given.
type drawn struct {
	ranges *dataset.Ranges
	// plan, counts and session are set only if rows are drawn from noisy counts. In this case, the counts and
	// the labels are two stages of one run.
	plan    *marginals.Pool
	counts  *marginals.Counts
	session *run.Session
}

func (d *drawn) counted() bool { return d != nil && d.plan != nil }

func (d *drawn) event() accountant.Event {
	if !d.counted() {
		return nil
	}
	return d.plan.Event()
}

func (d *drawn) pairs() (names [][2]string) {
	if !d.counted() {
		return nil
	}
	for _, p := range d.counts.Pairs {
		a, _ := d.ranges.Describe(p.Columns[0])
		b, _ := d.ranges.Describe(p.Columns[1])
		names = append(names, [2]string{a, b})
	}
	return names
}

func (d *drawn) close() error {
	if d == nil || d.session == nil {
		return nil
	}
	return d.session.Close()
}

func (j *job) readRows(ctx context.Context) (err error) {
	if j.Pool == PoolRows {
		_, err = j.public()
	} else {
		j.read, j.drawn = &public{}, &drawn{}
		if j.drawn.ranges, err = dataset.ReadRanges(j.Ranges); err == nil {
			j.read.Schema, err = j.drawn.ranges.Schema(j.declaredReading())
		}
	}
	if err == nil {
		j.private, err = j.read.ReadPrivate(j.Private)
	}
	if err != nil {
		return err
	}
	j.hash = j.private.Hash()
	if j.Pool == PoolRows || j.Pool == PoolNone {
		return nil
	}
	d := j.drawn
	d.plan, err = marginals.ForPool(ctx, marginals.PoolConfig{Bins: d.ranges.Bins(), Ordered: d.ranges.Ordered(),
		Relation: accountant.AddRemove, Tree: j.Pool == PoolTree, Describe: d.ranges.Describe}, accountant.Target{Epsilon: j.Epsilon, Delta: j.Delta})
	return err
}

func (j *job) declaredReading() dataset.Reading {
	reading := j.Reading
	reading.Ranges = j.drawn.ranges
	return reading
}

func (j *job) try(labels accountant.Event) error {
	trial, err := ledger.New(j.ledger().New)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer trial.Close()
	events := []accountant.Event{labels}
	if e := j.drawn.event(); e != nil {
		events = append(events, e)
	}
	return trial.Try(events...)
}

// draw draws the rows of the pool and writes them as CSV. If they are drawn from noisy counts, draw first
// charges the counts and the labels together. Then it releases the counts. The ledger stays open for the
// stage `last`, which releases the labels. The ID of the run depends on `choices`.
func (j *job) draw(ctx context.Context, rows int, choices any, labels accountant.Event, last run.Stage) error {
	d := j.drawn
	if d.counted() {
		if err := j.releaseCounts(ctx, choices, labels, last); err != nil {
			return err
		}
		j.Say(fmt.Sprintf("pool: %d rows, drawn from the counts of %d columns, which take %.0f %% of the budget",
			rows, len(d.counts.Columns), 100*marginals.PoolShare))
		for _, p := range d.pairs() {
			j.Say(fmt.Sprintf("paired: %s and %s", p[0], p[1]))
		}
	}
	if err := j.writeDrawn(poolFile, rows, nil); err != nil {
		return err
	}
	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: j.made(poolFile)}, j.declaredReading())
	if err == nil {
		j.read = &public{Schema: schema, pool: pool}
	}
	return err
}

func (j *job) writeDrawn(name string, rows int, more func(*dataset.Table) (dataset.Column, error)) error {
	t, err := j.drawn.ranges.Draw(j.drawn.counts.Weights(), j.drawn.counts.Draw, rows)
	if err == nil && more != nil {
		var c dataset.Column
		c, err = more(t)
		t.Columns = append(t.Columns, c)
	}
	if err != nil {
		return err
	}
	lines := make([][]string, rows+1)
	for _, c := range t.Columns {
		lines[0] = append(lines[0], c.Name)
		for i, v := range c.Values {
			lines[i+1] = append(lines[i+1], v)
		}
	}
	return j.write(name, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(lines) })
}

func (j *job) releaseCounts(ctx context.Context, choices any, labels accountant.Event, last run.Stage) (err error) {
	d, file := j.drawn, j.ledger()
	events := append(d.plan.Events(), []accountant.Event{labels})
	if file.New.Run, err = run.ID(j.key, "publish", j.hash[:], fmt.Sprintf("%+v %v %+v", choices, d.plan, labels)); err != nil {
		return err
	}
	stages, counts := d.plan.Stages(func() [][]int { return d.ranges.Cells(j.private.OnePerUnit().X) })
	for i := range stages {
		stages[i].Out, stages[i].Mode = j.made(stages[i].Name+".csv"), 0o600
	}
	d.counts = counts
	d.session, err = run.Run{File: file, Units: j.Units(), Key: j.key, Stages: append(stages, last),
		Plan: func(context.Context, *run.Before) (run.Plan, error) { return run.Plan{Events: events}, nil }}.Open(ctx)
	for range stages {
		if err == nil {
			_, err = d.session.Next(ctx)
		}
	}
	return err
}

// poolFiles returns the names of all files that describe a drawn pool. Releasing the files in `paid` has a
// privacy cost.
func (j *job) poolFiles() (paid, all []string) {
	if j.drawn.counted() {
		paid = append(paid, marginalsFile)
	}
	if j.Pool == PoolTree {
		paid = append(paid, treeFile)
	}
	if j.drawn != nil {
		all = append(paid, poolFile)
	}
	return paid, all
}

func (j *job) table(ctx context.Context, m *published.Model, schema *dataset.Schema) error {
	return j.writeDrawn(tableFile, tableRows, func(t *dataset.Table) (labels dataset.Column, err error) {
		x, err := schema.Encoder.Encode(t)
		if err != nil {
			return labels, err
		}
		predicted, err := m.Predict(ctx, dataset.Pool{X: x})
		labels.Name = cmp.Or(j.Reading.CSV.Label, "label")
		for _, p := range predicted {
			labels.Values = append(labels.Values, m.Classes[p.Class])
		}
		return labels, err
	})
}
