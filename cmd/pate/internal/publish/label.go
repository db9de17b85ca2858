package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/student/published"
	teaching "github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// Files of the secret folder: the rows that are asked, in this order, and the votes on them.
const (
	askedRows  = "queries.csv"
	askedVotes = "queries.npy"
)

// label plans how many rows of the pool are asked, chooses them, and releases their labels.
// It returns the rows. The votes are those of disjoint shares, since they were made here:
// teachers that vote alike everywhere have learned the same, and that is not looked at. A
// check of them would tell of private rows by what it says.
func (j *job) label(ctx context.Context, t *teaching.Result) (label.Result, []int, error) {
	source, err := votes.Open(ctx, []string{t.Votes}, votes.Options{Classes: len(t.Classes)})
	if err != nil {
		return label.Result{}, nil, err
	}
	account := j.labelsAccount(t.Unit)
	c := label.Config{Ledger: j.Private(ledgerFile), Account: account, Out: j.made(labelsFile), Pool: "pool", Votes: source, Warn: j.g.Warn, Expect: expected(account)}
	if j.g.Seeded {
		c.Seed = &j.g.Seed
	}
	j.bar.Update("labels", 0, 1)
	if c, err = j.plan(ctx, c); err != nil {
		return label.Result{}, nil, err
	}
	rows, err := j.questions(ctx, t, c.Votes.Queries())
	if err != nil {
		return label.Result{}, nil, err
	}
	if c.Votes, err = j.asked(ctx, t, rows); err != nil {
		return label.Result{}, nil, err
	}
	released, err := label.Run(ctx, c)
	j.bar.Update("labels", 1, 1)
	if err == nil {
		j.sayLabels(released)
	}
	return released, rows, err
}

func (j *job) sayLabels(r label.Result) {
	j.say(fmt.Sprintf("labels: %d of %d queries answered by %s, epsilon %s", r.Answered, r.Asked, r.Setting.Mechanism, shell.FormatUp(r.Claim, false)))
}

// questions returns n rows of the pool to ask about: those that public rows alone say a
// student learns most from. They are written down before they are asked, since another kind
// of machine could choose others when it carries on.
func (j *job) questions(ctx context.Context, t *teaching.Result, n int) ([]int, error) {
	path := j.Private(askedRows)
	durable.Sweep(path, "")
	text, err := os.ReadFile(path)
	if err == nil {
		if rows, ok := readRows(string(text), n, t.Queries); ok {
			return rows, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := published.Questions(ctx, t.Public, t.Pool, n, func(p student.Progress) { j.bar.Update("queries: "+p.Stage, p.Done, p.Total) })
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

// readRows reads n rows of a pool that queriesOf wrote. It is false for anything else: rows
// that were chosen for another plan, which nothing was charged for.
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
func (j *job) asked(ctx context.Context, t *teaching.Result, rows []int) (*votes.Source, error) {
	path := j.Private(askedVotes)
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
	if err := asked.Save(path); err != nil {
		return nil, err
	}
	return votes.Open(ctx, []string{path}, votes.Options{Classes: len(t.Classes)})
}

// lesserAccuracy is that of teachers for which a plan without --teacher-accuracy is tried.
const lesserAccuracy = 0.8

// plan plans what is asked, from public numbers alone, and says what the plan takes for
// granted where nothing is declared.
func (j *job) plan(ctx context.Context, c label.Config) (label.Config, error) {
	public := plan.Public{Teachers: c.Votes.Teachers(), Classes: c.Votes.Classes()}
	public.Accuracy = j.flags.accuracy
	planned, a, err := label.Plan(ctx, c, public, j.goal(public))
	if err != nil || a == nil { // it was recorded, and is carried on
		return planned, err
	}
	return planned, j.sayPlan(ctx, public, *a, c.Votes.Queries())
}

// goal is what labels are planned for.
func (j *job) goal(public plan.Public) plan.Goal {
	return plan.Goal{MinAccuracy: j.flags.least, Steady: public.Accuracy <= plan.UsualAccuracy, MinLabels: plan.LeastPerClass * float64(public.Classes)}
}

// sayPlan says what is asked of so many queries, and what that takes for granted.
func (j *job) sayPlan(ctx context.Context, public plan.Public, a plan.Alternative, queries int) error {
	told := fmt.Sprintf("plan: %d of %d queries, about %s labels, of teachers that are right", a.Setting.Queries, queries, shell.FormatExpected(a.ExpectedAnswers, false))
	if public.Accuracy > 0 {
		j.say(fmt.Sprintf("%s %.3g %% of the time, as declared", told, 100*public.Accuracy))
		return nil
	}
	public.Queries, public.Accuracy = queries, lesserAccuracy
	lesser, err := public.Expect(ctx, a.Setting)
	if err != nil {
		return err
	}
	j.say(fmt.Sprintf("%s %.0f %% of the time, which nobody said; of teachers right %.0f %%, %.0f %% of these labels would be what the plurality says",
		told, 100*plan.UsualAccuracy, 100*lesserAccuracy, 100*lesser.Accuracy()))
	j.say("if you know from public data that one teacher is right more often, say so: --teacher-accuracy 0.95 asks more queries")
	return nil
}

// remedy says what would work where no plan does.
func remedy(none *plan.NoPlanError) string {
	fix := "have more teachers, or raise --epsilon"
	if none.Teachers > 0 {
		fix = fmt.Sprintf("have %d teachers as good as these, or raise --epsilon", none.Teachers)
	}
	if none.Epsilon > 0 && !math.IsInf(none.Epsilon, 1) {
		fix += " to " + number.DigitsUp(none.Epsilon, 3)
	}
	return fix + "; --teacher-accuracy plans for better ones, if you know from public data that yours are"
}
