package report

import (
	"math"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/figure"
)

// dot is the accuracy of one method on a scale that all methods of a target share.
type dot struct {
	Method, Text    string
	Colour          int // of the page; -1 without protection
	At, From, Width float64
}

// dots returns the accuracies of a comparison at one target, in the order of the rows. Unprotected methods
// far below all protected ones are left out.
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
