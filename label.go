package pate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// Labels describes released labels. All fields are public.
type Labels struct {
	label.Result         // queries, answers, mechanism and cost
	Labels       []Asked // the answered and declined queries, in order
}

// Asked is one query with its released label.
type Asked struct {
	Query int    // index from the start of the votes
	Class int    // -1 if the mechanism declined to answer
	Name  string // name of the class, as written to LabelOptions.Out; "" if declined
}

// LabelOptions configures [Label]. Budget and Out are required.
type LabelOptions struct {
	Budget
	Out string // path of the labels, as CSV
	// TeacherAccuracy is the accuracy of one teacher, or 0 if unknown. The released plan depends on
	// TeacherAccuracy. So the accuracy must come from public data and never from votes of the private
	// teachers. For example, measure similar teachers that are trained on public rows. If TeacherAccuracy
	// is 0 and NoPilot is false, a pilot is charged and released first (see [label.Pilot]). With a pilot,
	// a new ledger has mode Filter.
	TeacherAccuracy float64
	// NoPilot replaces the pilot by an assumed accuracy of 88 %. It has an effect only if TeacherAccuracy is
	// 0.
	NoPilot bool
	// MinAccuracy is the minimum fraction of labels that must equal the plurality of the votes; default 0.9.
	MinAccuracy float64
	// Teachers is the number of teachers, or 0 if unknown. If a file has more teachers than queries, Teachers
	// confirms that the file is not transposed. For vote counts, set votes.Options.Teachers instead.
	Teachers int
	// Pool names the set of public records that contains the queries; default "pool".
	Pool string
}

// Label releases labels from votes and writes the labels to LabelOptions.Out. Label first audits the votes.
// If a finding would invalidate epsilon, such as one teacher voting twice, Label returns a [*fault.Error].
// Label then plans from public numbers and from the pilot, if there is one. If no plan gives enough labels
// with MinAccuracy, Label charges no label and returns a [*fault.Error]. This error has a remedy and wraps a
// [*plan.NoPlanError].
func Label(ctx context.Context, v *votes.Source, o LabelOptions) (Labels, error) {
	file, err := o.file(o.Out)
	if err != nil {
		return Labels{}, err
	}
	switch {
	case !(o.MinAccuracy >= 0 && o.MinAccuracy < 1):
		return Labels{}, fmt.Errorf("pate: LabelOptions.MinAccuracy is %v, want at least 0 and below 1", o.MinAccuracy)
	case !(o.TeacherAccuracy >= 0 && o.TeacherAccuracy < 1):
		return Labels{}, fmt.Errorf("pate: LabelOptions.TeacherAccuracy is %v, want at least 0 and below 1", o.TeacherAccuracy)
	}
	if err := o.check(ctx, v); err != nil {
		return Labels{}, err
	}
	piloted := o.TeacherAccuracy == 0 && !o.NoPilot
	switch {
	case piloted: // the cost of the labels depends on the released pilot
		file.New.Mode = ledger.Filter
	case !o.Shared: // the releases are fixed in advance, and both accountants support the mechanisms
		file.New.Accountant = accountant.ByAuto
	}
	planning := label.Planning{
		Public: plan.Public{Teachers: v.Teachers(), Classes: v.Classes()},
		Goal:   plan.Goal{MinAccuracy: cmp.Or(o.MinAccuracy, 0.9), MinLabels: plan.LeastPerClass * float64(v.Classes())},
	}
	planning.Public.Accuracy = o.TeacherAccuracy
	var spent *label.Pilot
	if piloted {
		planning.Pilot = func(p label.Pilot, released bool) error {
			if released {
				spent = &p
			}
			return nil
		}
	}
	var labels Labels
	labels.Result, err = label.Run(ctx, label.Config{
		Ledger: o.Ledger, Account: file.New, Expect: file.Expect, Out: o.Out, Pool: cmp.Or(o.Pool, "pool"), Votes: v,
		Plan: &planning, Seed: o.Seed, Warn: o.Warn,
		Each: func(query uint64, class int) {
			labels.Labels = append(labels.Labels, Asked{int(query), class, className(v.ClassNames(), class)})
		},
	})
	if err != nil {
		return Labels{}, explain(err, spent)
	}
	return labels, nil
}

func className(names []string, class int) string {
	switch {
	case class < 0:
		return ""
	case names != nil:
		return names[class]
	}
	return strconv.Itoa(class)
}

