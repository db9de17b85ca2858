package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

// Table returns the comparison for people, with one line per method. Columns that are empty in every line are
// omitted.
func Table(r *experiments.Result) table.Table {
	some := func(has func(row experiments.Row) bool) bool { return slices.ContainsFunc(r.Rows, has) }
	constant := func(row experiments.Row) bool { return row.ConstantAccuracy != 0 }
	marked := func(row experiments.Row) bool { return oneClass(row) != "" && row.Method != experiments.Majority }
	sd := func(row experiments.Row) bool { return row.SD != nil }
	auroc := func(row experiments.Row) bool { return row.AUROC != nil }
	timed := func(row experiments.Row) bool { return row.Seconds != 0 }
	columns := []struct {
		name  string
		cell  func(experiments.Row) string
		there bool
	}{
		{"at ε", targetCell, len(r.EpsilonTargets) > 1}, // also for rows without an ε
		{"method", func(row experiments.Row) string { return row.Method }, true},
		{"ε", epsilonCell, true},
		{"test", func(row experiments.Row) string { return percent(row.Accuracy) }, true},
		{"const", func(row experiments.Row) string { return percent(row.ConstantAccuracy) }, some(constant)},
		{"bal.", func(row experiments.Row) string { return percent(row.BalancedAccuracy) }, some(constant)},
		{"sd", func(row experiments.Row) string { return optionalPercent(row.SD) }, some(sd)},
		{"AUROC", func(row experiments.Row) string { return optionalPercent(row.AUROC) }, some(auroc)},
		{"labels", labelsCell, true},
		{"right", labelAccuracyCell, true},
		{"noise", noiseCell, true},
		{"s", func(row experiments.Row) string { return nonzero(row.Seconds, whole) }, some(timed)},
		{"note", oneClass, some(marked)},
	}
	t := table.Table{Rows: make([][]string, len(r.Rows))}
	for _, c := range columns {
		if !c.there {
			continue
		}
		t.Header, t.Left = append(t.Header, c.name), append(t.Left, c.name == "method" || c.name == "note")
		for i, row := range r.Rows {
			t.Rows[i] = append(t.Rows[i], c.cell(row))
		}
	}
	return t
}

func oneClass(row experiments.Row) string {
	switch {
	case row.OneClass():
		return "names one class only"
	case row.OneClassRuns > 0:
		return fmt.Sprintf("names one class only in %d of %d runs", row.OneClassRuns, len(row.Runs))
	}
	return ""
}

func nonzero(x float64, text func(float64) string) string {
	if x == 0 {
		return ""
	}
	return text(x)
}

func optional(x float64) string { return nonzero(x, number.Exact) }

func whole(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

func targetCell(row experiments.Row) string { return optional(row.TargetEpsilon) }

// Records returns the comparison for programs: numbers in full precision, and one column per field.
func Records(r *experiments.Result) table.Table {
	t := table.Table{Header: strings.Fields("method epsilon delta accuracy constant_accuracy balanced_accuracy one_class_runs " +
		"standard_error sd answered asked label_accuracy " +
		"sigma threshold sigma_threshold steps sampling_probability noise_multiplier target_epsilon student auroc auroc_sd seconds releasable")}
	count := func(n, of int) string { // empty for a method without it
		if of == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	for _, row := range r.Rows {
		known := func(x *float64) string {
			if x == nil {
				return ""
			}
			return number.Exact(*x)
		}
		t.Rows = append(t.Rows, []string{
			row.Method, known(row.Epsilon), optional(r.Delta), optional(row.Accuracy), optional(row.ConstantAccuracy),
			optional(row.BalancedAccuracy), strconv.Itoa(row.OneClassRuns), optional(row.StandardError), known(row.SD),
			count(row.Answered, row.Asked), count(row.Asked, row.Asked), optional(row.LabelAccuracy), optional(row.Sigma),
			optional(row.Threshold), optional(row.SigmaThreshold), count(row.Steps, row.Steps), optional(row.Probability),
			optional(row.NoiseMultiplier), optional(row.TargetEpsilon), row.Student,
			known(row.AUROC), known(row.AUROCSD), optional(row.Seconds), strconv.FormatBool(row.Releasable),
		})
	}
	return t
}

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) }

func epsilonCell(row experiments.Row) string {
	if row.Epsilon == nil {
		return "none"
	}
	return claim(*row.Epsilon)
}

func claim(x float64) string { return number.DecimalsUp(x, 4) }

func optionalPercent(x *float64) string {
	if x == nil {
		return ""
	}
	return percent(*x)
}

func labelsCell(row experiments.Row) string {
	switch {
	case row.Asked == 0:
		return ""
	case row.Asked == row.Answered:
		return strconv.Itoa(row.Asked)
	}
	return fmt.Sprintf("%d/%d", row.Answered, row.Asked)
}

