package experiments

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

func neighbourMethods() []string { return []string{SampledKNN, ReverseKNN, oneSilo, allSilos} }

func (c point) neighbourPlan(ctx context.Context, method string, units int) (nearby.Plan, error) {
	return once(c.plans, fmt.Sprint("near ", method == SampledKNN, units), func() (nearby.Plan, error) {
		task := nearby.Task{Units: units, Classes: len(c.Task.Classes), Askable: c.askable(), Images: c.Task.Image.Rows > 0,
			Drawn:  c.pool != nil || c.Task.Questions != nil,
			Target: accountant.Target{Epsilon: c.epsilon, Delta: c.Delta}}
		if c.pool != nil {
			task.Before = c.pool.Event()
		}
		plan := nearby.Nearest
		if method == SampledKNN {
			plan = nearby.Sampled
		}
		p, err := plan(ctx, task)
		if err != nil {
			err = fmt.Errorf("experiments: %s: %w", method, err)
		}
		return p, err
	})
}

func runNeighbours(ctx context.Context, c point, p prepared, method string, seed int) (Row, error) {
	elections := c.elections(p, method)
	runs := make([]Row, len(elections))
	for i, e := range elections {
		var err error
		if runs[i], err = c.elect(ctx, p, e, Row{Method: method, TargetEpsilon: c.epsilon}, seed); err != nil {
			return runs[i], err
		}
	}
	return overSilos(runs), nil
}

func (c point) elect(ctx context.Context, p prepared, e election, row Row, seed int) (Row, error) {
	start := p.clock.now()
	plan, err := c.neighbourPlan(ctx, row.Method, e.units)
	if err != nil {
		return row, err
	}
	row.Sigma, row.Probability, row.Note = plan.Sigma, plan.Sampled, plan.Note()+e.note
	row.Asked = plan.Questions
	event, err := plan.Event()
	if err == nil {
		err = row.charge(ctx, event, c)
	}
	if err != nil {
		return row, err
	}
	queries, err := c.neighbourQueries(ctx, plan, p, e.as, seed)
	if err != nil {
		return row, err
	}
	answers, err := c.releaseNeighbours(ctx, plan, event, p, queries, e, row.Note, seed)
	if err != nil {
		return row, err
	}
	labels := noLabels(p.pool.Rows)
	for q, y := range answers {
		if labels[queries[q]] = y; y != aggregate.Abstain {
			row.Answered++
		}
		if c.Task.Questions == nil && y == c.Task.Pool.Y[queries[q]] {
			row.LabelAccuracy += 1 / float64(len(answers))
		}
	}
	method := row.Method
	row.Method = e.as // with the randomness of the student
	row.Accuracy, err = c.score(ctx, p, labels, &row, seed)
	row.Method, row.Seconds = method, p.clock.since(start)
	return row, err
}

// neighbourQueries returns the pool rows of a plan's queries, chosen only by features of the pool.
func (c point) neighbourQueries(ctx context.Context, plan nearby.Plan, p prepared, method string, seed int) ([]int, error) {
	if plan.Questions == p.pool.Rows {
		all := make([]int, p.pool.Rows)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	key := c.Key.Derive("neighbours", uint64(seed)).DeriveBytes("queries", []byte(c.file(method, seed)))
	queries, err := p.public.Select(ctx, plan.Questions, rand.New(key.Stream()))
	return queries, wrapped(err)
}

func (c point) releaseNeighbours(
	ctx context.Context, plan nearby.Plan, event accountant.Event, p prepared, queries []int, e election, note string, seed int,
) (labels []int, err error) {
	// The noise key depends on bound, so votes that use different features never share noise.
	bound := fmt.Appendf(nil, "%s %v %+v, features %s, epsilon %v", e.as, queries, event, c.voted(), c.epsilon)
	key := c.Key.Derive("neighbours", uint64(seed)).DeriveBytes("rows", p.hash[:]).DeriveBytes("asked", bound)
	draw := func(r *ledger.Reservation, key rng.Key, out io.Writer) error {
		released, err := e.release(ctx, plan, r, key, dense.Pick(p.asked, queries))
		if err != nil {
			return err
		}
		labels = released.Of
		return c.labelsFile(queries, released).Write(out, table.CSV)
	}
	err = c.leave(ctx, e.name, seed, append(bound, note...), event, release{key, draw})
	return labels, err
}

func (c point) labelsFile(queries []int, released nearby.Labels) table.Table {
	names := make([]string, len(queries))
	for q, pool := range queries {
		names[q] = c.Task.Pool.IDs[pool]
	}
	file := released.Table("label", names, func(class int) string { return c.Task.Classes[class] }, c.Task.Classes)
	file.Header = append(file.Header, c.askedHeader()...)
	for q, pool := range queries {
		file.Rows[q] = append(file.Rows[q], c.askedCells(pool)...)
	}
	return file
}
