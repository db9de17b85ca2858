package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
)

// voting releases labels by the votes of teachers, and then a student.
type voting struct {
	*job
	teachers training.Job
	public   plan.Public
	pool     *drawn // nil if public rows are given
}

func (v *voting) look(ctx context.Context) (data [32]byte, err error) {
	v.teachers = training.Job{Private: v.Private, Public: v.Public, Reading: v.Reading, Teachers: v.Teachers,
		Size: v.Size, Learner: v.Learner, Unit: v.Unit,
		Out: v.dir.Private("votes.npy"), Secrets: v.dir.Private("teachers"), Progress: v.Progress, Say: v.Say,
		Decided: func(r *training.Result) { v.Columns(r.Columns) }}
	v.public = plan.Public{Teachers: v.teachers.Count()}
	v.public.Accuracy = v.TeacherAccuracy
	var schema *dataset.Schema
	if v.Pool == PoolRows {
		var pool dataset.Pool
		schema, pool, err = dataset.ReadPublic(v.Public, v.Reading)
		v.public.Queries = pool.Len()
	} else {
		schema, err = v.declared()
	}
	if err != nil {
		return data, err
	}
	v.public.Classes = len(schema.Classes)
	private, err := schema.ReadPrivate(v.Private)
	if err != nil {
		return data, err
	}
	if v.Pool == PoolMarginals {
		if err := v.pool.count(ctx, v.job, private); err != nil {
			return data, err
		}
	}
	if !v.begun {
		if _, err := v.planned(ctx); err != nil {
			return data, err
		}
	}
	return private.Hash(), nil
}

// planned plans the labels on a trial ledger, after any charge for the counts of a drawn pool.
func (v *voting) planned(ctx context.Context) (a plan.Alternative, err error) {
	trial, err := ledger.New(v.ledger().New)
	if err != nil {
		return a, fmt.Errorf("run: %w", err)
	}
	defer trial.Close()
	if v.pool.counted() {
		if _, err := trial.Reserve(v.pool.marginals.Event()); err != nil {
			return a, err
		}
	}
	return label.Planning{Public: v.public, Goal: v.goal()}.On(ctx, &run.Before{Ledger: trial, Fresh: true}, v.public.Queries)
}

func (v *voting) goal() plan.Goal {
	return plan.Goal{MinAccuracy: v.MinAccuracy, Steady: v.public.Accuracy <= plan.UsualAccuracy,
		MinLabels: plan.LeastPerClass * float64(v.public.Classes)}
}

// lesserAccuracy is the second assumption about the teachers if no accuracy is declared.
const lesserAccuracy = 0.8

// sayPlan describes a plan, and the assumed accuracy if no accuracy is declared.
func (v *voting) sayPlan(ctx context.Context, a plan.Alternative, queries int) error {
	labels := strconv.FormatFloat(a.ExpectedAnswers, 'f', 1, 64)
	if a.ExpectedAnswers >= 999.95 {
		labels = strconv.FormatFloat(a.ExpectedAnswers, 'f', 0, 64)
	}
	told := fmt.Sprintf("plan: %d of %d queries, about %s labels, of teachers that are right", a.Setting.Queries, queries, labels)
	public := v.public
	if public.Accuracy > 0 {
		v.Say(fmt.Sprintf("%s %.3g %% of the time, as declared", told, 100*public.Accuracy))
		return nil
	}
	public.Queries, public.Accuracy = queries, lesserAccuracy
	lesser, err := public.Expect(ctx, a.Setting)
	if err != nil {
		return err
	}
	v.Say(fmt.Sprintf("%s %.0f %% of the time, which nobody said; of teachers right %.0f %%, "+
		"%.0f %% of these labels would be what the plurality says",
		told, 100*plan.UsualAccuracy, 100*lesserAccuracy, 100*lesser.Accuracy()))
	v.Say("if you know from public data that one teacher is right more often, say so: --teacher-accuracy 0.95 asks more queries")
	return nil
}

func (v *voting) release(ctx context.Context) (r *Report, err error) {
	if v.Seed != nil {
		v.teachers.Key = rng.SeedKey(*v.Seed)
	}
	paid, files := []string{labelsFile}, []string{labelsFile, queriesFile, labelledFile, studentFile, statementFile, ledgerFile}
	if v.pool != nil {
		if err := v.drawPool(ctx); err != nil {
			return nil, err
		}
		files = append(files, poolFile)
	}
	if v.pool.counted() {
		defer func() { err = errors.Join(err, v.pool.session.Close()) }()
		paid, files = append(paid, marginalsFile), append(files, marginalsFile)
	}
	trained, err := training.Run(ctx, v.teachers)
	if err != nil {
		return nil, err
	}
	released, rows, err := v.label(ctx, trained)
	if err != nil {
		return nil, err
	}
	r = &Report{Schema: schemaPublish, Method: PATE, Public: trained.Queries, Teachers: trained.Teachers,
		Reason: trained.Reason, Learner: trained.Learner,
		Classes: trained.Classes, Unit: trained.Unit, Asked: released.Asked, Released: released.Answered, Mechanism: released.Setting.Mechanism,
		Epsilon: released.Claim, Delta: released.Delta, Releasable: released.Releasable}
	if v.pool != nil {
		r.Pool = v.Pool
	}
	if _, err := v.student(ctx, &public{trained.Public, trained.Pool}, rows, r); err != nil {
		return nil, err
	}
	if err := v.statement(paid...); err != nil {
		return nil, err
	}
	return r, v.report(r, files...)
}

