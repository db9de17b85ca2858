package experiments

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
)

// Compare runs every method of the configuration, Seeds times, and returns one
// row a method. It may be interrupted and called again with the same Config: the
// teachers already trained are taken from Config.Dir, answers repeat themselves
// and cost nothing more.
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
	if err := durable.MkdirAll(filepath.Join(c.Dir, "ledger"), 0o700); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	byMethod := map[string][]Row{}
	if c.wants(DPSGD, NonPrivate) { // first: its features and those of the teachers together are gigabytes
		models, err := runDPSGD(ctx, c)
		if err != nil {
			return nil, err
		}
		for method, row := range models {
			byMethod[method] = []Row{row}
		}
	}
	var p prepared
	if c.wants(ensembleMethods()...) {
		if p, err = prepare(ctx, c); err != nil {
			return nil, err
		}
	}
	r := &Result{
		Schema: Schema, Data: c.Task.Name, Provenance: c.Task.Provenance, Split: string(c.Task.Protocol),
		Private: c.units, Pool: c.Task.Pool.Len(), Test: c.Task.Test.Len(), Classes: len(c.Task.Classes),
		Features: c.Features, Dimensions: c.dimensions(), Teachers: c.teachers(), Learner: c.Learner, Student: studentName,
		EpsilonTarget: c.Epsilon, Delta: c.Delta, Relation: relation.String(), Unit: c.Unit,
		Seeds: c.Seeds, Seeded: !c.Key.Releasable(),
	}
	for seed := range c.Seeds {
		rows, diagnostics, err := compareOnce(ctx, c, p, seed)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			byMethod[row.Method] = append(byMethod[row.Method], row)
		}
		if seed == 0 {
			r.Diagnostics = diagnostics
		}
	}
	var all accountant.Composed
	for _, m := range allMethods() {
		runs := byMethod[m]
		if len(runs) == 0 {
			continue
		}
		row := mean(runs)
		row.StandardError = number.StandardError(row.Accuracy, c.Task.Test.Len())
		if row.Account != nil {
			all.Events = append(all.Events, accountant.Repeated{Event: accountant.Composed{Events: row.Account.Events}, Count: int64(c.Seeds)})
		}
		r.Rows = append(r.Rows, row)
	}
	if len(all.Events) > 0 {
		if r.EpsilonAll, err = together(ctx, r.Rows, all, c.Delta); err != nil {
			return nil, err
		}
	}
	r.Releasable = r.Diagnostics == nil
	for _, row := range r.Rows {
		r.Releasable = r.Releasable && row.Releasable
	}
	r.Seconds = math.Ceil(time.Since(start).Seconds())
	return r, nil
}

// together returns what all rows cost: votes by the tightest accountant, and by Rényi
// divergences where a model is among them, as these hold for its integer noise as they are.
func together(ctx context.Context, rows []Row, all accountant.Event, delta float64) (float64, error) {
	for _, row := range rows {
		if row.Account != nil && row.Accountant == "" {
			b, err := epsilonOf(all, delta)
			return b.Upper, err
		}
	}
	claim, err := claimOf(ctx, all, delta)
	return claim.Upper, err
}

// compareOnce runs every method with teachers once.
func compareOnce(ctx context.Context, c Config, p prepared, seed int) ([]Row, *Diagnostics, error) {
	var out []Row
	var diagnostics *Diagnostics
	add := func(row Row, err error) error {
		out = append(out, row)
		return err
	}
	if c.wants(ensembleMethods()...) {
		v, err := runPoll(ctx, c, p, seed)
		if err != nil {
			return nil, nil, err
		}
		diagnostics = diagnose(c, v)
		for _, m := range voteMethods() {
			if !c.wants(m) {
				continue
			}
			if err := add(runVote(ctx, c, p, v, m, seed)); err != nil {
				return nil, nil, err
			}
		}
		if c.wants(Plurality) {
			out = append(out, runPlurality(c, v))
		}
		if c.wants(TrueLabels) {
			if err := add(runTrueLabels(ctx, c, p, v, seed)); err != nil {
				return nil, nil, err
			}
		}
	}
	return out, diagnostics, nil
}

// mean averages the runs of one method; everything that does not vary is taken
// from the first.
func mean(runs []Row) Row {
	row := runs[0]
	n := float64(len(runs))
	var accuracy, seconds, answered, asked, labels float64
	for _, r := range runs {
		accuracy += r.Accuracy / n
		seconds += r.Seconds / n
		answered += float64(r.Answered) / n
		asked += float64(r.Asked) / n
		labels += r.LabelAccuracy / n
	}
	row.Accuracy, row.Seconds, row.LabelAccuracy = accuracy, math.Ceil(seconds), labels
	row.Answered, row.Asked = int(math.Round(answered)), int(math.Round(asked))
	if len(runs) > 1 {
		sum := 0.0
		for _, r := range runs {
			sum += (r.Accuracy - accuracy) * (r.Accuracy - accuracy)
		}
		sd := math.Sqrt(sum / (n - 1))
		row.SD = &sd
	}
	return row
}
