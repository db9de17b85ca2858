package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/internal/durable"
	teaching "github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
)

// Files of a pool that was drawn: its rows, and the noisy counts that they are drawn from.
const (
	poolFile      = "pool.csv"
	marginalsFile = "marginals.csv"
)

// How many rows a pool has that is drawn: so many for each query that is planned, within
// bounds. More take a student longer and teach it little.
const (
	drawnForQuery = 4
	fewestDrawn   = 500
	mostDrawn     = 3000
)

// drawn is a pool that comes from what is declared of the columns.
type drawn struct {
	ranges *dataset.Ranges
	rows   int
	// Of marginals: what both they and the labels cost is reserved on one ledger.
	private   dataset.Set
	marginals *marginals.Marginals
	counts    [][]int64 // noisy
	setting   aggregate.Setting
	book      *run.Book
	labels    label.Charged
}

// counted says whether the pool comes from counts, which are charged with the labels.
func (d *drawn) counted() bool { return d != nil && d.marginals != nil }

// declared returns the pool of a job without public rows, which the job asks about, and how rows
// are read by it.
func (j *job) declared(t *teaching.Job) (d *drawn, schema *dataset.Schema, err error) {
	d = &drawn{rows: mostDrawn}
	if d.ranges, err = dataset.ReadRanges(j.flags.ranges); err != nil {
		return nil, nil, err
	}
	t.Reading.Ranges, t.Public.Path = d.ranges, j.made(poolFile)
	schema, err = d.ranges.Schema(t.Reading)
	return d, schema, err
}

// count lets the pool come from counts of private rows.
func (d *drawn) count(ctx context.Context, j *job, private dataset.Set) (err error) {
	d.private = private
	d.marginals, err = marginals.ForPool(ctx, marginals.Config{Bins: d.ranges.Bins(), Relation: accountant.AddRemove}, accountant.Target{Epsilon: j.flags.epsilon, Delta: j.g.Delta})
	return err
}

// drawPool writes the pool.
func (v *voting) drawPool(ctx context.Context) error {
	d := v.pool
	if d.counted() {
		if err := v.countColumns(ctx); err != nil {
			return err
		}
	}
	weights := marginals.Weights(d.counts)
	err := v.write(poolFile, func(w io.Writer) error { return d.ranges.Draw(w, weights, d.rows) })
	if err != nil && d.counted() {
		err = errors.Join(err, d.book.Close())
	}
	return err
}

// countColumns reserves what marginals and labels cost, in one batch, and releases the marginals.
func (v *voting) countColumns(ctx context.Context) (err error) {
	j, d := v.job, v.pool
	if d.setting, err = v.planDrawn(ctx); err != nil {
		return err
	}
	d.rows = max(fewestDrawn, min(drawnForQuery*d.setting.Queries, mostDrawn))
	labels, err := label.Event(d.setting)
	if err != nil {
		return err
	}
	events := []accountant.Event{d.marginals.Event(), labels}
	if d.book, err = v.openBook(ctx, fmt.Appendf(nil, "%s %+v %+v", j.flags.learner, d.ranges.Bins(), events)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.book.Close())
		}
	}()
	reserved, err := d.book.Ledger.ReserveBatch(events)
	if err != nil {
		return err
	}
	d.labels = label.Charged{Book: d.book, Reservation: reserved[1], Key: j.key.Derive("labels")}
	_, err = d.book.Release(ctx, run.Release{
		Events: events[:1], Charged: reserved[:1], Out: run.Out{Path: j.made(marginalsFile), Mode: 0o600}, Key: run.Key{Given: j.key.Derive("marginals")},
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) (err error) {
			if d.counts, err = d.marginals.Release(r[0], key, d.ranges.Cells(d.private.OnePerUnit().X)); err != nil {
				return err
			}
			return marginals.Write(out, d.counts, d.ranges.Describe)
		},
		Read: func(file io.Reader) (err error) {
			d.counts, err = marginals.Read(file, d.ranges.Bins())
			return err
		},
	})
	if err == nil {
		j.say(fmt.Sprintf("pool: %d rows, drawn from the counts of %d columns, which take %.0f %% of the budget", d.rows, len(d.counts), 100*marginals.PoolShare))
	}
	return err
}

// labelsAccount is the ledger of labels.
func (j *job) labelsAccount(unit string) ledger.Config {
	return ledger.Config{Unit: unit, Relation: accountant.AddRemove, Epsilon: j.flags.epsilon, Delta: j.g.Delta, Noise: j.g.Noise(), Accountant: accountant.ByTightest}
}

// expected is what a ledger that is already there must be.
func expected(account ledger.Config) run.Expect {
	return run.Expect{Relation: account.Relation, Unit: account.Unit, Epsilon: account.Epsilon, Delta: account.Delta}
}

// keptPlan is a plan on disk.
type keptPlan struct {
	Mechanism string             `json:"mechanism"`
	Values    map[string]float64 `json:"values"`
	Queries   int                `json:"queries"`
}

func (k keptPlan) setting() aggregate.Setting {
	return aggregate.Setting{Mechanism: k.Mechanism, Values: k.Values, Queries: k.Queries}
}

// planDrawn plans labels for what marginals leave of a budget. The plan is on disk before it is
// charged, since another version could plan otherwise.
func (v *voting) planDrawn(ctx context.Context) (s aggregate.Setting, err error) {
	path := v.Private("plan.json")
	text, err := os.ReadFile(path)
	if err == nil {
		var kept keptPlan
		err := json.Unmarshal(text, &kept)
		return kept.setting(), err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	a, err := v.planned(ctx)
	if err != nil {
		return s, err
	}
	if err := v.sayPlan(ctx, v.public, a, mostDrawn); err != nil {
		return s, err
	}
	kept := keptPlan{a.Setting.Mechanism, a.Setting.Values, a.Setting.Queries}
	if text, err = json.Marshal(kept); err != nil {
		return s, err
	}
	return kept.setting(), durable.WriteBytes(path, 0o600, text)
}

// openBook opens the ledger of a run that its key, its data and bound name.
func (v *voting) openBook(ctx context.Context, bound []byte) (*run.Book, error) {
	account := v.labelsAccount(v.t.Unit)
	file := run.File{Path: v.Private(ledgerFile), Warn: v.g.Warn, Expect: expected(account)}
	var err error
	if account.Run, err = experiments.RunID(v.key, v.pool.private.Hash(), bound); err != nil {
		return nil, err
	}
	file.New = account
	if _, _, err := file.Look(); err != nil {
		return nil, err
	}
	return file.Open(ctx, account)
}

// labelDrawn releases labels of rows of a drawn pool, which were charged with it.
func (j *job) labelDrawn(ctx context.Context, t *teaching.Result, d *drawn) (label.Result, []int, error) {
	rows, err := j.questions(ctx, t, d.setting.Queries)
	if err != nil {
		return label.Result{}, nil, err
	}
	c := label.Config{Ledger: j.Private(ledgerFile), Out: j.made(labelsFile), Pool: "pool", Warn: j.g.Warn, Setting: d.setting}
	if j.g.Seeded {
		c.Seed = &j.g.Seed
	}
	if c.Votes, err = j.asked(ctx, t, rows); err != nil {
		return label.Result{}, nil, err
	}
	j.bar.Update("labels", 0, 1)
	released, err := label.RunCharged(ctx, c, d.labels)
	j.bar.Update("labels", 1, 1)
	if err == nil {
		j.sayLabels(released)
	}
	return released, rows, err
}
