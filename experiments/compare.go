package experiments

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/scores"
)

// Compare does cfg.Seeds independent runs of every private method for each target. It returns one row per
// method and target. A method without a target has one row. If a call is interrupted, call Compare again with
// the same Config. The second call loads trained teachers from Config.Dir and repeats answers at no further
// cost.
func Compare(ctx context.Context, cfg Config) (*Result, error) {
	start := time.Now()
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	switch {
	case c.Key.IsZero():
		return nil, fmt.Errorf("%w: Key is empty", ErrConfig)
	case c.Dir == "":
		return nil, fmt.Errorf("%w: Dir is empty", ErrConfig)
	}
	if err := durable.PrivateFolder(results.Folder(c.Dir).Private("ledger")); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	r := &Result{
		Schema: Schema, Data: c.Task.Name, Provenance: c.Task.Provenance, Split: string(c.Task.Protocol),
		ClassNames: c.Task.Classes, ClassRows: scores.ClassRows(c.Task.Test.Y, len(c.Task.Classes)),
		Private: c.units, Pool: c.Task.Pool.Len(), Test: c.Task.Test.Len(), Classes: len(c.Task.Classes),
		Features: c.Features, Dimensions: c.dimensions(), Teachers: c.teachers(), Learner: c.Learner, Student: studentName,
		EpsilonTarget: c.Epsilons[0], Delta: c.Delta, Relation: relation.String(), Unit: c.Unit,
		Seeds: c.Seeds, Seeded: !c.Key.Releasable(), Withheld: c.Task.Withheld(), Silos: c.Task.Silos,
	}
	if len(c.Epsilons) > 1 {
		r.EpsilonTargets = c.Epsilons
	}
	if of := cfg.Task.Test.Len(); of > r.Test {
		r.TestOf = of
	}
	switch {
	case c.counted():
		r.PoolOf = c.Pool
	case c.Task.Questions != nil:
		r.PoolOf = PoolNone
	}
	labels := c.wants(ensembleMethods()...) || c.wants(neighbourMethods()...)
	var early *ahead
	if labels && !c.counted() {
		var stop func()
		early, stop = begin(ctx, c)
		defer stop()
	}
	// DP-SGD runs first, because its features and the teachers' features together would take gigabytes.
	rows, err := runDPSGD(ctx, c)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory() // features of DP-SGD take gigabytes
	plain, err := runUnprotected(ctx, c)
	if err != nil {
		return nil, err
	}
	rows = append(rows, plain...)
	if labels {
		once := compareDrawn
		if early != nil {
			p, err := prepare(ctx, c, early.wait)
			if err != nil {
				return nil, err
			}
			once = func(ctx context.Context, c Config, seed int) ([]Row, *Diagnostics, error) {
				return compareOnce(ctx, c, p, seed)
			}
		}
		runs := make([][]Row, c.Seeds)
		for seed := range runs {
			var diagnostics *Diagnostics
			if runs[seed], diagnostics, err = once(ctx, c, seed); err != nil {
				return nil, err
			}
			if seed == 0 {
				r.Diagnostics = diagnostics
			}
		}
		rows = append(rows, means(runs)...)
	}
	all := make([]accountant.Composed, 1) // costs for units of each silo, if silos have different costs
	if c.wants(oneSilo) {
		all = make([]accountant.Composed, len(c.Task.Silos))
	}
	for _, row := range inOrder(rows, c.Epsilons) {
		row.StandardError = scores.StandardError(row.Accuracy, c.Task.Test.Len())
		row.ConstantAccuracy = float64(slices.Max(r.ClassRows)) / float64(r.Test)
		row.BalancedAccuracy = scores.Balanced(row.Recall, r.ClassRows)
		for _, predicted := range row.predicted {
			if scores.Constant(predicted) {
				row.OneClassRuns++
			}
		}
		for silo := range all {
			account := row.Account
			if row.bySilo != nil {
				account = row.bySilo[silo]
			}
			if account != nil {
				one := accountant.Composed{Events: account.Events}
				all[silo].Events = append(all[silo].Events, accountant.Repeated{Event: one, Count: int64(c.Seeds)})
			}
		}
		r.Rows = append(r.Rows, row)
	}
	r.Differences = c.differences(r.Rows)
	for _, events := range all {
		if len(events.Events) == 0 {
			continue
		}
		epsilon, err := together(ctx, r.Rows, events, c.Delta)
		if err != nil {
			return nil, err
		}
		r.EpsilonAll = max(r.EpsilonAll, epsilon)
	}
	r.Releasable = r.Diagnostics == nil
	for _, row := range r.Rows {
		r.Releasable = r.Releasable && row.Releasable
	}
	r.Seconds = math.Ceil(time.Since(start).Seconds())
	return r, nil
}

