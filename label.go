package pate

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// Labels are what was released. Nothing in them is private.
type Labels struct {
	label.Result         // what was asked and answered, by which mechanism, at what cost
	Labels       []Asked // the queries that were asked, in order
}

// Asked is a query that was asked.
type Asked struct {
	Query int    // counted from the start of the votes
	Class int    // -1 if the mechanism declined to answer
	Name  string // of the class, as Options.Out has it; "" if declined
}

// Label releases votes as labels, in the file Options.Out too. It first checks the votes:
// what would make epsilon untrue, such as one teacher voting twice, is an [*fault.Error]. Then it
// plans from public numbers alone; where the budget carries no labels that are right often
// enough, the error is an [*fault.Error] that says what would do, around a [*plan.NoPlanError],
// and nothing is charged. See package label for what is charged and when.
func Label(ctx context.Context, v *votes.Source, o Options) (Labels, error) {
	o, err := o.complete()
	if err != nil {
		return Labels{}, err
	}
	if err := o.check(ctx, v); err != nil {
		return Labels{}, err
	}
	account := o.account()
	if !o.Shared { // what is released is fixed in advance, and mechanisms on votes are held by both
		account.Accountant = accountant.ByTightest
	}
	c := label.Config{Ledger: o.Ledger, Account: account, Expect: o.expect(), Out: o.Out, Pool: o.Pool, Votes: v, Seed: o.Seed, Warn: o.Warn}
	public := plan.Public{Teachers: v.Teachers(), Classes: v.Classes()}
	public.Accuracy = o.TeacherAccuracy
	c, _, err = label.Plan(ctx, c, public, plan.Goal{MinAccuracy: o.MinAccuracy, MinLabels: plan.LeastPerClass * float64(v.Classes())})
	if err != nil {
		return Labels{}, explain(err)
	}
	result, err := label.Run(ctx, c)
	if err != nil {
		return Labels{}, err
	}
	asked, err := readLabels(o.Out, v.ClassNames())
	return Labels{Result: result, Labels: asked}, err
}

// check refuses votes for which a claim might not be true.
func (o Options) check(ctx context.Context, v *votes.Source) error {
	if v == nil {
		return errors.New("pate: there are no votes")
	}
	switch n := v.Teachers(); {
	case n < 2:
		return &fault.Error{What: fmt.Sprintf("there are %d teachers, as far as the votes show", n), Why: "a plan needs their number", Fix: "open counts with votes.Options.Teachers"}
	case o.Teachers != 0 && o.Teachers != n:
		return &fault.Error{What: fmt.Sprintf("the votes are those of %d teachers, Options.Teachers says %d", n, o.Teachers), Fix: "look whether the file is transposed"}
	case !v.Counts() && n > v.Total() && o.Teachers == 0:
		return &fault.Error{What: fmt.Sprintf("%d teachers vote on %d queries", n, v.Total()), Why: "if the file is transposed, epsilon is not what it says", Fix: "open it with votes.Options.Transpose, or confirm with Options.Teachers"}
	}
	report, err := v.Check(ctx)
	if err != nil {
		return err
	}
	for _, f := range report.Findings() {
		if f.Level == votes.LevelFail {
			return &fault.Error{What: fmt.Sprintf("the votes fail a check, %s: %s", f.Check, f.Detail), Why: "one teacher must be one share of the private data, or epsilon is not what it says",
				Fix: "mend the votes, or charge them nevertheless with package label, on a ledger whose Config.Waived names the check, and release nothing of it"}
		}
	}
	return nil
}

// explain says what would work where no plan does.
func explain(err error) error {
	var none *plan.NoPlanError
	if !errors.As(err, &none) {
		return err
	}
	fix := "have more teachers, or raise Epsilon"
	if none.Teachers > 0 {
		fix = fmt.Sprintf("have %d teachers as good as these, or raise Epsilon", none.Teachers)
	}
	if none.Epsilon > 0 && none.Epsilon < 1000 {
		fix += " to " + number.DigitsUp(none.Epsilon, 3)
	}
	what := fmt.Sprintf("no labels would be right %.0f %% of the time within epsilon %g", 100*none.Goal.MinAccuracy, none.Goal.Epsilon)
	if none.Best.Queries > 0 {
		what = fmt.Sprintf("epsilon %g carries %.1f labels that are right %.0f %% of the time, fewer than %d for each class", none.Goal.Epsilon, none.Best.ExpectedCorrect, 100*none.Goal.MinAccuracy, plan.LeastPerClass)
	}
	return &fault.Error{What: what, Why: "nothing was charged", Fix: fix, Err: err}
}

// readLabels reads the labels that were just committed; names are those of the classes.
func readLabels(path string, names []string) ([]Asked, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("pate: %w", err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("pate: %s: %w", path, err)
	}
	var out []Asked
	for _, line := range lines[1:] {
		a := Asked{Class: -1, Name: line[1]}
		if a.Query, err = strconv.Atoi(line[0]); err != nil {
			return nil, fmt.Errorf("pate: %s: %w", path, err)
		}
		switch {
		case a.Name == "":
		case names != nil:
			a.Class = slices.Index(names, a.Name)
		default:
			if a.Class, err = strconv.Atoi(a.Name); err != nil {
				return nil, fmt.Errorf("pate: %s: %w", path, err)
			}
		}
		out = append(out, a)
	}
	return out, nil
}
