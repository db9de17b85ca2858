package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/teachers/votes"
)

// AgreementFlags are flags for the accuracy of teachers and for errors that teachers share.
type AgreementFlags struct {
	plan.Agreement
	CalibrateOn string
}

func (f *AgreementFlags) AddAgreement(cmd *cobra.Command) {
	Declare(cmd.Flags(), "agreement", To{"teacher-accuracy": &f.Accuracy, "correlation": &f.Correlation, "confusion": &f.Confusion,
		"calibrate-on": &f.CalibrateOn})
}

func (f *AgreementFlags) AgreementGiven(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"teacher-accuracy", "correlation", "confusion", "calibrate-on"}, cmd.Flags().Changed)
}

func (f *AgreementFlags) CheckAgreement(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	share := func(name string, v float64) error {
		return cmp.Or(If(given(name) && !(v > 0 && v < 1), "--%s %v: must lie strictly between 0 and 1", name, v),
			If(given(name) && f.CalibrateOn != "", "give --%s or --calibrate-on, not both: --calibrate-on estimates this value", name))
	}
	return Refuse("mechanisms", share("teacher-accuracy", f.Accuracy), share("correlation", f.Correlation),
		If(given("confusion") && !(f.Confusion > 0 && f.Confusion <= 1), "--confusion %v: must be above 0 and at most 1", f.Confusion),
		If(given("confusion") && f.CalibrateOn != "", "give --confusion or --calibrate-on, not both: --calibrate-on estimates this value"),
		If(given("calibrate-on") && !strings.Contains(f.CalibrateOn, ","),
			"--calibrate-on %q: must be VOTES,LABELS: two files with a comma between them", f.CalibrateOn))
}

// Calibrate estimates the agreement of teachers from the votes and labels of --calibrate-on, if given. The
// result is the number of teachers. If `teachers` is 0, Calibrate takes the number from these votes. A result
// of 0 means unknown.
func (f *AgreementFlags) Calibrate(ctx context.Context, g *Globals, format *VotesFlags, teachers int) (int, error) {
	if f.CalibrateOn == "" {
		return teachers, nil
	}
	opt, err := format.Options()
	if err != nil {
		return 0, err
	}
	opt.From, opt.To, opt.Spool, opt.Teachers = 0, 0, nil, 0
	if opt.Counts {
		opt.Teachers = teachers
	}
	comma := strings.LastIndex(f.CalibrateOn, ",")
	path, labels := f.CalibrateOn[:comma], f.CalibrateOn[comma+1:]
	source, err := votes.Open(ctx, []string{path}, opt)
	if err != nil {
		return 0, FaultError(err, "votes")
	}
	if n := source.Teachers(); teachers > 0 && n > 0 && n != teachers {
		return 0, InputError(fmt.Errorf("%s has votes of %d teachers, not of the %d teachers of the plan", path, n, teachers),
			"teachers are measured on rows whose label is known", "let the same teachers vote on the labelled rows", "votes")
	}
	examples, err := Examples(ctx, source)
	if err != nil {
		return 0, err
	}
	if err := RightLabels(ctx, labels, opt, examples, false); err != nil {
		return 0, err
	}
	if f.Agreement, err = plan.Calibrate(examples); err != nil {
		return 0, InputError(fmt.Errorf("--calibrate-on %s: %w", f.CalibrateOn, err), "",
			"let the teachers vote on more labelled public rows", "votes")
	}
	g.Logf("on %d labelled rows: --teacher-accuracy %g --correlation %g --confusion %g", len(examples), f.Accuracy, f.Correlation, f.Confusion)
	g.Warn("these three numbers come from votes: if the teachers are private, epsilon does not cover the numbers, and " +
		"the plan shows them; to avoid this, train teachers of the same kind and size on public rows")
	return max(teachers, source.Teachers()), nil
}

// Examples converts a source's votes to examples with the plurality as the right class.
func Examples(ctx context.Context, source *votes.Source) ([]plan.Example, error) {
	var all []aggregate.Histogram
	for b, err := range source.Histograms(ctx) {
		if err != nil {
			return nil, FaultError(err, "votes")
		}
		all = append(all, b.Histogram)
	}
	return plan.PluralityExamples(all), nil
}

// RightLabels sets the right class of each example from a file with one column of labels. The classes are in
// opt. If more is true, the file may have more labels than examples.
func RightLabels(ctx context.Context, path string, opt votes.Options, examples []plan.Example, more bool) error {
	opt = votes.Options{Classes: opt.Classes, ClassNames: opt.ClassNames, FirstClass: opt.FirstClass}
	source, err := votes.Open(ctx, []string{oneTeacher(path)}, opt)
	var bad *fault.Error
	if errors.As(err, &bad) && strings.HasSuffix(bad.What, " columns") {
		return InputError(fmt.Errorf("%s: %s", path, bad.What), "a file of labels has one column: the right class of each query",
			"write only the labels, with pandas: y.to_csv(..., index=False)", "votes")
	}
	if err != nil {
		return FaultError(err, "votes")
	}
	if n := source.Total(); n < len(examples) || n > len(examples) && !more {
		return InputError(fmt.Errorf("%s has %d labels for %d queries", path, n, len(examples)),
			"each query needs its own right class", "give one label for each row of votes, in "+
				"their order", "votes")
	}
	for ballot, err := range source.Histograms(ctx) {
		if err != nil {
			return FaultError(err, "votes")
		}
		if ballot.Query >= len(examples) {
			break
		}
		e := &examples[ballot.Query]
		e.Label = -1
		for class, n := range ballot.Histogram.Reveal() {
			if n > 0 {
				e.Label = class
			}
		}
		if e.Label < 0 {
			return InputError(fmt.Errorf("%s: query %d has no label", path, ballot.Query), "each query needs its right class",
				"give all labels", "votes")
		}
	}
	return nil
}

func oneTeacher(path string) string {
	if path == "" {
		return path
	}
	last := len(path) - 1
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path[:last]) + "[" + path[last:] + "]"
}
