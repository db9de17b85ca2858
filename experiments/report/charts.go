package report

import (
	"html/template"
	"math"
	"slices"

	"github.com/pate-go/pate/experiments"
)

// colours gives every private method one colour for all pictures of a page.
func colours(r *experiments.Result) map[string]int {
	out := map[string]int{}
	for _, row := range r.Rows {
		if _, there := out[row.Method]; row.Epsilon != nil && !there {
			out[row.Method] = len(out)
		}
	}
	return out
}

// lines gathers what value says of the rows of each method; nil points are left out.
func lines(r *experiments.Result, value func(row experiments.Row) *chartPoint) []chartLine {
	var out []chartLine
	colour := colours(r)
	for _, row := range r.Rows {
		p := value(row)
		if p == nil {
			continue
		}
		at := slices.IndexFunc(out, func(l chartLine) bool { return l.Name == row.Method })
		if at < 0 {
			l := chartLine{Name: row.Method, Colour: -1, Level: row.TargetEpsilon == 0}
			if c, private := colour[row.Method]; private {
				l.Colour = c
			}
			out, at = append(out, l), len(out)
		}
		out[at].Points = append(out[at].Points, *p)
	}
	return out
}

// accuracyLines gathers the test accuracy of each method in percent, with its standard error.
func accuracyLines(r *experiments.Result) []chartLine {
	return lines(r, func(row experiments.Row) *chartPoint {
		a, bar := 100*row.Accuracy, 100*standardError(row)
		return &chartPoint{X: row.TargetEpsilon, Y: a, Low: a - bar, High: a + bar}
	})
}

// accuracyChart draws accuracy against epsilon. What protects nothing and lies below all that
// protects is left out.
func accuracyChart(r *experiments.Result) template.HTML {
	c := chart{Title: "Test accuracy against epsilon", Unit: "%", At: r.EpsilonTargets, Lines: accuracyLines(r)}
	low, _ := c.span()
	c.Lines = slices.DeleteFunc(c.Lines, func(l chartLine) bool { return l.end() < low })
	return c.svg(sizes)
}

// labelCharts draws how many labels each vote released and how many of them are right; empty
// where there are none.
func labelCharts(r *experiments.Result) []template.HTML {
	answered := chart{Title: "Labels released against epsilon", At: r.EpsilonTargets, Log: true, Lines: lines(r, func(row experiments.Row) *chartPoint {
		if row.Asked == 0 {
			return nil
		}
		n := math.Max(1, float64(row.Answered))
		return &chartPoint{X: row.TargetEpsilon, Y: n, Low: n, High: n}
	})}
	right := chart{Title: "Right among labels released against epsilon", Unit: "%", At: r.EpsilonTargets, Lines: lines(r, func(row experiments.Row) *chartPoint {
		if row.Answered == 0 || r.PoolOf != "" {
			return nil
		}
		a, bar := 100*row.LabelAccuracy, 100*labelError(r, row)
		return &chartPoint{X: row.TargetEpsilon, Y: a, Low: math.Max(0, a-bar), High: math.Min(100, a+bar)}
	})}
	if len(answered.Lines) == 0 || len(right.Lines) == 0 {
		return nil
	}
	return []template.HTML{answered.svg(halves), right.svg(halves)}
}

// labelError is the standard error of the share of right labels, all runs together.
func labelError(r *experiments.Result, row experiments.Row) float64 {
	n := float64(row.Answered * max(1, r.Seeds))
	return math.Sqrt(row.LabelAccuracy * (1 - row.LabelAccuracy) / n)
}
