package report

import (
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
)

// Regime draws, for each sweep, the lead of DP-SGD over the better vote of teachers against epsilon, with
// the 95 % interval of the difference: an SVG that stands alone, in light and dark. Below zero the vote is
// ahead.
func Regime(results []*experiments.Result) []byte {
	low, high := math.Inf(1), 0.0
	c := figure.Figure{Title: "Points of accuracy by which DP-SGD is ahead of the better vote, against epsilon", Zero: true,
		X: figure.Axis{Label: "ε", Log: true}}
	for i, r := range results {
		l := figure.Line{Name: strings.TrimSuffix(r.Data, ".csv"), Colour: i, Dots: true}
		for _, e := range r.EpsilonTargets {
			vote := ""
			best := -1.0
			for _, row := range r.Rows {
				if row.ByTeachers() && row.TargetEpsilon == e && row.Accuracy > best {
					vote, best = row.Method, row.Accuracy
				}
			}
			for _, d := range r.Differences {
				if d.A == vote && d.B == experiments.DPSGD {
					d.A, d.B, d.Mean, d.Low, d.High = d.B, d.A, -d.Mean, -d.High, -d.Low
				}
				if d.TargetEpsilon != e || d.A != experiments.DPSGD || d.B != vote {
					continue
				}
				// lines of several data sets at one epsilon stand beside each other
				x := e * math.Pow(1.045, float64(i)-float64(len(results)-1)/2)
				low, high = min(low, x), max(high, x)
				l.Points = append(l.Points, figure.Point{X: x, Y: 100 * d.Mean, Low: 100 * d.Low, High: 100 * d.High})
			}
			if !slices.Contains(c.X.Ticks, e) {
				c.X.Ticks = append(c.X.Ticks, e)
			}
		}
		if len(l.Points) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	slices.Sort(c.X.Ticks)
	c.X.Low, c.X.High = low, high
	return c.SVG()
}