// The size of a drawn pool is a number of rows for each planned query, within bounds. More rows make a
// student slower and hardly better.
const (
	drawnForQuery = 4
	fewestDrawn   = 500
	mostDrawn     = 3000
)

// drawn is a pool that is drawn from declared columns.
type drawn struct {
	ranges *dataset.Ranges
	rows   int
	// These fields are for marginals, whose release and the labels are two stages of one run.
	private   dataset.Set
	marginals *marginals.Marginals
	counts    [][]int64    // noisy counts
	labels    label.Config // without votes until the second stage
	session   *run.Session
	result    func(*run.Session, run.Done) (label.Result, error)
}

// counted reports whether the pool is drawn from noisy counts, which are charged together with the labels.
func (d *drawn) counted() bool { return d != nil && d.marginals != nil }

// declared makes the pool of a run without public rows, and returns the schema of the rows.
func (v *voting) declared() (*dataset.Schema, error) {
	ranges, err := dataset.ReadRanges(v.Ranges)
	if err != nil {
		return nil, err
	}
	v.pool, v.public.Queries = &drawn{ranges: ranges, rows: mostDrawn}, mostDrawn
	v.teachers.Reading.Ranges, v.teachers.Public.Path = ranges, v.made(poolFile)
	return ranges.Schema(v.teachers.Reading)
}

func (d *drawn) count(ctx context.Context, j *job, private dataset.Set) (err error) {
	d.private = private
	d.marginals, err = marginals.ForPool(ctx,
		marginals.Config{Bins: d.ranges.Bins(), Relation: accountant.AddRemove},
		accountant.Target{Epsilon: j.Epsilon, Delta: j.Delta})
	return err
}

// drawPool writes the pool. If the pool is drawn from counts, the ledger stays open for the labels.
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
		err = errors.Join(err, d.session.Close())
	}
	return err
}

// countColumns charges marginals and labels in one batch and releases the marginals. The key, the private
// rows and all choices identify the run.
func (v *voting) countColumns(ctx context.Context) (err error) {
	d, file := v.pool, v.ledger()
	d.labels = label.Config{Ledger: file.Path, Account: file.New, Out: v.made(labelsFile), Pool: "pool", Warn: v.Warn, Seed: v.Seed}
	if d.labels.Setting, err = v.keptPlan(ctx); err != nil {
		return err
	}
	queries := d.labels.Setting.Queries
	d.rows = max(fewestDrawn, min(drawnForQuery*queries, mostDrawn))
	labels, err := label.Event(d.labels.Setting)
	if err != nil {
		return err
	}
	events := [][]accountant.Event{{d.marginals.Event()}, {labels}}
	hash := d.private.Hash()
	if file.New.Run, err = run.ID(v.key, "publish", hash[:], fmt.Sprintf("%s %+v %+v", v.Learner, d.ranges.Bins(), events)); err != nil {
		return err
	}
	second, result := label.Stage(ctx, &d.labels)
	second.Key, d.result = func(key rng.Key) rng.Key { return key.Derive("labels") }, result
	first := run.Stage{
		Name: "marginals", Out: v.made(marginalsFile), Mode: 0o600, Key: func(key rng.Key) rng.Key { return key.Derive("marginals") },
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
	}
	d.session, err = run.Run{File: file, Units: v.Units(), Key: v.key, Stages: []run.Stage{first, second},
		Plan: func(context.Context, *run.Before) (run.Plan, error) { return run.Plan{Events: events}, nil }}.Open(ctx)
	if err != nil {
		return err
	}
	if _, err := d.session.Next(ctx); err != nil {
		return errors.Join(err, d.session.Close())
	}
	v.Say(fmt.Sprintf("pool: %d rows, drawn from the counts of %d columns, which take %.0f %% of the budget",
		d.rows, len(d.counts), 100*marginals.PoolShare))
	return nil
}

// keptPlan plans the labels with the budget that the marginals leave. The plan is saved before the charge,
// because another version of the program could plan differently.
func (v *voting) keptPlan(ctx context.Context) (s aggregate.Setting, err error) {
	type setting struct {
		Mechanism string             `json:"mechanism"`
		Values    map[string]float64 `json:"values"`
		Queries   int                `json:"queries"`
	}
	k, err := kept(v.dir.Private("plan.json"), func() (setting, error) {
		a, err := v.planned(ctx)
		if err != nil {
			return setting{}, err
		}
		return setting{a.Setting.Mechanism, a.Setting.Values, a.Setting.Queries}, v.sayPlan(ctx, a, mostDrawn)
	})
	return aggregate.Setting{Mechanism: k.Mechanism, Values: k.Values, Queries: k.Queries}, err
}

// kept returns the value that an earlier process saved at path. Otherwise it makes and saves the value.
func kept[T any](path string, make func() (T, error)) (t T, err error) {
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		err = json.Unmarshal(text, &t)
		return t, err
	case !errors.Is(err, fs.ErrNotExist):
		return t, err
	}
	if t, err = make(); err != nil {
		return t, err
	}
	if text, err = json.Marshal(t); err != nil {
		return t, err
	}
	return t, durable.WriteBytes(path, 0o600, text)
}