func (o LabelOptions) check(ctx context.Context, v *votes.Source) error {
	if v == nil {
		return errors.New("pate: there are no votes")
	}
	switch n := v.Teachers(); {
	case n < 2:
		return &fault.Error{What: fmt.Sprintf("the number of teachers is %d, as far as the votes show", n),
			Why: "a plan needs their number", Fix: "open counts with votes.Options.Teachers"}
	case o.Teachers != 0 && o.Teachers != n:
		return &fault.Error{What: fmt.Sprintf("the votes are of %d teachers, but LabelOptions.Teachers is %d", n, o.Teachers),
			Fix: "check whether the file is transposed"}
	case !v.Counts() && n > v.Total() && o.Teachers == 0:
		return &fault.Error{What: fmt.Sprintf("%d teachers vote on %d queries", n, v.Total()),
			Why: "if the file is transposed, epsilon is wrong",
			Fix: "open it with votes.Options.Transpose, or confirm with LabelOptions.Teachers"}
	}
	report, err := v.Check(ctx)
	if err != nil {
		return err
	}
	for _, f := range report.Findings() {
		if f.Level == votes.LevelFail {
			return &fault.Error{What: fmt.Sprintf("the votes fail the check %s: %s", f.Check, f.Detail),
				Why: "epsilon holds only if each teacher has its own part of the private data",
				Fix: "correct the votes, or charge them nevertheless with package label, " +
					"on a ledger whose Config.Waived names the check, and release no result"}
		}
	}
	return nil
}

func explain(err error, spent *label.Pilot) error {
	var none *plan.NoPlanError
	var refused *fault.Error // the pilot was refused
	if !errors.As(err, &none) || errors.As(err, &refused) {
		return err
	}
	fix := "use more teachers, or raise Epsilon"
	if none.Teachers > 0 {
		fix = fmt.Sprintf("use %d teachers as accurate as these, or raise Epsilon", none.Teachers)
	}
	if none.Epsilon > 0 && none.Epsilon < 1000 {
		fix += " to " + number.DigitsUp(none.Epsilon, 3)
	}
	what := fmt.Sprintf("no labels would be right %.0f %% of the time within epsilon %g", 100*none.Goal.MinAccuracy, none.Goal.Epsilon)
	if none.Best.Queries > 0 {
		what = fmt.Sprintf("epsilon %g is enough for only %.1f labels that are right %.0f %% of the time, fewer than %d for each class",
			none.Goal.Epsilon, none.Best.ExpectedCorrect, 100*none.Goal.MinAccuracy, plan.LeastPerClass)
	}
	why := "nothing was charged"
	if spent != nil {
		why = fmt.Sprintf("only the pilot was charged (epsilon %s); it found that on average at least %.0f %% of the teachers agree",
			number.DigitsUp(spent.Epsilon, 3), 100*spent.LeastShare)
	}
	return &fault.Error{What: what, Why: why, Fix: fix, Err: err}
}

// Budget describes the privacy budget and the ledger of a call. Epsilon, Delta and Ledger are required.
type Budget struct {
	Epsilon float64 // budget of the ledger, finite and above 0
	Delta   float64 // far below 1/n for n units
	Ledger  string  // path of the ledger, which is created if missing
	Unit    string  // privacy unit of a new ledger; default "record"
	// If Shared is true, a new ledger has mode Filter, so that later runs may charge the rest of the budget.
	// Otherwise, a new ledger has mode Filter only if a pilot is charged.
	Shared bool
	// Seed, if not nil, determines all noise. Results are then repeatable but not releasable.
	Seed *uint64
	// Warn, if not nil, receives warnings that do not stop the call.
	Warn func(string)
}

func (b Budget) file(out string) (run.File, error) {
	switch {
	case b.Ledger == "":
		return run.File{}, errors.New("pate: Budget.Ledger is empty: a release must be charged to a ledger file")
	case out == "":
		return run.File{}, errors.New("pate: Out is empty: it must name the file of the release")
	}
	if b.Unit == "" {
		b.Unit = "record"
	}
	made := ledger.Config{Unit: b.Unit, Relation: accountant.AddRemove, Epsilon: b.Epsilon, Delta: b.Delta}
	if b.Shared {
		made.Mode = ledger.Filter
	}
	expect := run.Expect{Relation: made.Relation, Unit: b.Unit, Epsilon: b.Epsilon, Delta: b.Delta}
	return run.File{Path: b.Ledger, New: made, Expect: expect, Warn: b.Warn}, nil
}

// Verify checks the ledger at path and returns a summary. It returns an error if the ledger is damaged, or if
// the ledger lacks a line whose hash another file stores (see [run.ReadHeads]).
func Verify(path string) (ledger.Summary, error) {
	known, err := run.ReadHeads(path)
	if err != nil {
		return ledger.Summary{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return ledger.Summary{}, fmt.Errorf("pate: %w", err)
	}
	defer file.Close()
	return ledger.Verify(file, ledger.VerifyOptions{Heads: known.Of})
}