func together(ctx context.Context, rows []Row, all accountant.Event, delta float64) (float64, error) {
	for _, row := range rows {
		if row.Account != nil && row.Accountant == "" {
			// The row is a DP-SGD model. Rényi divergences also bound the cost of its integer noise.
			b, err := epsilonOf(all, delta)
			return b.Upper, err
		}
	}
	claim, err := claimOf(ctx, all, delta)
	return claim.Upper, err
}

func inOrder(rows []Row, targets []float64) []Row {
	var out []Row
	for _, target := range append(slices.Clone(targets), 0) {
		for _, m := range allMethods() {
			for _, row := range rows {
				if row.Method == m && row.TargetEpsilon == target {
					out = append(out, row)
				}
			}
		}
	}
	return out
}

func compareOnce(ctx context.Context, c Config, p prepared, seed int) ([]Row, *Diagnostics, error) {
	var near, polled []Row
	var diagnostics *Diagnostics
	var works []func(context.Context) error
	if c.wants(neighbourMethods()...) {
		works = append(works, func(ctx context.Context) (err error) {
			near, err = compareNeighbours(ctx, c, p, seed)
			return err
		})
	}
	if c.wants(ensembleMethods()...) {
		works = append(works, func(ctx context.Context) (err error) {
			polled, diagnostics, err = compareTeachers(ctx, c, p, seed)
			return err
		})
	}
	err := beside(ctx, c.Workers, p.clock, works...)
	return append(near, polled...), diagnostics, err
}

func compareNeighbours(ctx context.Context, c Config, p prepared, seed int) ([]Row, error) {
	var rows []Row
	for _, at := range p.points {
		for _, m := range neighbourMethods() {
			if !c.wants(m) {
				continue
			}
			row, err := runNeighbours(ctx, at, p, m, seed)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func compareTeachers(ctx context.Context, c Config, p prepared, seed int) ([]Row, *Diagnostics, error) {
	var rows []Row
	e, err := runPolls(ctx, c, p, seed)
	if err != nil {
		return nil, nil, err
	}
	for i, at := range p.points {
		methods := slices.DeleteFunc(append(voteMethods(), TrueLabels), func(m string) bool { return !c.wants(m) })
		of, works := make([]Row, len(methods)), make([]func(context.Context) error, len(methods))
		for k, m := range methods {
			works[k] = func(ctx context.Context) (err error) {
				of[k], err = runVote(ctx, at, p, e.polls[i], m, seed)
				return err
			}
		}
		p.clock.change(-1) // this work waits for the works of the methods
		err := beside(ctx, c.Workers, p.clock, works...)
		p.clock.change(1)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, of...)
	}
	if c.wants(Plurality) {
		rows = append(rows, runPlurality(c, e))
	}
	return rows, diagnose(c, e), nil
}

func means(runs [][]Row) []Row {
	out := make([]Row, len(runs[0]))
	for i := range out {
		of := make([]Row, len(runs))
		for j, run := range runs {
			of[j] = run[i]
		}
		out[i] = mean(of)
	}
	return out
}

func mean(runs []Row) Row {
	row := runs[0]
	n := float64(len(runs))
	var accuracy, seconds, answered, asked, labels float64
	var accuracies []float64
	var recalls [][]float64
	var areas []*float64
	var predicted [][]int
	for _, r := range runs {
		if accuracies = append(accuracies, r.Runs...); r.Runs == nil {
			accuracies = append(accuracies, r.Accuracy)
		}
		recalls = append(recalls, r.Recall)
		areas, predicted = append(areas, r.AUROC), append(predicted, r.predicted...)
		accuracy += r.Accuracy / n
		seconds += r.Seconds / n
		answered += float64(r.Answered) / n
		asked += float64(r.Asked) / n
		labels += r.LabelAccuracy / n
	}
	row.Accuracy, row.Seconds, row.LabelAccuracy = accuracy, math.Ceil(seconds), labels
	row.Recall, row.predicted = scores.MeanRecall(recalls), predicted
	row.AUROC, row.AUROCSD = scores.Areas(areas)
	row.Answered, row.Asked = int(math.Round(answered)), int(math.Round(asked))
	if len(accuracies) > 1 {
		sd := scores.Deviation(accuracies, accuracy)
		row.Runs, row.SD = accuracies, &sd
	}
	return row
}
