package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/figure"
)

const plotPoints = 60

func isPlotFile(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".svg" || ext == ".png"
}

// line is epsilon against steps by one accountant.
type line struct {
	name     string
	estimate bool
	colour   color.RGBA
	points   plotter.XYs
}

// plotAccount draws epsilon while the repeated events of a schedule go on in
// step, each from its first run to its last.
func plotAccount(ctx context.Context, path string, names []string, cfg accountant.Config, schedule accountant.Schedule, delta float64) error {
	total := int64(0)
	for _, e := range schedule.Events {
		if r, ok := e.(accountant.Repeated); ok && r.Count <= math.MaxInt64-total {
			total += r.Count
		}
	}
	if total < 2 {
		return shell.InputError(errors.New("--plot: nothing in the list is repeated"),
			"epsilon is drawn against the runs of repeated events", "wrap an event in {\"type\":\"repeated\",\"count\":…,\"event\":…}", "account")
	}
	var lines []line
	for i, name := range names { // a colour belongs to a name, not to a rank
		l := line{name: name, colour: figure.Colour(i)}
		for i := 1; i <= plotPoints; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			share := float64(i) / plotPoints
			steps, part := partOf(schedule, share)
			if n := len(l.points); n > 0 && l.points[n-1].X == float64(steps) {
				continue
			}
			r, err := accountBy(&shell.Globals{Quiet: true}, name, cfg, part, accountReport{Delta: &delta}, false)
			if err != nil {
				return err
			}
			value := r.Epsilon
			if r.Estimate != nil {
				value, l.estimate = r.Estimate, true
			}
			if value != nil && !math.IsInf(float64(*value), 1) {
				l.points = append(l.points, plotter.XY{X: float64(steps), Y: float64(*value)})
			}
		}
		if len(l.points) > 0 {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return shell.InputError(errors.New("--plot: no accountant has a finite epsilon to draw"), "", "choose another --accountant or --delta", "account")
	}
	data, err := drawLines(lines, delta, strings.ToLower(filepath.Ext(path)))
	if err != nil {
		return err
	}
	return durable.WriteBytes(path, 0o644, data)
}

// partOf returns the schedule with the given share of all repetitions, and how
// many runs of repeated events that is.
func partOf(schedule accountant.Schedule, share float64) (int64, accountant.Schedule) {
	out := accountant.Schedule{Relation: schedule.Relation}
	steps := int64(0)
	for _, e := range schedule.Events {
		if r, ok := e.(accountant.Repeated); ok {
			r.Count = min(r.Count, int64(math.Ceil(share*float64(r.Count))))
			steps += r.Count
			e = r
		}
		out.Events = append(out.Events, e)
	}
	return steps, out
}

func drawLines(lines []line, delta float64, ext string) ([]byte, error) {
	p := figure.New("steps", "ε (δ = "+strconv.FormatFloat(delta, 'g', -1, 64)+")")
	p.Legend.Top = true
	low, high, least, right := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range lines {
		last := l.points[len(l.points)-1]
		low, high, right = math.Min(low, last.Y), math.Max(high, last.Y), math.Max(right, last.X)
		for _, q := range l.points {
			if q.Y > 0 {
				least = math.Min(least, q.Y)
			}
		}
	}
	// The legend stands right of the last step, its lines in the order of theirs.
	p.X.Min, p.X.Max = 0, right*1.36
	p.X.Tick.Marker = plot.ConstantTicks(plot.DefaultTicks{}.Ticks(0, right))
	slices.SortStableFunc(lines, func(a, b line) int {
		return cmp.Compare(b.points[len(b.points)-1].Y, a.points[len(a.points)-1].Y)
	})
	p.Y.Min, p.Y.Max = 0, high*1.05
	logarithmic := high > 20*low && low > 0
	if logarithmic {
		p.Y.Min, p.Y.Max = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(high)))
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	for _, l := range lines {
		points := l.points[:0:0]
		for _, q := range l.points {
			if q.Y > 0 || !logarithmic {
				points = append(points, q)
			}
		}
		drawn, err := plotter.NewLine(points)
		if err != nil {
			return nil, fmt.Errorf("--plot: %s: %w", l.name, err)
		}
		drawn.Color, drawn.Width = l.colour, 1.7
		name := l.name
		if l.estimate {
			drawn.Dashes = []vg.Length{5, 3}
			name += " (no bound)"
		}
		p.Add(drawn)
		p.Legend.Add(name, drawn)
	}
	if ext == ".svg" {
		return figure.SVG(p)
	}
	return figure.PNG(p)
}
