package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/template"
)

func colours(r *experiments.Result) map[string]int {
	out := map[string]int{}
	for _, row := range r.Rows {
		if _, there := out[row.Method]; row.Epsilon != nil && !there {
			out[row.Method] = len(out)
		}
	}
	return out
}

func lines(r *experiments.Result, value func(row experiments.Row) *figure.Point) []figure.Line {
	var out []figure.Line
	colour := colours(r)
	for _, row := range r.Rows {
		p := value(row)
		if p == nil {
			continue
		}
		at := slices.IndexFunc(out, func(l figure.Line) bool { return l.Name == row.Method })
		if at < 0 {
			l := figure.Line{Name: row.Method, Colour: -1, Dashed: true, Level: row.TargetEpsilon == 0}
			if c, private := colour[row.Method]; private {
				l.Colour, l.Dashed, l.Dots = c, false, true
			}
			out, at = append(out, l), len(out)
		}
		out[at].Points = append(out[at].Points, *p)
	}
	return out
}

func span(lines []figure.Line) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.Points {
			if l.Colour >= 0 {
				low = min(low, p.Y)
				if p.High > p.Low {
					low = min(low, p.Low)
				}
			}
			high = max(high, p.High, p.Y)
		}
	}
	if low > high {
		low = 0
	}
	return low, high
}

func percents(lines []figure.Line) figure.Axis {
	low, high := span(lines)
	margin := max(0.5, 0.06*(high-low))
	return figure.Axis{Low: max(0, low-margin), High: min(100, high+margin)}
}

func targetAxis(r *experiments.Result) figure.Axis {
	all := r.EpsilonTargets
	return figure.Axis{Label: "ε", Low: slices.Min(all), High: slices.Max(all), Log: true, Ticks: all}
}

func accuracyFigure(r *experiments.Result, mark string) figure.Figure {
	f := figure.Figure{Title: "Test accuracy against epsilon", Mark: mark}
	if len(r.EpsilonTargets) > 1 {
		f.X = targetAxis(r)
		f.Lines = lines(r, func(row experiments.Row) *figure.Point {
			a, bar := 100*row.Accuracy, 100*standardError(row)
			return &figure.Point{X: row.TargetEpsilon, Y: a, Low: a - bar, High: a + bar}
		})
	} else {
		f.X.Label = "ε spent (δ = " + number.Exact(r.Delta) + ", upper bound)"
		f.Lines = lines(r, func(row experiments.Row) *figure.Point { return &figure.Point{Y: 100 * row.Accuracy} })
		for _, row := range r.Rows {
			l := &f.Lines[slices.IndexFunc(f.Lines, func(l figure.Line) bool { return l.Name == row.Method })]
			if l.Level = row.Epsilon == nil; l.Level {
				continue
			}
			l.Points[0].X = *row.Epsilon
			if len(row.Curve) > 0 {
				l.Points = nil
			}
			for _, p := range row.Curve {
				l.Points = append(l.Points, figure.Point{X: p.Epsilon, Y: 100 * p.Accuracy})
			}
			for _, p := range l.Points {
				f.X.High = max(f.X.High, p.X)
			}
		}
	}
	f.Y = percents(f.Lines)
	f.Y.Label = "test accuracy, %"
	f.Lines = slices.DeleteFunc(f.Lines, func(l figure.Line) bool { return l.Points[len(l.Points)-1].Y < f.Y.Low })
	return f
}

func standardError(row experiments.Row) float64 {
	if row.SD == nil || len(row.Runs) < 2 {
		return row.StandardError
	}
	return math.Hypot(row.StandardError, *row.SD/math.Sqrt(float64(len(row.Runs))))
}

func labelCharts(r *experiments.Result) []template.Markup {
	halves := []figure.Size{
		{Class: "wide", Width: 425, Height: 280, Left: 46, Right: 158, Font: 12},
		{Class: "narrow", Width: 350, Height: 270, Left: 34, Right: 156, Font: 11},
	}
	answered := figure.Figure{Title: "Labels released against epsilon", X: targetAxis(r), Lines: lines(r, func(row experiments.Row) *figure.Point {
		if row.Asked == 0 {
			return nil
		}
		return &figure.Point{X: row.TargetEpsilon, Y: math.Max(1, float64(row.Answered))}
	})}
	right := figure.Figure{Title: "Right among labels released against " +
		"epsilon", X: targetAxis(r), Lines: lines(r, func(row experiments.Row) *figure.Point {
		if row.Answered == 0 || r.PoolOf != "" {
			return nil
		}
		a, bar := 100*row.LabelAccuracy, 100*labelError(r, row)
		return &figure.Point{X: row.TargetEpsilon, Y: a, Low: math.Max(0, a-bar), High: math.Min(100, a+bar)}
	})}
	if len(answered.Lines) == 0 || len(right.Lines) == 0 {
		return nil
	}
	low, high := span(answered.Lines)
	answered.Y = figure.Axis{Low: max(0.9, low/1.25), High: max(2, high*1.25), Log: true}
	right.Y = percents(right.Lines)
	return []template.Markup{answered.HTML(halves...), right.HTML(halves...)}
}

func labelError(r *experiments.Result, row experiments.Row) float64 {
	n := float64(row.Answered * max(1, r.Seeds))
	return math.Sqrt(row.LabelAccuracy * (1 - row.LabelAccuracy) / n)
}

func gapFigure(r *experiments.Result, mark string) figure.Figure {
	f := figure.Figure{Title: "Queries against the votes between the first and the second class", Mark: mark,
		X: figure.Axis{Label: fmt.Sprintf("votes between the first and the second class, of %d", r.Teachers)}, Y: figure.Axis{Label: "queries"}}
	bars := figure.Line{Points: []figure.Point{{}}}
	for i, n := range r.Diagnostics.Gaps {
		width := float64(r.Diagnostics.GapWidth)
		bars.Points = append(bars.Points, figure.Point{X: float64(i) * width, Y: float64(n)},
			figure.Point{X: float64(i+1) * width, Y: float64(n)})
	}
	f.Lines = []figure.Line{bars}
	return f
}

type dot struct {
	Method, Text    string
	Colour          int // colour on the page; -1 without protection
	At, From, Width float64
}

func dots(r *experiments.Result) []dot {
	low, high := 1.0, 0.0
	for _, row := range r.Rows {
		if row.Epsilon != nil || row.Method != experiments.Majority {
			e := standardError(row)
			low, high = math.Min(low, row.Accuracy-e), math.Max(high, row.Accuracy+e)
		}
	}
	margin := math.Max(0.005, 0.05*(high-low))
	low, high = math.Max(0, low-margin), math.Min(1, high+margin)
	colour := colours(r)
	var out []dot
	for _, row := range r.Rows {
		if row.Accuracy < low {
			continue
		}
		scale := func(v float64) float64 { return 100 * (math.Min(math.Max(v, low), high) - low) / (high - low) }
		e := standardError(row)
		d := dot{Method: row.Method, Text: percent(row.Accuracy), Colour: -1, At: scale(row.Accuracy), From: scale(row.Accuracy - e)}
		d.Width = scale(row.Accuracy+e) - d.From
		if c, private := colour[row.Method]; private {
			d.Colour = c % figure.Colours
		}
		out = append(out, d)
	}
	return out
}
