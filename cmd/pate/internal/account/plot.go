package account

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/figure"
)

const plotPoints = 60

func isPlotFile(path string) bool { return strings.EqualFold(filepath.Ext(path), ".svg") }

// plotAccount draws epsilon while the repeated events of a schedule go on in
// step, each from its first run to its last.
func plotAccount(ctx context.Context, path string, names []string, cfg accountant.RDPConfig, schedule accountant.Schedule, delta float64) error {
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
	var lines []figure.Line
	for i, name := range names { // a colour belongs to a name, not to a rank
		l := figure.Line{Name: name, Colour: i}
		for i := 1; i <= plotPoints; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			share := float64(i) / plotPoints
			steps, part := partOf(schedule, share)
			if n := len(l.Points); n > 0 && l.Points[n-1].X == float64(steps) {
				continue
			}
			r, err := accountBy(ctx, &shell.Globals{Quiet: true}, name, cfg, part, accountReport{Delta: &delta}, false)
			if err != nil {
				return err
			}
			value := r.Epsilon
			if r.Estimate != nil {
				value, l.Name, l.Dashed = r.Estimate, name+" (no bound)", true
			}
			if value != nil && !math.IsInf(float64(*value), 1) {
				l.Points = append(l.Points, figure.Point{X: float64(steps), Y: float64(*value)})
			}
		}
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return shell.InputError(errors.New("--plot: no accountant has a finite epsilon to draw"), "",
			"choose another --accountant or --delta", "account")
	}
	return durable.WriteBytes(path, 0o644, drawLines(lines, delta))
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

// drawLines returns the plot, whose vertical axis is logarithmic where the lines end far apart.
func drawLines(lines []figure.Line, delta float64) []byte {
	f := figure.Figure{Title: "ε against steps", X: figure.Axis{Label: "steps"},
		Y: figure.Axis{Label: "ε (δ = " + strconv.FormatFloat(delta, 'g', -1, 64) + ")"}, Lines: lines}
	low, high, least := math.Inf(1), 0.0, math.Inf(1)
	for _, l := range lines {
		last := l.Points[len(l.Points)-1]
		low, high, f.X.High = min(low, last.Y), max(high, last.Y), max(f.X.High, last.X)
		for _, q := range l.Points {
			if q.Y > 0 {
				least = min(least, q.Y)
			}
		}
	}
	f.Y.High = high * 1.05
	if high > 20*low && low > 0 {
		f.Y.Low, f.Y.Log = least, true
		for i, l := range lines {
			lines[i].Points = slices.DeleteFunc(l.Points, func(q figure.Point) bool { return q.Y <= 0 })
		}
	}
	return f.SVG()
}
