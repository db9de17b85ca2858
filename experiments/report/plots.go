package report

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/number"
)

// drawn is a plot in each format.
type drawn struct {
	name    string // file name without extension
	caption string
	svg     []byte
	png     []byte
}

// drawFigure draws a plot in both formats. The mark, if there is one, stands above it: a
// picture is passed on by itself.
func drawFigure(name, caption, mark string, p *plot.Plot) (drawn, error) {
	p.Title.Text, p.Title.TextStyle.Font.Variant, p.Title.TextStyle.Font.Size = mark, "Sans", 10
	f := drawn{name: name, caption: caption}
	var err error
	if f.svg, err = figure.SVG(p); err != nil {
		return f, fmt.Errorf("report: %s: %w", name, err)
	}
	if f.png, err = figure.PNG(p); err != nil {
		return f, fmt.Errorf("report: %s: %w", name, err)
	}
	return f, nil
}

// accuracyFigure draws accuracy as each method spends its budget, and the
// methods that protect nothing as level lines.
func accuracyFigure(r *experiments.Result, mark string) (drawn, error) {
	p := figure.New("ε spent (δ = "+number.Exact(r.Delta)+", upper bound)", "test accuracy, %")
	p.Legend.Top = false
	p.Legend.XOffs, p.Legend.YOffs = -4, 6
	low, high := math.Inf(1), 0.0
	see := func(y float64) { low, high = math.Min(low, y), math.Max(high, y) }
	right, n := r.EpsilonTarget, 0
	for _, row := range r.Rows {
		if row.Epsilon == nil {
			continue
		}
		right = math.Max(right, *row.Epsilon)
		points := make(plotter.XYs, 0, len(row.Curve)+1)
		for _, q := range row.Curve {
			points = append(points, plotter.XY{X: q.Epsilon, Y: 100 * q.Accuracy})
			right = math.Max(right, q.Epsilon)
		}
		if len(points) == 0 {
			points = append(points, plotter.XY{X: *row.Epsilon, Y: 100 * row.Accuracy})
		}
		line, scatter, err := plotter.NewLinePoints(points)
		if err != nil {
			return drawn{}, fmt.Errorf("report: %s: %w", row.Method, err)
		}
		line.Color, line.Width = figure.Colour(n), 1.6
		scatter.Color, scatter.Radius = figure.Colour(n), 2.6
		scatter.Shape = draw.CircleGlyph{}
		p.Add(line, scatter)
		p.Legend.Add(row.Method, line, scatter)
		// The start of a curve may lie far down; let the later half fix the axis.
		for _, q := range points[len(points)/2:] {
			see(q.Y)
		}
		n++
	}
	dashes := [][]vg.Length{{6, 3}, {2, 3}, {8, 3, 2, 3}, {1, 2}}
	n = 0
	for _, row := range r.Rows {
		if row.Epsilon != nil || row.Method == experiments.Majority && 100*row.Accuracy < low {
			continue // far below, it would press all others into one line
		}
		see(100 * row.Accuracy)
		line, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 100 * row.Accuracy}, {X: right * 1.05, Y: 100 * row.Accuracy}})
		if err != nil {
			return drawn{}, fmt.Errorf("report: %s: %w", row.Method, err)
		}
		line.Color, line.Width, line.Dashes = figure.Grey(), 1.2, dashes[n%len(dashes)]
		p.Add(line)
		p.Legend.Add(row.Method+" (protects nothing)", line)
		n++
	}
	if math.IsInf(low, 1) {
		low, high = 0, 100
	}
	margin := math.Max(0.5, 0.12*(high-low))
	p.X.Min, p.X.Max = 0, right*1.05
	p.Y.Min, p.Y.Max = math.Max(0, low-4*margin), math.Min(100, high+margin)
	return drawFigure("accuracy", "Accuracy as the budget is spent (first seed). Grey lines protect nothing: they show where accuracy is lost.", mark, p)
}

// gapFigure draws how clearly the teachers agreed. It is a function of the
// private data that nobody paid for.
func gapFigure(d *experiments.Diagnostics, teachers int, mark string) (drawn, error) {
	p := figure.New("votes between the first and the second class, of "+fmt.Sprint(teachers), "queries")
	bars := make(plotter.XYs, len(d.Gaps))
	for i, n := range d.Gaps {
		bars[i] = plotter.XY{X: float64(i*d.GapWidth) + float64(d.GapWidth)/2, Y: float64(n)}
	}
	h := &plotter.Histogram{FillColor: figure.Colour(0), LineStyle: draw.LineStyle{Color: color.White, Width: 0.5}}
	for i, b := range bars {
		h.Bins = append(h.Bins, plotter.HistogramBin{Min: float64(i * d.GapWidth), Max: float64((i + 1) * d.GapWidth), Weight: b.Y})
	}
	h.Width = float64(d.GapWidth)
	p.Add(h)
	p.X.Min, p.X.Max = 0, float64(len(d.Gaps)*d.GapWidth)
	p.Y.Min = 0
	return drawFigure("vote-gaps", "How clearly the teachers agree on the queries. Not for release: this picture looks at the votes and nobody paid for it.", mark, p)
}

// chargedFigure draws how each private method's privacy cost divides among the
// kinds of releases it made.
func chargedFigure(r *experiments.Result, mark string) (drawn, error) {
	p := figure.New("share of the privacy cost (RDP at the order that gives ε), %", "")
	var charged []experiments.Row
	for _, row := range r.Rows {
		if len(row.Charged) > 0 {
			charged = append(charged, row)
		}
	}
	kinds := map[string]int{}
	ticks := make([]plot.Tick, len(charged))
	for i, row := range charged {
		y := float64(len(charged) - 1 - i)
		ticks[i] = plot.Tick{Value: y, Label: row.Method}
		left := 0.0
		for _, c := range row.Charged {
			k, seen := kinds[c.Event]
			if !seen {
				k = len(kinds)
				kinds[c.Event] = k
			}
			share := 100 * c.Share
			box, err := plotter.NewPolygon(plotter.XYs{{X: left, Y: y - 0.3}, {X: left + share, Y: y - 0.3}, {X: left + share, Y: y + 0.3}, {X: left, Y: y + 0.3}})
			if err != nil {
				return drawn{}, fmt.Errorf("report: %s: %w", row.Method, err)
			}
			box.Color, box.LineStyle.Width = figure.Colour(k), 0
			p.Add(box)
			if !seen {
				p.Legend.Add(c.Event, box)
			}
			left += share
		}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.X.Min, p.X.Max = 0, 100
	p.Y.Min, p.Y.Max = -0.6, float64(len(charged))+0.5
	p.Legend.Top = true
	return drawFigure("charged", "What was charged: how each method's cost divides among the releases it made.", mark, p)
}

func trim(x float64) string { return fmt.Sprintf("%.4g", x) }
