package shell

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/teachers/votes"
)

// Examples returns the votes of a source, for a plan: right is what the plurality says.
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

// RightLabels replaces what counts as right in examples by the labels in a file with one
// column, written as opt says. A file of labels is one of the votes of one teacher, who
// is always right. Where more is set the examples are the first rows of a votes file, and the
// labels may go on.
func RightLabels(ctx context.Context, path string, opt votes.Options, examples []plan.Example, more bool) error {
	opt = votes.Options{Classes: opt.Classes, ClassNames: opt.ClassNames, FirstClass: opt.FirstClass}
	source, err := votes.Open(ctx, []string{oneTeacher(path)}, opt)
	var bad *fault.Error
	if errors.As(err, &bad) && strings.HasSuffix(bad.What, " columns") {
		return InputError(fmt.Errorf("%s: %s", path, bad.What), "a file of labels has one column, the right class of each query", "write the labels alone, pandas: y.to_csv(..., index=False)", "votes")
	}
	if err != nil {
		return FaultError(err, "votes")
	}
	if n := source.Total(); n < len(examples) || n > len(examples) && !more {
		return InputError(fmt.Errorf("%s has %d labels, and there are %d queries", path, n, len(examples)), "each query needs its right class, and that of another row says nothing of it", "give one label for each row of votes, in their order", "votes")
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
			return InputError(fmt.Errorf("%s: query %d has no label", path, ballot.Query), "each query needs its right class", "give all of them", "votes")
		}
	}
	return nil
}

// oneTeacher returns a pattern that only this file matches: a path by itself would be read
// as a matrix.
func oneTeacher(path string) string {
	if path == "" {
		return path
	}
	last := len(path) - 1
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
	return escape.Replace(path[:last]) + "[" + path[last:] + "]"
}
