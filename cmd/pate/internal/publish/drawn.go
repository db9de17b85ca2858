package publish

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/marginals"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers/label"
	teaching "github.com/pate-go/pate/teachers/training"
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
	counts [][]int64 // noisy, nil where nothing was counted
	// Of marginals: what both they and the labels cost was reserved on one ledger.
	folder  experiments.Folder
	data    [32]byte // hash of the private rows
	setting aggregate.Setting
	book    *release.Book
	labels  label.Charged
}

// counted says whether the pool comes from counts, which were charged with the labels.
func (d *drawn) counted() bool { return d != nil && d.book != nil }

// close gives the folder and the ledger back.
func (d *drawn) close() error {
	if !d.counted() {
		return nil
	}
	d.folder.Close()
	return d.book.Close()
}

// drawPool writes the pool of a job without public rows, and returns the job that asks about it.
func (j *job) drawPool(ctx context.Context, t teaching.Job) (teaching.Job, *drawn, error) {
	d := &drawn{rows: mostDrawn}
	var err error
	if d.ranges, err = dataset.ReadRanges(j.flags.ranges); err != nil {
		return t, nil, err
	}
	t.Reading.Ranges, t.Public.Path = d.ranges, j.result(poolFile)
	if j.flags.pool == experiments.PoolMarginals {
		if err := j.countColumns(ctx, t, d); err != nil {
			return t, nil, errors.Join(err, d.close())
		}
	}
	weights := marginals.Weights(d.counts)
	err = j.Write(j.releasable(), poolFile, func(w io.Writer) error { return d.ranges.Draw(w, weights, d.rows) })
	if err != nil {
		return t, nil, errors.Join(err, d.close())
	}
	return t, d, nil
}

// countColumns reserves what marginals and labels cost, in one batch, and releases the marginals.
func (j *job) countColumns(ctx context.Context, t teaching.Job, d *drawn) error {
	schema, err := d.ranges.Schema(t.Reading)
	if err != nil {
		return err
	}
	private, err := schema.ReadPrivate(t.Private)
	if err != nil {
		return err
	}
	d.data = private.Hash()
	teachers := t.Count()
	if j.g.Delta >= 1/float64(teachers) {
		return shell.UsageError("privacy", fmt.Errorf("delta %g is not below 1/%d, one over the number of teachers", j.g.Delta, teachers))
	}
	m, err := marginals.OfShare(ctx, marginals.Config{Bins: d.ranges.Bins(), Relation: accountant.AddRemove}, accountant.Target{Epsilon: j.flags.epsilon, Delta: j.g.Delta}, experiments.MarginalsShare)
	if err != nil {
		return err
	}
	account := j.labelsAccount(t.Unit)
	public := plan.Public{Teachers: teachers, Classes: len(schema.Classes), Queries: mostDrawn}
	public.Accuracy = j.flags.accuracy
	if d.setting, err = j.planDrawn(ctx, account, m, public); err != nil {
		return err
	}
	d.rows = max(fewestDrawn, min(drawnForQuery*d.setting.Queries, mostDrawn))
	labels, err := label.Event(d.setting)
	if err != nil {
		return err
	}
	events := []accountant.Event{m.Event(), labels}
	if d.folder, err = j.openDrawn(ctx, t.Private.Path); err != nil {
		return err
	}
	if d.book, err = j.openBook(ctx, account, d, fmt.Appendf(nil, "%s %+v %+v", j.flags.learner, d.ranges.Bins(), events)); err != nil {
		d.folder.Close()
		return err
	}
	reserved, err := d.book.Ledger.ReserveBatch(events)
	if err != nil {
		return err
	}
	d.labels = label.Charged{Book: d.book, Reservation: reserved[1], Key: d.folder.Key}
	noise := d.folder.Key
	if !d.folder.Finished {
		d.labels.Key, noise = d.labels.Key.Derive("labels"), noise.Derive("marginals")
	}
	path, mode, err := j.Place(j.releasable(), marginalsFile)
	if err != nil {
		return err
	}
	_, err = d.book.Release(ctx, release.Release{
		Events: events[:1], Charged: reserved[:1], Out: release.Out{Path: path, Mode: mode}, Key: release.Key{Given: noise},
		Draw: func(r []*ledger.Reservation, key aggregate.Key, out io.Writer) (err error) {
			if d.counts, err = m.Release(r[0], key, d.ranges.Cells(private.OnePerUnit().X)); err != nil {
				return err
			}
			return experiments.WriteMarginals(out, d.ranges, d.counts)
		},
		Read: func(file io.Reader) (err error) {
			d.counts, err = readMarginals(file, d.ranges.Bins())
			return err
		},
	})
	if err == nil {
		j.say(fmt.Sprintf("pool: %d rows, drawn from the counts of %d columns, which take %.0f %% of the budget", d.rows, len(d.counts), 100*experiments.MarginalsShare))
	}
	return err
}

