package experiments

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// curvePoints is how many intermediate models a curve shows.
const curvePoints = 8

// runDPSGD trains one private linear model at the target epsilon.
func runDPSGD(ctx context.Context, c Config, p prepared, seed int) (Row, error) {
	start := time.Now()
	row := Row{Method: DPSGD}
	data, note := p.oneRowPerUnit(c)
	row.Note = note
	cfg := dpsgdPlan(data.X.Rows)
	noise, err := calibrate(ctx, c, func(noise float64) accountant.Event {
		try := cfg
		try.NoiseMultiplier = noise
		return try.Event()
	})
	if err != nil {
		return row, fmt.Errorf("experiments: noise for %s: %w", DPSGD, err)
	}
	cfg.NoiseMultiplier, cfg.Workers = noise, c.Workers
	if err := row.charge(cfg.Event(), c); err != nil {
		return row, err
	}
	key := c.Key.Derive("dpsgd", uint64(seed))
	book, err := c.openLedger(ctx, DPSGD, seed, fmt.Appendf(nil, "%s %+v", c.Features, cfg.Event()))
	if err != nil {
		return row, err
	}
	defer book.Close()
	model, err := nn.NewSoftmax(p.private.Cols, p.classes)
	if err != nil {
		return row, fmt.Errorf("experiments: %w", err)
	}
	predict := func(dst []int, x teachers.Matrix) error { return model.Predict(ctx, dst, x) }
	var curve []Point
	var scoring error
	cfg.Observe = func(m dpsgd.Metrics) {
		step, total := m.Step, m.Steps
		c.Progress(Progress{Stage: DPSGD, Done: step, Total: total})
		if seed != 0 || !c.Curves || scoring != nil || step*curvePoints/total == (step-1)*curvePoints/total {
			return
		}
		var a float64
		if a, scoring = score(predict, p.test, c.Task.Test.Y); scoring != nil {
			return
		}
		var b accountant.Bound
		if b, scoring = epsilonOf(m.Event, c.Delta); scoring == nil {
			curve = append(curve, Point{Epsilon: b.Upper, Accuracy: a})
		}
	}
	var result dpsgd.Result
	_, err = book.Release(ctx, release.Release{
		Events: []accountant.Event{cfg.Event()}, Key: release.Key{Given: key},
		Draw: func(reservations []*ledger.Reservation, key dpsgd.Key, _ io.Writer) ([]byte, error) {
			var err error
			if result, err = dpsgd.Train(ctx, model, data, cfg, reservations[0], key); err != nil {
				return nil, err
			}
			return parameterBytes(model.Parameters()), scoring
		},
	})
	if err != nil {
		return row, fmt.Errorf("experiments: %s: %w", DPSGD, err)
	}
	if row.Accuracy, err = score(predict, p.test, c.Task.Test.Y); err != nil {
		return row, err
	}
	row.Curve = curve
	row.Steps, row.Probability, row.NoiseMultiplier = result.Steps, cfg.SamplingProbability, noise
	row.Seconds = time.Since(start).Seconds()
	return row, nil
}

// runNonPrivate trains the same model without clipping and noise.
func runNonPrivate(ctx context.Context, c Config, p prepared, seed int) (Row, error) {
	start := time.Now()
	row := Row{Method: NonPrivate, Note: "the model of " + DPSGD + " without clipping and noise"}
	cfg := nonPrivatePlan(p.private.Rows, p.private.Cols)
	cfg.Workers = c.Workers
	cfg.Observe = func(m dpsgd.Metrics) { c.Progress(Progress{Stage: NonPrivate, Done: m.Step, Total: m.Steps}) }
	model, err := nn.NewSoftmax(p.private.Cols, p.classes)
	if err != nil {
		return row, fmt.Errorf("experiments: %w", err)
	}
	key := c.Key.Derive("non-private", uint64(seed))
	if _, err := dpsgd.Train(ctx, model, dpsgd.Data{X: p.private, Y: c.Task.Private.Y}, cfg, nil, key); err != nil {
		return row, fmt.Errorf("experiments: %s: %w", NonPrivate, err)
	}
	predict := func(dst []int, x teachers.Matrix) error { return model.Predict(ctx, dst, x) }
	if row.Accuracy, err = score(predict, p.test, c.Task.Test.Y); err != nil {
		return row, err
	}
	row.Seconds = time.Since(start).Seconds()
	return row, nil
}

// parameterBytes is what a trained model releases.
func parameterBytes(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

// oneRowPerUnit is what DP-SGD trains on: its guarantee is for one row, so where
// units have several, each gives its first. Which rows a unit gives depends on
// that unit alone, so adding or removing a unit adds or removes one row.
func (p prepared) oneRowPerUnit(c Config) (dpsgd.Data, string) {
	first := make([]int, 0, p.private.Rows)
	seen := make(map[string]bool, p.private.Rows)
	for i, u := range c.Task.Private.Units {
		if !seen[u] {
			seen[u] = true
			first = append(first, i)
		}
	}
	note := ""
	if c.Task.Grouped {
		note = "trained on one row per " + c.Unit + ", which is what its epsilon is for"
	}
	if len(first) == p.private.Rows {
		return dpsgd.Data{X: p.private, Y: c.Task.Private.Y}, note
	}
	labels := make([]int, len(first))
	for i, r := range first {
		labels[i] = c.Task.Private.Y[r]
	}
	return dpsgd.Data{X: dense.Pick(p.private, first), Y: labels}, note
}

// openLedger opens the ledger of one method in one run. The run's name covers
// its key, its data and, as bound, everything else that the answers depend on:
// a run that repeats itself pays nothing twice, and one that would answer
// differently is refused.
func (c Config) openLedger(ctx context.Context, method string, seed int, bound []byte) (*release.Book, error) {
	run, err := c.runID(bound)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%d.jsonl", strings.ReplaceAll(method, "/", "-"), seed)
	noise := ledger.SeededNoise
	if c.Key.Releasable() {
		noise = ledger.SecretNoise
	}
	made := ledger.Config{Unit: c.Unit, Relation: relation, Epsilon: c.Epsilon, Delta: c.Delta, Run: run, Noise: noise}
	book, err := release.File{Path: filepath.Join(c.Dir, "ledger", name)}.Open(ctx, made)
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	return book, nil
}
