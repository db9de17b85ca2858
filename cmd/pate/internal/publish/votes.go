package publish

import (
	"context"
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/experiments"
	teaching "github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
)

// voting releases labels by the votes of teachers, and a student of them.
type voting struct {
	*job
	t      teaching.Job
	public plan.Public
	pool   *drawn // nil if the public rows are somebody's
}

// lookVotes reads all rows, and refuses what no teachers could learn from and a budget that carries
// no labels. It returns a hash of the private rows.
func (j *job) lookVotes(ctx context.Context, t teaching.Job) (method, [32]byte, error) {
	v := &voting{job: j, t: t, public: plan.Public{Teachers: t.Count()}}
	v.public.Accuracy = j.flags.accuracy
	fail := func(err error) (method, [32]byte, error) { return nil, [32]byte{}, err }
	if !(j.g.Delta < 1/float64(v.public.Teachers)) {
		return fail(shell.UsageError("privacy", fmt.Errorf("delta %g is not below 1/%d, one over the number of teachers", j.g.Delta, v.public.Teachers)))
	}
	var schema *dataset.Schema
	var err error
	if j.flags.drawn() {
		v.pool, schema, err = j.declared(&v.t)
		v.public.Queries = mostDrawn
	} else {
		var pool dataset.Pool
		schema, pool, err = dataset.ReadPublic(t.Public, t.Reading)
		v.public.Queries = pool.Len()
	}
	if err != nil {
		return fail(err)
	}
	v.public.Classes = len(schema.Classes)
	private, err := schema.ReadPrivate(t.Private)
	if err != nil {
		return fail(err)
	}
	data := private.Hash()
	if j.flags.pool == experiments.PoolMarginals {
		if err := v.pool.count(ctx, j, private); err != nil {
			return fail(err)
		}
	}
	if !j.begun {
		if _, err := v.planned(ctx); err != nil {
			return fail(err)
		}
	}
	return v, data, nil
}

// planned plans labels for what the counts of a drawn pool leave of the budget.
func (v *voting) planned(ctx context.Context) (a plan.Alternative, err error) {
	account := v.labelsAccount(v.t.Unit)
	trial, err := run.Trial(account)
	if err != nil {
		return a, err
	}
	defer trial.Close()
	if v.pool.counted() {
		if _, err := trial.Reserve(v.pool.marginals.Event()); err != nil {
			return a, err
		}
	}
	goal := v.goal(v.public)
	goal.Epsilon, goal.Delta, goal.Accountant = account.Epsilon, account.Delta, account.Method()
	a, err = plan.ForLabels(ctx, v.public, goal, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
		return trial.LeastNoise(ctx, event)
	})
	var none *plan.NoPlanError
	if errors.As(err, &none) {
		err = errors.Join(err, v.public.Remedy(ctx, none))
	}
	return a, err
}

func (v *voting) release(ctx context.Context) (r *report, err error) {
	j := v.job
	if j.g.Seeded {
		v.t.Key = rng.SeedKey(j.g.Seed)
	}
	v.t.Progress = j.bar.Update
	v.t.Say = j.say
	v.t.Decided = func(r *teaching.Result) {
		j.bar.Clear()
		shell.ReadAloud(j.g, r.Columns, r.Repeated)
	}
	left, files := []string{labelsFile}, []string{labelsFile, queriesFile, labelledFile, studentFile, statementFile, ledgerFile}
	if v.pool != nil {
		if err := v.drawPool(ctx); err != nil {
			return nil, err
		}
		files = append(files, poolFile)
	}
	if v.pool.counted() {
		defer func() { err = errors.Join(err, v.pool.book.Close()) }()
		left, files = append(left, marginalsFile), append(files, marginalsFile)
	}
	trained, err := teaching.Run(ctx, v.t)
	if err != nil {
		return nil, err
	}
	var released label.Result
	var rows []int
	if v.pool.counted() {
		released, rows, err = j.labelDrawn(ctx, trained, v.pool)
	} else {
		released, rows, err = j.label(ctx, trained)
	}
	if err != nil {
		return nil, err
	}
	r = &report{Schema: schemaPublish, Method: methodPATE, Public: trained.Queries, Teachers: trained.Teachers, Reason: trained.Reason, Learner: trained.Learner, Classes: trained.Classes,
		Unit: trained.Unit, Asked: released.Asked, Released: released.Answered, Mechanism: released.Setting.Mechanism, Epsilon: released.Claim, Delta: released.Delta, Releasable: released.Releasable}
	if v.pool != nil {
		r.Pool = j.flags.pool
	}
	if err := j.tables(trained, rows); err != nil {
		return nil, err
	}
	if released.Answered > 0 {
		if err := j.student(ctx, trained, rows, r); err != nil {
			return nil, err
		}
	}
	if err := j.statement(left...); err != nil {
		return nil, err
	}
	return r, j.report(r, files...)
}
