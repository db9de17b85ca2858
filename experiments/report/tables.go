package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

// Table returns the comparison for people: one line a method. Columns that are empty in every line, such as
// the deviation of one run, the area of many classes or times in a file, are left out.
func Table(r *experiments.Result) table.Table {
	some := func(has func(row experiments.Row) bool) bool { return slices.ContainsFunc(r.Rows, has) }
	sd := func(row experiments.Row) bool { return row.SD != nil }
	auroc := func(row experiments.Row) bool { return row.AUROC != nil }
	timed := func(row experiments.Row) bool { return row.Seconds != 0 }
	columns := []struct {
		name  string
		cell  func(experiments.Row) string
		there bool
	}{
		{"at ε", targetCell, len(r.EpsilonTargets) > 1}, // also of rows without an ε
		{"method", func(row experiments.Row) string { return row.Method }, true},
		{"ε", epsilonCell, true},
		{"test %", func(row experiments.Row) string { return percent(row.Accuracy) }, true},
		{"±", errorCell, true},
		{"sd", func(row experiments.Row) string { return optionalPercent(row.SD) }, some(sd)},
		{"AUROC", func(row experiments.Row) string { return optionalPercent(row.AUROC) }, some(auroc)},
		{"labels", labelsCell, true},
		{"right %", labelAccuracyCell, true},
		{"noise", noiseCell, true},
		{"s", secondsCell, some(timed)},
	}
	t := table.Table{Rows: make([][]string, len(r.Rows))}
	for _, c := range columns {
		if !c.there {
			continue
		}
		t.Header, t.Left = append(t.Header, c.name), append(t.Left, c.name == "method")
		for i, row := range r.Rows {
			t.Rows[i] = append(t.Rows[i], c.cell(row))
		}
	}
	return t
}

// optional returns a number, and nothing for 0.
func optional(x float64) string {
	if x == 0 {
		return ""
	}
	return number.Exact(x)
}

// targetCell is empty for rows that depend on no target.
func targetCell(row experiments.Row) string { return optional(row.TargetEpsilon) }

// Records returns the comparison for programs: full precision, one column a field.
func Records(r *experiments.Result) table.Table {
	t := table.Table{Header: strings.Fields("method epsilon delta accuracy standard_error sd answered asked label_accuracy " +
		"sigma threshold sigma_threshold steps sampling_probability noise_multiplier target_epsilon student auroc auroc_sd seconds releasable")}
	for _, row := range r.Rows {
		known := func(x *float64) string {
			if x == nil {
				return ""
			}
			return number.Exact(*x)
		}
		t.Rows = append(t.Rows, []string{
			row.Method, known(row.Epsilon), optional(r.Delta), optional(row.Accuracy), optional(row.StandardError), known(row.SD),
			strconv.Itoa(row.Answered), strconv.Itoa(row.Asked), optional(row.LabelAccuracy), optional(row.Sigma),
			optional(row.Threshold), optional(row.SigmaThreshold), strconv.Itoa(row.Steps), optional(row.Probability),
			optional(row.NoiseMultiplier), optional(row.TargetEpsilon), row.Student,
			known(row.AUROC), known(row.AUROCSD), optional(row.Seconds), strconv.FormatBool(row.Releasable),
		})
	}
	return t
}

// percent returns a share in percent, without the sign.
func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) }

func epsilonCell(row experiments.Row) string {
	if row.Epsilon == nil {
		return "none"
	}
	return claim(*row.Epsilon)
}

// claim prints an epsilon with four decimals, rounded up.
func claim(x float64) string { return number.DecimalsUp(x, 4) }

// secondsCell returns the running time; it is empty in files, which keep no running times.
func secondsCell(row experiments.Row) string {
	if row.Seconds == 0 {
		return ""
	}
	return strconv.FormatFloat(row.Seconds, 'f', 0, 64)
}

// errorCell is empty for results of earlier versions.
func errorCell(row experiments.Row) string {
	if row.StandardError == 0 {
		return ""
	}
	return percent(row.StandardError)
}

func optionalPercent(x *float64) string {
	if x == nil {
		return ""
	}
	return percent(*x)
}

func labelsCell(row experiments.Row) string {
	if row.Asked == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", row.Answered, row.Asked)
}

func labelAccuracyCell(row experiments.Row) string {
	if row.Answered == 0 || row.LabelAccuracy == 0 { // none, or of questions that were drawn
		return ""
	}
	return percent(row.LabelAccuracy)
}

func noiseCell(row experiments.Row) string {
	switch {
	case row.SigmaThreshold > 0:
		return fmt.Sprintf("σ %.3g, %.3g", row.SigmaThreshold, row.Sigma)
	case row.Sigma > 0:
		return fmt.Sprintf("σ %.3g", row.Sigma)
	case row.NoiseMultiplier > 0:
		return fmt.Sprintf("×%.3g", row.NoiseMultiplier)
	default:
		return ""
	}
}
