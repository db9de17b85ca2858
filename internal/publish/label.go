package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// label plans how many rows of the pool are asked, chooses them, and releases their labels. It returns the
// rows. The votes were made here, by disjoint shares: teachers that vote alike everywhere have learned the
// same, and are not looked for. The findings of a check would depend on private rows.
func (v *voting) label(ctx context.Context, t *training.Result) (released label.Result, rows []int, err error) {
	v.Progress("labels", 0, 1)
	defer v.Progress("labels", 1, 1)
	if v.pool.counted() {
		released, rows, err = v.labelCounted(ctx, t)
	} else {
		released, rows, err = v.labelPlanned(ctx, t)
	}
	if err == nil {
		v.Say(fmt.Sprintf("labels: %d of %d queries answered by %s, epsilon %s", released.Answered, released.Asked,
			released.Setting.Mechanism, number.DigitsUp(released.Claim, 5)))
	}
	return released, rows, err
}

// labelPlanned plans the labels on the ledger that is then charged.
func (v *voting) labelPlanned(ctx context.Context, t *training.Result) (released label.Result, rows []int, err error) {
	all, err := votes.Open(ctx, []string{t.Votes}, votes.Options{Classes: len(t.Classes)})
	if err != nil {
		return released, nil, err
	}
	planning := &label.Planning{
		Public: plan.Public{Teachers: all.Teachers(), Classes: all.Classes()}, Goal: v.goal(),
		Accept: func(ctx context.Context, a plan.Alternative) error { return v.sayPlan(ctx, a, all.Queries()) },
		Ask: func(ctx context.Context, n int) (asked *votes.Source, err error) {
			rows, asked, err = v.questions(ctx, t, n)
			return asked, err
		},
	}
	planning.Public.Accuracy = v.TeacherAccuracy
	file := v.ledger()
	released, err = label.Run(ctx, label.Config{Ledger: file.Path, Account: file.New, Expect: file.Expect,
		Out: v.made(labelsFile), Pool: "pool",
		Votes: all, Plan: planning, Warn: v.Warn, Seed: v.Seed})
	return released, rows, err
}

// labelCounted carries out the second stage of a run whose first one drew the pool.
func (v *voting) labelCounted(ctx context.Context, t *training.Result) (released label.Result, rows []int, err error) {
	c := &v.pool.labels
	if rows, c.Votes, err = v.questions(ctx, t, c.Setting.Queries); err != nil {
		return released, nil, err
	}
	done, err := v.pool.session.Next(ctx)
	if err == nil {
		released, err = v.pool.result(v.pool.session, done)
	}
	return released, rows, err
}

// Files of the secret folder: the rows that are asked, in this order, and the votes on them.
const (
	askedRows  = "queries.csv"
	askedVotes = "queries.npy"
)

// questions returns n rows of the pool to ask about, and the votes on them.
func (j *job) questions(ctx context.Context, t *training.Result, n int) ([]int, *votes.Source, error) {
	rows, err := j.choose(ctx, t, n)
	if err != nil {
		return nil, nil, err
	}
	source, err := j.asked(ctx, t, rows)
	return rows, source, err
}

// choose returns the n rows of the pool that a student learns most from, by public rows alone. They are
// written down before they are asked, since another kind of machine could choose others when it carries on.
func (j *job) choose(ctx context.Context, t *training.Result, n int) ([]int, error) {
	path := j.dir.Private(askedRows)
	durable.Sweep(path, "")
	text, err := os.ReadFile(path)
	if err == nil {
		if rows, ok := readRows(string(text), n, t.Queries); ok {
			return rows, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := published.Questions(ctx, t.Public, t.Pool, n,
		func(p student.Progress) { j.Progress("queries: "+p.Stage, p.Done, p.Total) })
	if err != nil {
		return nil, err
	}
	return rows, durable.WriteBytes(path, 0o600, queriesOf(rows))
}

// queriesOf writes which row each query is.
func queriesOf(rows []int) []byte {
	text := []byte("query,row\n")
	for q, row := range rows {
		text = fmt.Appendf(text, "%d,%d\n", q, row)
	}
	return text
}

// readRows reads n rows of a pool that queriesOf wrote. It is false for anything else: rows that were
// chosen for another plan, which nothing was charged for.
func readRows(text string, n, pool int) ([]int, bool) {
	rows := make([]int, 0, n)
	for line := range strings.Lines(text) {
		_, cell, _ := strings.Cut(strings.TrimSpace(line), ",")
		if row, err := strconv.Atoi(cell); err == nil && row >= 0 && row < pool {
			rows = append(rows, row)
		}
	}
	return rows, len(rows) == n && string(queriesOf(rows)) == text
}

// asked writes the votes on the rows that are asked.
func (j *job) asked(ctx context.Context, t *training.Result, rows []int) (*votes.Source, error) {
	all, err := votes.Load(t.Votes, len(t.Classes))
	if err != nil {
		return nil, err
	}
	asked, err := votes.New(len(rows), t.Teachers, len(t.Classes))
	if err != nil {
		return nil, err
	}
	for q, row := range rows {
		for teacher := range t.Teachers {
			if err := asked.Set(q, teacher, all.At(row, teacher)); err != nil {
				return nil, err
			}
		}
	}
	path := j.dir.Private(askedVotes)
	if err := asked.Save(path); err != nil {
		return nil, err
	}
	return votes.Open(ctx, []string{path}, votes.Options{Classes: len(t.Classes)})
}
