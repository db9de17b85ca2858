package report

import (
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/experiments"
)

// Regime draws, for each sweep, how far DP-SGD is ahead of the better vote of teachers against
// epsilon, with the 95 % interval of the difference: an SVG that stands alone, in light and
// dark. Below zero the vote is ahead.
func Regime(results []*experiments.Result) []byte {
	c := chart{Title: "Points of accuracy by which DP-SGD is ahead of the better vote, against epsilon", Zero: true}
	for i, r := range results {
		l := chartLine{Name: strings.TrimSuffix(r.Data, ".csv"), Colour: i}
		for _, e := range r.EpsilonTargets {
			vote := ""
			best := -1.0
			for _, row := range r.Rows {
				if row.ByTeachers() && row.TargetEpsilon == e && row.Accuracy > best {
					vote, best = row.Method, row.Accuracy
				}
			}
			for _, d := range r.Differences {
				switch {
				case d.TargetEpsilon != e || !(d.A == vote && d.B == experiments.DPSGD || d.A == experiments.DPSGD && d.B == vote):
					continue
				case d.A == vote:
					d.Mean, d.Low, d.High = -d.Mean, -d.High, -d.Low
				}
				// lines of several data sets at one epsilon stand beside each other
				x := e * math.Pow(1.045, float64(i)-float64(len(results)-1)/2)
				l.Points = append(l.Points, chartPoint{X: x, Y: 100 * d.Mean, Low: 100 * d.Low, High: 100 * d.High})
			}
			if !slices.Contains(c.At, e) {
				c.At = append(c.At, e)
			}
		}
		if len(l.Points) > 0 {
			c.Lines = append(c.Lines, l)
		}
	}
	slices.Sort(c.At)
	text := string(c.svg([]size{{class: "alone", width: 760, height: 420, left: 46, right: 120, font: 14}}))
	at := strings.Index(text, ">") + 1
	return []byte(strings.Replace(text[:at], "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1) + regimeStyle + text[at:])
}

const regimeStyle = `<style>
svg { font-family: system-ui, sans-serif; background: #fff; color: #1b1b1b; } path { fill: none; } .grid { stroke: #ddd; } .zero { stroke: #777; } .tick { fill: #5a5a58; }
.line { stroke: currentColor; stroke-width: 2; } .hair { stroke: currentColor; stroke-width: .7; } .bar { stroke: currentColor; stroke-width: 1.2; opacity: .7; } circle, .name { fill: currentColor; }
.s0 { color: #0072b2; } .s1 { color: #c9530a; } .s2 { color: #00805e; } .s3 { color: #b0508a; } .s4 { color: #8a6500; } .s5 { color: #2f8fc4; } .s6 { color: #1b1b1b; } .s7 { color: #7a4fc0; }
@media (prefers-color-scheme: dark) { svg { background: #17181a; } .grid { stroke: #3a3c40; } .tick { fill: #a8a8a4; }
.s0 { color: #56b4e9; } .s1 { color: #ff8f4d; } .s2 { color: #3fc79a; } .s3 { color: #e796c4; } .s4 { color: #f0c04a; } .s5 { color: #9ad0f5; } .s6 { color: #f2f2f2; } .s7 { color: #b79cf0; } }
</style>`
