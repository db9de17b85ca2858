package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
)

type voting struct {
	*job
	teachers training.Job
	public   plan.Public
	plan     plan.Alternative // of a new run
	labels   label.Config     // without votes until the teachers are trained
	result   func(*run.Session, run.Done) (label.Result, error)
}

func (v *voting) look(ctx context.Context) (data [32]byte, err error) {
	if err := v.readRows(ctx); err != nil {
		return data, err
	}
	v.teachers = training.Job{Private: v.Private, Public: v.Public, Reading: v.Reading, Teachers: v.Teachers,
		Size: v.Size, Learner: v.Learner, Unit: v.Unit,
		Out: v.dir.Private("votes.npy"), Secrets: v.dir.Private("teachers"), Progress: v.Progress, Say: v.Say}
	v.public = plan.Public{Teachers: v.teachers.Count(), Classes: len(v.read.Classes), Queries: v.read.pool.Len()}
	v.public.Accuracy = v.TeacherAccuracy
	if v.drawn != nil {
		v.public.Queries, v.teachers.Public.Path = mostDrawn, v.made(poolFile)
	}
	if !v.begun {
		if v.plan, err = v.planned(ctx); err != nil {
			return data, err
		}
	}
	return v.hash, nil
}

func (v *voting) planned(ctx context.Context) (a plan.Alternative, err error) {
	trial, err := ledger.New(v.ledger().New)
	if err != nil {
		return a, fmt.Errorf("run: %w", err)
	}
	defer trial.Close()
	if e := v.drawn.event(); e != nil {
		if _, err := trial.Reserve(e); err != nil {
			return a, err
		}
	}
	return label.Planning{Public: v.public, Goal: v.goal()}.On(ctx, &run.Before{Ledger: trial, Fresh: true}, v.public.Queries)
}

func (v *voting) goal() plan.Goal {
	return plan.Goal{MinAccuracy: v.MinAccuracy, Steady: v.public.Accuracy <= plan.UsualAccuracy,
		MinLabels: plan.LeastPerClass * float64(v.public.Classes)}
}

const lesserAccuracy = 0.8

func (v *voting) sayPlan(ctx context.Context, a plan.Alternative) error {
	labels := strconv.FormatFloat(a.ExpectedAnswers, 'f', 1, 64)
	if a.ExpectedAnswers >= 999.95 {
		labels = strconv.FormatFloat(a.ExpectedAnswers, 'f', 0, 64)
	}
	told := fmt.Sprintf("plan: %d of %d queries, about %s labels, of teachers that are right", a.Setting.Queries, v.public.Queries, labels)
	public := v.public
	if public.Accuracy > 0 {
		v.Say(fmt.Sprintf("%s %.3g %% of the time, as declared", told, 100*public.Accuracy))
		return nil
	}
	public.Accuracy = lesserAccuracy
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
	file := v.ledger()
	v.labels = label.Config{Ledger: file.Path, Account: file.New, Expect: file.Expect, Out: v.made(labelsFile), Pool: "pool",
		Warn: v.Warn, Seed: v.Seed}
	if v.labels.Setting, err = v.keptPlan(ctx); err != nil {
		return nil, err
	}
	if v.drawn != nil {
		defer func() { err = errors.Join(err, v.drawn.close()) }()
		if err := v.draw(ctx); err != nil {
			return nil, err
		}
		v.private = dataset.Set{} // read again with the scales of the drawn columns
	}
	rows, err := v.questionsOf(ctx, v.read, v.labels.Setting.Queries)
	if err != nil {
		return nil, err
	}
	asked := v.read.pool
	asked.X, asked.IDs = dense.Pick(asked.X, rows), dataset.Numbers(len(rows))
	v.teachers.Rows = &training.Rows{Schema: v.read.Schema, Pool: asked, Private: v.private}
	trained, err := training.Run(ctx, v.teachers)
	if err != nil {
		return nil, err
	}
	v.teachers.Rows, v.private = nil, dataset.Set{}
	released, err := v.label(ctx, trained)
	if err != nil {
		return nil, err
	}
	r = &Report{Schema: schemaPublish, Method: PATE, Public: v.read.pool.Len(), Teachers: trained.Teachers,
		Reason: trained.Reason, Learner: trained.Learner,
		Classes: trained.Classes, Unit: trained.Unit, Asked: released.Asked, Released: released.Answered, Mechanism: released.Setting.Mechanism,
		Epsilon: released.Claim, Delta: released.Delta, Releasable: released.Releasable}
	return r, v.results(ctx, v.read, rows, r)
}

func (v *voting) draw(ctx context.Context) (err error) {
	if !v.drawn.counted() {
		return v.job.draw(ctx, mostDrawn, nil, nil, run.Stage{})
	}
	event, err := label.Event(v.labels.Setting)
	if err != nil {
		return err
	}
	last, result := label.Stage(ctx, &v.labels)
	last.Key, v.result = func(key rng.Key) rng.Key { return key.Derive("labels") }, result
	return v.job.draw(ctx, drawnFor(v.labels.Setting.Queries), v.Learner, event, last)
}

func (v *voting) keptPlan(ctx context.Context) (s aggregate.Setting, err error) {
	type setting struct {
		Mechanism string             `json:"mechanism"`
		Values    map[string]float64 `json:"values"`
		Queries   int                `json:"queries"`
	}
	k, err := kept(v.dir.Private("plan.json"), func() (setting, error) {
		a, err := v.plan, error(nil)
		if a.Setting.Mechanism == "" {
			a, err = v.planned(ctx)
		}
		if err == nil {
			err = v.sayPlan(ctx, a)
		}
		return setting{a.Setting.Mechanism, a.Setting.Values, a.Setting.Queries}, err
	})
	return aggregate.Setting{Mechanism: k.Mechanism, Values: k.Values, Queries: k.Queries}, err
}

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
