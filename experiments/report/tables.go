package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/table"
)

// Table is the comparison for people: one line a method.
func Table(r *experiments.Result) table.Table {
	t := table.Table{
		Header: []string{"method", "ε", "test %", "sd", "labels", "right %", "noise", "s"},
		Left:   []bool{true},
	}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{
			row.Method, epsilonCell(row), percent(row.Accuracy), sdCell(row), labelsCell(row),
			labelAccuracyCell(row), noiseCell(row), strconv.FormatFloat(row.Seconds, 'f', 0, 64),
		})
	}
	return t
}

// Records is the comparison for programs: full precision, one column a field.
func Records(r *experiments.Result) table.Table {
	t := table.Table{Header: []string{"method", "epsilon", "delta", "accuracy", "sd", "answered", "asked", "label_accuracy",
		"sigma", "threshold", "sigma_threshold", "steps", "sampling_probability", "noise_multiplier", "seconds", "releasable"}}
	for _, row := range r.Rows {
		number := func(x float64) string {
			if x == 0 {
				return ""
			}
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
		optional := func(x *float64) string {
			if x == nil {
				return ""
			}
			return strconv.FormatFloat(*x, 'g', -1, 64)
		}
		t.Rows = append(t.Rows, []string{
			row.Method, optional(row.Epsilon), number(r.Delta), number(row.Accuracy), optional(row.SD),
			strconv.Itoa(row.Answered), strconv.Itoa(row.Asked), number(row.LabelAccuracy), number(row.Sigma),
			number(row.Threshold), number(row.SigmaThreshold), strconv.Itoa(row.Steps), number(row.Probability),
			number(row.NoiseMultiplier), number(row.Seconds), strconv.FormatBool(row.Releasable),
		})
	}
	return t
}

// percent is a share in percent, without the sign.
func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 2, 64) }

func epsilonCell(row experiments.Row) string {
	if row.Epsilon == nil {
		return "none"
	}
	return up(*row.Epsilon)
}

// full shows a number so that reading it back gives the same.
func full(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// up shows a claim with four decimals, rounded upwards.
func up(x float64) string { return strconv.FormatFloat(math.Ceil(x*1e4)/1e4, 'f', 4, 64) }

func sdCell(row experiments.Row) string {
	if row.SD == nil {
		return ""
	}
	return strconv.FormatFloat(100**row.SD, 'f', 2, 64)
}

func labelsCell(row experiments.Row) string {
	if row.Asked == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", row.Answered, row.Asked)
}

func labelAccuracyCell(row experiments.Row) string {
	if row.Answered == 0 {
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
