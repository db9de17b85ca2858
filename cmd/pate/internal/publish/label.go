package publish

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/teachers/label"
	teaching "github.com/pate-go/pate/teachers/training"
	"github.com/pate-go/pate/teachers/votes"
)

// label releases labels of the pool in that order. The votes are those of disjoint shares,
// since they were made here: teachers that vote alike everywhere have learned the same, and
// that is not looked at. A check of them would tell of private rows by what it says.
func (j *job) label(ctx context.Context, t *teaching.Result, order []int) (label.Result, error) {
	source, err := j.asked(ctx, t, order)
	if err != nil {
		return label.Result{}, err
	}
	account := ledger.Config{Unit: t.Unit, Relation: accountant.AddRemove, Epsilon: j.flags.epsilon, Delta: j.g.Delta, Noise: ledger.SecretNoise, Accountant: accountant.ByTightest}
	c := label.Config{Ledger: j.private(ledgerFile), Account: account, Out: j.private(labelsFile), Pool: "pool", Votes: source, Warn: j.g.Warn,
		Expect: release.Expect{Relation: account.Relation, Unit: account.Unit, Epsilon: account.Epsilon, Delta: account.Delta}}
	if j.g.Seeded {
		c.Account.Noise, c.Seed = ledger.SeededNoise, &j.g.Seed
	}
	j.bar.Update("labels", 0, 1)
	if c, err = j.plan(ctx, c); err != nil {
		return label.Result{}, err
	}
	released, err := label.Run(ctx, c)
	j.bar.Update("labels", 1, 1)
	if err == nil {
		j.say(fmt.Sprintf("labels: %d of %d queries answered by %s, epsilon %s", released.Answered, released.Asked, released.Setting.Mechanism, shell.FormatUp(released.Claim, false)))
	}
	return released, err
}

// asked writes the votes in the order of the queries.
func (j *job) asked(ctx context.Context, t *teaching.Result, order []int) (*votes.Source, error) {
	path := j.private("queries.npy")
	all, err := votes.Load(t.Votes, len(t.Classes))
	if err != nil {
		return nil, err
	}
	asked, err := votes.New(len(order), t.Teachers, len(t.Classes))
	if err != nil {
		return nil, err
	}
	for q, row := range order {
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
	planned, a, err := label.Plan(ctx, c, public, plan.Goal{MinAccuracy: j.flags.least, MinLabels: plan.LeastPerClass * float64(public.Classes)})
	if err != nil || a == nil { // it was recorded, and is carried on
		return planned, err
	}
	told := fmt.Sprintf("plan: %d of %d queries, about %s labels, of teachers that are right", a.Setting.Queries, c.Votes.Queries(), shell.FormatExpected(a.ExpectedAnswers, false))
	if public.Accuracy > 0 {
		j.say(fmt.Sprintf("%s %.3g %% of the time, as declared", told, 100*public.Accuracy))
		return planned, nil
	}
	public.Queries, public.Accuracy = c.Votes.Queries(), lesserAccuracy
	lesser, err := public.Expect(ctx, a.Setting)
	if err != nil {
		return c, err
	}
	j.say(fmt.Sprintf("%s %.0f %% of the time, which nobody said; of teachers right %.0f %%, %.0f %% of these labels would be what the plurality says\n"+
		"if you know from public data how often one teacher is right, say so: --teacher-accuracy 0.8 asks fewer queries and 0.95 more", told, 100*plan.UsualAccuracy, 100*lesserAccuracy, 100*lesser.Accuracy()))
	return planned, nil
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
