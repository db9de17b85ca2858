package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/number"
)

// sweepFigure draws accuracy against epsilon: a line for each method, named at its end.
func sweepFigure(r *experiments.Result, mark string) (drawn, error) {
	lines := accuracyLines(r)
	slices.SortStableFunc(lines, func(a, b chartLine) int { return cmp.Compare(min(b.Colour, 0), min(a.Colour, 0)) }) // private ones first
	first, last := slices.Min(r.EpsilonTargets), slices.Max(r.EpsilonTargets)
	p := figure.New("ε (δ = "+number.Exact(r.Delta)+", upper bound, logarithmic)", "test accuracy, %")
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, q := range l.Points {
			if l.Colour >= 0 { // what protects nothing may lie far away
				low = math.Min(low, q.Low)
			}
			high = math.Max(high, q.High)
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 100
	}
	margin := math.Max(0.3, 0.06*(high-low))
	low, high = math.Max(0, low-margin), math.Min(100, high+margin)
	lines = slices.DeleteFunc(lines, func(l chartLine) bool { return l.end() < low })
	ends := make([]float64, len(lines))
	for i, l := range lines {
		ends[i] = l.end()
	}
	step := (high - low) / 18
	heights := apart(ends, ends, step, low, high-step/2)
	names := math.Pow(last/first, 0.07) // from the end of a line to its name
	for i, l := range lines {
		if err := l.plot(p, first, last, names, heights[i]); err != nil {
			return drawn{}, fmt.Errorf("report: %s: %w", l.Name, err)
		}
	}
	ticks := make([]plot.Tick, len(r.EpsilonTargets))
	for i, e := range r.EpsilonTargets {
		ticks[i] = plot.Tick{Value: e, Label: number.Exact(e)}
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
	p.X.Min, p.X.Max = first/math.Pow(last/first, 0.03), last*math.Pow(last/first, 0.48)
	p.Y.Min, p.Y.Max = low, high
	return drawFigure("accuracy", "Accuracy against ε: each point is a run and a budget of its own. Bars: one standard error, of the test rows and, with several runs, of the runs. Grey lines protect nothing and show where accuracy is lost; those below the picture are left out.", mark, p)
}

// standardError is that of the test rows and, with several runs, that of the runs.
func standardError(row experiments.Row) float64 {
	if row.SD == nil || len(row.Runs) < 2 {
		return row.StandardError
	}
	return math.Hypot(row.StandardError, *row.SD/math.Sqrt(float64(len(row.Runs))))
}

// plot adds the line, its bars, and its name at the right, at a height, with a hair line to it.
func (l chartLine) plot(p *plot.Plot, first, last, gap, height float64) error {
	grey := l.Colour < 0
	var colour color.Color = figure.Grey()
	if !grey {
		colour = figure.Colour(l.Colour)
	}
	points := make(plotter.XYs, 0, len(l.Points))
	var bars struct {
		plotter.XYs
		plotter.YErrors
	}
	for _, q := range l.Points {
		points = append(points, plotter.XY{X: q.X, Y: q.Y})
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{q.Y - q.Low, q.High - q.Y})
	}
	bars.XYs = points
	if l.Level {
		points = plotter.XYs{{X: first, Y: points[0].Y}, {X: last, Y: points[0].Y}}
	}
	line, scatter, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = colour, 1.6
	scatter.Color, scatter.Radius, scatter.Shape = colour, 2.6, draw.CircleGlyph{}
	if grey {
		line.Width, line.Dashes = 1.1, []vg.Length{5, 3}
	}
	p.Add(line)
	if !grey {
		errors, err := plotter.NewYErrorBars(bars)
		if err != nil {
			return err
		}
		errors.LineStyle.Color, errors.LineStyle.Width, errors.CapWidth = colour, 0.9, 5
		p.Add(scatter, errors)
	}
	end := points[len(points)-1]
	hair, err := plotter.NewLine(plotter.XYs{{X: end.X * math.Pow(gap, 0.3), Y: end.Y}, {X: end.X * gap * 0.98, Y: height}})
	if err != nil {
		return err
	}
	hair.Color, hair.Width = colour, 0.5
	name, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: end.X * gap, Y: height}}, Labels: []string{l.Name}})
	if err != nil {
		return err
	}
	name.TextStyle[0] = p.X.Tick.Label
	name.TextStyle[0].Color, name.TextStyle[0].XAlign, name.TextStyle[0].YAlign = colour, draw.XLeft, draw.YCenter
	p.Add(hair, name)
	return nil
}
