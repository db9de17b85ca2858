package report

import (
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

// sweepPoint is the accuracy at one target with its bar, in percent.
type sweepPoint struct{ epsilon, accuracy, bar float64 }

// sweepLine is one method over all targets. A level line has one accuracy for all.
type sweepLine struct {
	method string
	points []sweepPoint
	level  bool
	colour color.Color
	label  float64 // height of its label
}

// sweepFigure draws accuracy against epsilon: a line for each method, named at its end.
func sweepFigure(r *experiments.Result, mark string) (drawn, error) {
	lines := sweepLines(r)
	first, last := slices.Min(r.EpsilonTargets), slices.Max(r.EpsilonTargets)
	p := figure.New("ε (δ = "+number.Exact(r.Delta)+", upper bound, logarithmic)", "test accuracy, %")
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, q := range l.points {
			if l.colour != figure.Grey() { // what protects nothing may lie far away
				low = math.Min(low, q.accuracy-q.bar)
			}
			high = math.Max(high, q.accuracy+q.bar)
		}
	}
	if math.IsInf(low, 1) {
		low, high = 0, 100
	}
	margin := math.Max(0.3, 0.06*(high-low))
	low, high = math.Max(0, low-margin), math.Min(100, high+margin)
	lines = slices.DeleteFunc(lines, func(l sweepLine) bool { return l.points[len(l.points)-1].accuracy < low })
	spread(lines, low, high)
	names := math.Pow(last/first, 0.07) // from the end of a line to its name
	for _, l := range lines {
		if err := l.draw(p, first, last, names); err != nil {
			return drawn{}, fmt.Errorf("report: %s: %w", l.method, err)
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

// sweepLines gathers the rows of each method, the private ones first.
func sweepLines(r *experiments.Result) []sweepLine {
	var private, open []sweepLine
	for _, row := range r.Rows {
		q := sweepPoint{epsilon: row.TargetEpsilon, accuracy: 100 * row.Accuracy, bar: 100 * standardError(row)}
		to := &open
		if row.Epsilon != nil {
			to = &private
		}
		at := slices.IndexFunc(*to, func(l sweepLine) bool { return l.method == row.Method })
		if at < 0 {
			l := sweepLine{method: row.Method, level: row.TargetEpsilon == 0, colour: figure.Grey()}
			if row.Epsilon != nil {
				l.colour = figure.Colour(len(private))
			}
			*to = append(*to, l)
			at = len(*to) - 1
		}
		(*to)[at].points = append((*to)[at].points, q)
	}
	return append(private, open...)
}

// standardError is that of the test rows and, with several runs, that of the runs.
func standardError(row experiments.Row) float64 {
	if row.SD == nil || len(row.Runs) < 2 {
		return row.StandardError
	}
	return math.Hypot(row.StandardError, *row.SD/math.Sqrt(float64(len(row.Runs))))
}

// spread sets the heights of the labels: each beside the end of its line, and none upon
// another.
func spread(lines []sweepLine, low, high float64) {
	order := make([]*sweepLine, len(lines))
	for i := range lines {
		lines[i].label = lines[i].points[len(lines[i].points)-1].accuracy
		order[i] = &lines[i]
	}
	slices.SortStableFunc(order, func(a, b *sweepLine) int {
		switch {
		case a.label < b.label:
			return -1
		case a.label > b.label:
			return 1
		}
		return 0
	})
	step, room := (high-low)/18, low
	for _, l := range order { // upwards, out of each other's way
		l.label = math.Max(l.label, room)
		room = l.label + step
	}
	room = high - step/2
	for _, l := range slices.Backward(order) { // and back below the upper edge
		l.label = math.Min(l.label, room)
		room = l.label - step
	}
}

// draw adds the line, its bars, and its name at the right with a hair line to it.
func (l sweepLine) draw(p *plot.Plot, first, last, gap float64) error {
	points := make(plotter.XYs, 0, len(l.points))
	var bars struct {
		plotter.XYs
		plotter.YErrors
	}
	for _, q := range l.points {
		points = append(points, plotter.XY{X: q.epsilon, Y: q.accuracy})
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{q.bar, q.bar})
	}
	bars.XYs = points
	if l.level {
		points = plotter.XYs{{X: first, Y: points[0].Y}, {X: last, Y: points[0].Y}}
	}
	line, scatter, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	line.Color, line.Width = l.colour, 1.6
	scatter.Color, scatter.Radius, scatter.Shape = l.colour, 2.6, draw.CircleGlyph{}
	grey := l.colour == figure.Grey()
	if grey {
		line.Width, line.Dashes = 1.1, []vg.Length{5, 3}
	}
	p.Add(line)
	if !grey {
		errors, err := plotter.NewYErrorBars(bars)
		if err != nil {
			return err
		}
		errors.LineStyle.Color, errors.LineStyle.Width, errors.CapWidth = l.colour, 0.9, 5
		p.Add(scatter, errors)
	}
	end := points[len(points)-1]
	hair, err := plotter.NewLine(plotter.XYs{{X: end.X * math.Pow(gap, 0.3), Y: end.Y}, {X: end.X * gap * 0.98, Y: l.label}})
	if err != nil {
		return err
	}
	hair.Color, hair.Width = l.colour, 0.5
	name, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: end.X * gap, Y: l.label}}, Labels: []string{l.method}})
	if err != nil {
		return err
	}
	name.TextStyle[0] = p.X.Tick.Label
	name.TextStyle[0].Color, name.TextStyle[0].XAlign, name.TextStyle[0].YAlign = l.colour, draw.XLeft, draw.YCenter
	p.Add(hair, name)
	return nil
}