func labelAccuracyCell(row experiments.Row) string {
	if row.Answered == 0 || row.LabelAccuracy == 0 { // no labels, or labels of drawn questions, whose accuracy is unknown
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

type classTable struct {
	At      string
	Open    bool // shown expanded
	Methods []string
	Rows    []classRow
}

type classRow struct {
	Name  string
	Rows  int // test rows
	Cells []classCell
}

type classCell struct {
	Text  string
	Width float64 // width of its bar, percent
	Worst bool    // lowest recall of its method
}

func classTables(r *experiments.Result) []classTable {
	if len(r.ClassNames) == 0 || len(r.ClassRows) != len(r.ClassNames) {
		return nil
	}
	var out []classTable
	for i, e := range targets(r) {
		t := classTable{At: number.Exact(e), Open: i == len(targets(r))/2}
		var of []experiments.Row
		for _, row := range r.Rows {
			shown := row.Epsilon != nil && target(r, row) == e ||
				row.Method == experiments.NonPrivate || row.Method == experiments.BoostedTrees
			if shown && len(row.Recall) == len(r.ClassNames) {
				of, t.Methods = append(of, row), append(t.Methods, row.Method)
			}
		}
		if len(of) == 0 {
			return nil
		}
		for y, name := range r.ClassNames {
			line := classRow{Name: table.Printable(name), Rows: r.ClassRows[y]}
			for _, row := range of {
				c := classCell{Text: "–"}
				if line.Rows > 0 {
					v := row.Recall[y]
					c = classCell{Text: fmt.Sprintf("%.1f", 100*v), Width: 100 * v, Worst: worst(r, row) == v}
				}
				line.Cells = append(line.Cells, c)
			}
			t.Rows = append(t.Rows, line)
		}
		out = append(out, t)
	}
	return out
}

func worst(r *experiments.Result, row experiments.Row) float64 {
	least := 1.0
	for y, v := range row.Recall {
		if r.ClassRows[y] > 0 {
			least = min(least, v)
		}
	}
	return least
}

type waterfall struct {
	At     string // target
	Method string
	Labels int // released in one run
	Steps  []step
	Known  string
}

type step struct {
	Name        string
	Value       string
	Left, Width float64
	Kind        string // "level", "loss" or "gain"
}

func waterfalls(r *experiments.Result) []waterfall {
	var open, plurality float64
	if r.PoolOf != "" { // the correct labels are unknown
		return nil
	}
	for _, row := range r.Rows {
		switch row.Method {
		case experiments.NonPrivate, experiments.BoostedTrees:
			open = math.Max(open, row.Accuracy)
		case experiments.Plurality:
			plurality = row.Accuracy
		}
	}
	var out []waterfall
	for _, e := range targets(r) {
		var vote, known *experiments.Row
		for i, row := range r.Rows {
			switch {
			case row.Method == experiments.TrueLabels && (row.TargetEpsilon == e || len(r.EpsilonTargets) == 0):
				known = &r.Rows[i]
			case row.ByTeachers() && target(r, row) == e && (vote == nil || row.Accuracy > vote.Accuracy):
				vote = &r.Rows[i]
			}
		}
		if vote == nil || vote.Answered == 0 || open == 0 || plurality == 0 {
			continue
		}
		out = append(out, fall(number.Exact(e), *vote, known, open, plurality))
	}
	return out
}

func fall(at string, vote experiments.Row, known *experiments.Row, open, plurality float64) waterfall {
	w := waterfall{At: at, Method: vote.Method, Labels: vote.Answered}
	levels := []float64{open, plurality, vote.LabelAccuracy, vote.Accuracy}
	low, high := 1.0, 0.0
	for _, v := range levels {
		low, high = min(low, v), max(high, v)
	}
	low = max(0, low-0.25*(high-low)-0.01)
	scale := func(v float64) float64 { return 100 * (v - low) / (high - low) }
	level := func(name string, v float64) {
		w.Steps = append(w.Steps, step{Name: name, Value: fmt.Sprintf("%.1f", 100*v), Width: scale(v), Kind: "level"})
	}
	between := func(name string, from, to float64) {
		s := step{Name: name, Value: points(to - from), Left: scale(min(from, to)), Width: scale(max(from, to)) - scale(min(from, to)), Kind: "loss"}
		if to > from {
			s.Kind = "gain"
		}
		w.Steps = append(w.Steps, s)
	}
	level("best without privacy", open)
	between("teachers", open, plurality)
	between("noise", plurality, vote.LabelAccuracy)
	between("student", vote.LabelAccuracy, vote.Accuracy)
	level("student’s accuracy", vote.Accuracy)
	if known != nil {
		w.Known = fmt.Sprintf("%.1f", 100*known.Accuracy)
	}
	return w
}

func points(x float64) string {
	switch text := fmt.Sprintf("%.1f", 100*math.Abs(x)); {
	case text == "0.0":
		return text
	case x < 0:
		return "−" + text
	default:
		return "+" + text
	}
}
