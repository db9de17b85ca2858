package publish

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
)

// voting releases labels by the votes of teachers, and a student.
type voting struct {
	*job
	teachers training.Job
	public   plan.Public
	pool     *drawn // nil if the public rows are somebody's
}

func (v *voting) look(ctx context.Context) (data [32]byte, err error) {
	v.teachers = training.Job{Private: v.Private, Public: v.Public, Reading: v.Reading, Teachers: v.Teachers,
		Size: v.Size, Learner: v.Learner, Unit: v.Unit,
		Out: v.dir.Private("votes.npy"), Secrets: v.dir.Private("teachers"), Progress: v.Progress, Say: v.Say,
		Decided: func(r *training.Result) { v.Columns(r.Columns, r.Repeated) }}
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

// planned plans labels for the budget without the counts of a drawn pool.
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

// lesserAccuracy is the lower accuracy for which a plan without a declared accuracy is tried.
const lesserAccuracy = 0.8

// sayPlan describes a plan for so many queries, and its assumption where no accuracy is declared.
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
	if err := v.student(ctx, trained, rows, r); err != nil {
		return nil, err
	}
	if err := v.statement(paid...); err != nil {
		return nil, err
	}
	return r, v.report(r, files...)
}
