package report

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
)

// waterfall shows the losses of accuracy of a vote of teachers at one target: from the best model without
// privacy to the student. A step may gain.
type waterfall struct {
	At     string // target
	Method string
	Labels int // released, of one run
	Steps  []step
	// Known is the accuracy of the same student on true labels of as many queries, in words; empty if it
	// was not run.
	Known string
}

// step is a level, or the difference between two levels.
type step struct {
	Name  string
	Value string
	// Left and Width of its bar, in percent of the scale of the waterfall.
	Left, Width float64
	Kind        string // "level", "loss" or "gain"
}

// waterfalls returns one for the best vote of teachers at each target; none where the model without privacy
// or the vote without noise was not run.
func waterfalls(r *experiments.Result) []waterfall {
	var open, plurality float64
	if r.PoolOf != "" { // the right labels are unknown
		return nil
	}
	for _, row := range r.Rows {
		switch row.Method {
		case experiments.NonPrivate, experiments.BoostedTrees:
			open = math.Max(open, row.Accuracy)
		case experiments.Plurality:
			plurality = row.Accuracy
		}
	}
	var out []waterfall
	for _, e := range targets(r) {
		var vote, known *experiments.Row
		for i, row := range r.Rows {
			switch {
			case row.Method == experiments.TrueLabels && (row.TargetEpsilon == e || len(r.EpsilonTargets) == 0):
				known = &r.Rows[i]
			case row.ByTeachers() && target(r, row) == e && (vote == nil || row.Accuracy > vote.Accuracy):
				vote = &r.Rows[i]
			}
		}
		if vote == nil || vote.Answered == 0 || open == 0 || plurality == 0 {
			continue
		}
		out = append(out, fall(number.Exact(e), *vote, known, open, plurality))
	}
	return out
}

func fall(at string, vote experiments.Row, known *experiments.Row, open, plurality float64) waterfall {
	w := waterfall{At: at, Method: vote.Method, Labels: vote.Answered}
	levels := []float64{open, plurality, vote.LabelAccuracy, vote.Accuracy}
	low, high := 1.0, 0.0
	for _, v := range levels {
		low, high = min(low, v), max(high, v)
	}
	low = max(0, low-0.25*(high-low)-0.01)
	scale := func(v float64) float64 { return 100 * (v - low) / (high - low) }
	level := func(name string, v float64) {
		w.Steps = append(w.Steps, step{Name: name, Value: fmt.Sprintf("%.1f", 100*v), Width: scale(v), Kind: "level"})
	}
	between := func(name string, from, to float64) {
		s := step{Name: name, Value: points(to - from), Left: scale(min(from, to)), Width: scale(max(from, to)) - scale(min(from, to)), Kind: "loss"}
		if to > from {
			s.Kind = "gain"
		}
		w.Steps = append(w.Steps, s)
	}
	level("best without privacy", open)
	between("teachers", open, plurality)
	between("noise", plurality, vote.LabelAccuracy)
	between("student", vote.LabelAccuracy, vote.Accuracy)
	level("student’s accuracy", vote.Accuracy)
	if known != nil {
		w.Known = fmt.Sprintf("%.1f", 100*known.Accuracy)
	}
	return w
}

// points prints a difference in points of percent with its sign.
func points(x float64) string {
	switch text := fmt.Sprintf("%.1f", 100*math.Abs(x)); {
	case text == "0.0":
		return text
	case x < 0:
		return "−" + text
	default:
		return "+" + text
	}
}
