package recipe

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

// curvePoints is how many models a curve shows, the last one included.
const curvePoints = 8

func checkpointEvery(total int) int { return max(2, total/20) }

// onCurve reports whether a step before the last is shown on the curve. No such step ends with a checkpoint:
// one is written before a step is observed, and a run resumed from there would not see it again.
func onCurve(step, total int) bool {
	for k := 1; k < curvePoints; k++ {
		at := k * total / curvePoints
		if at > 1 && at%checkpointEvery(total) == 0 {
			at--
		}
		if at == step {
			return true
		}
	}
	return false
}

type watcher struct {
	*job
	ctx   context.Context // that no interruption ends: a point takes a moment
	model *nn.Model
	test  blas32.General
	curve []Point
	last  float64 // epsilon at the last point
	err   error
}

func (w *watcher) step(m dpsgd.Metrics) {
	if w.err == nil && onCurve(m.Step, m.Steps) {
		w.err = w.point(m)
	}
	w.Progress(Progress{Stage: w.stage(), Done: m.Step, Total: m.Steps, Epsilon: w.last})
}

// point takes the cost of the model so far and, with the first seed, its score.
func (w *watcher) point(m dpsgd.Metrics) error {
	if !w.plan.NonPrivate {
		var known bool
		if w.last, known = w.spent[m.Step]; !known {
			events := w.plan.events(w.noise) // statistics, and the training so far
			events[len(events)-1] = m.Event
			b, err := w.claim.epsilonOf(w.ctx, whole(events))
			if err != nil {
				return err
			}
			w.last, w.spent[m.Step] = b.Upper, b.Upper
		}
	}
	if w.seed != 0 {
		return nil
	}
	a, _, err := score(w.ctx, w.model, w.test, w.Task.Test.Y, len(w.Task.Classes))
	if err != nil {
		return err
	}
	seen := slices.IndexFunc(w.curve, func(p Point) bool { return p.Step >= m.Step })
	if seen >= 0 { // after the checkpoint that the training was resumed from
		w.curve = w.curve[:seen]
	}
	w.curve = append(w.curve, Point{Step: m.Step, Epsilon: w.last, Accuracy: a})
	return w.save(state{Noise: w.noise, Curve: w.curve})
}

func (j *job) stage() string {
	name := j.plan.name()
	if j.plan.Epsilon != 0 {
		name = fmt.Sprintf("ε %g", j.plan.Epsilon)
	}
	if j.Seeds > 1 {
		name = fmt.Sprintf("%s, run %d of %d", name, j.seed+1, j.Seeds)
	}
	return name
}