// labelsAccount is the ledger of labels.
func (j *job) labelsAccount(unit string) ledger.Config {
	return ledger.Config{Unit: unit, Relation: accountant.AddRemove, Epsilon: j.flags.epsilon, Delta: j.g.Delta, Noise: j.g.Noise(), Accountant: accountant.ByTightest}
}

// expected is what a ledger that is already there must be.
func expected(account ledger.Config) release.Expect {
	return release.Expect{Relation: account.Relation, Unit: account.Unit, Epsilon: account.Epsilon, Delta: account.Delta}
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
func (j *job) planDrawn(ctx context.Context, account ledger.Config, m *marginals.Marginals, public plan.Public) (s aggregate.Setting, err error) {
	path := j.Private("plan.json")
	text, err := os.ReadFile(path)
	if err == nil {
		var kept keptPlan
		err := json.Unmarshal(text, &kept)
		return kept.setting(), err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	trial, err := release.Trial(account)
	if err != nil {
		return s, err
	}
	if _, err := trial.Reserve(m.Event()); err != nil {
		return s, err
	}
	goal := j.goal(public)
	goal.Epsilon, goal.Delta, goal.Accountant = account.Epsilon, account.Delta, account.Method()
	a, err := plan.ForLabels(ctx, public, goal, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return trial.LeastNoise(ctx, event)
	})
	var none *plan.NoPlanError
	if errors.As(err, &none) {
		return s, errors.Join(err, public.Remedy(ctx, none))
	}
	if err != nil {
		return s, err
	}
	if err := j.sayPlan(ctx, public, a, mostDrawn); err != nil {
		return s, err
	}
	kept := keptPlan{a.Setting.Mechanism, a.Setting.Values, a.Setting.Queries}
	if text, err = json.Marshal(kept); err != nil {
		return s, err
	}
	return kept.setting(), durable.WriteBytes(path, 0o600, text)
}

// openDrawn opens the folder of the key.
func (j *job) openDrawn(ctx context.Context, private string) (experiments.Folder, error) {
	ranges, err := filepath.Abs(j.flags.ranges)
	if err != nil {
		return experiments.Folder{}, err
	}
	return j.openFolder(ctx, "drawn", private, fmt.Sprintf("--pool %s --ranges %s --teachers %d --size %d --learner %s", j.flags.pool, shell.ShellWord(ranges), j.flags.teachers, j.flags.size, j.flags.learner))
}

// openBook opens the ledger of a run that its key, its data and bound name. That of a run whose
// key was destroyed is complete, and is its own.
func (j *job) openBook(ctx context.Context, account ledger.Config, d *drawn, bound []byte) (*release.Book, error) {
	file := release.File{Path: j.Private(ledgerFile), New: account, Warn: j.g.Warn, Expect: expected(account)}
	if d.folder.Finished {
		if err := d.folder.CheckMadeOf(d.data, "what is in "+j.flags.out); err != nil {
			return nil, err
		}
		is, _, err := file.Look()
		if err != nil {
			return nil, err
		}
		return file.Open(ctx, is)
	}
	var err error
	if account.Run, err = experiments.RunID(d.folder.Key, d.data, bound); err != nil {
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
	c := label.Config{Ledger: j.Private(ledgerFile), Out: j.Private(labelsFile), Pool: "pool", Warn: j.g.Warn, Setting: d.setting}
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

// readMarginals reads the counts that experiments.WriteMarginals wrote.
func readMarginals(file io.Reader, bins []int) ([][]int64, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, err
	}
	counts, at := make([][]int64, len(bins)), 1
	for column, n := range bins {
		for range n {
			if at >= len(lines) || len(lines[at]) != 3 {
				return nil, errors.New(marginalsFile + " does not have the bins that are declared")
			}
			count, err := strconv.ParseInt(lines[at][2], 10, 64)
			if err != nil {
				return nil, err
			}
			counts[column] = append(counts[column], count)
			at++
		}
	}
	return counts, nil
}
