package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

const (
	PoolNone      = "none"      // declared ranges, all bins equally likely
	PoolMarginals = "marginals" // noisy counts of each column of the private rows, charged
	PoolTree      = "tree"      // noisy counts of columns and of pairs of columns, charged
)

type drawn struct {
	epsilon float64
	several bool // there are several targets
	books   sync.Map
}

func (d *drawn) take(method string) *paid {
	if d == nil {
		return nil
	}
	book, _ := d.books.LoadAndDelete(method)
	p, _ := book.(*paid)
	return p
}

func (d *drawn) suffix() string {
	if d == nil || !d.several {
		return ""
	}
	return "-epsilon-" + number.Exact(d.epsilon)
}

func (d *drawn) close() error {
	var errs []error
	for _, book := range d.books.Range {
		errs = append(errs, book.(*paid).Close())
	}
	return errors.Join(errs...)
}

func (c Config) counted() bool { return c.Pool != "" }

func (c point) planPool(ctx context.Context) (*marginals.Pool, error) {
	if !c.counted() {
		return nil, nil
	}
	p, err := marginals.ForPool(ctx, marginals.PoolConfig{Bins: c.Task.Ranges.Bins(), Ordered: c.Task.Ranges.Ordered(),
		Relation: relation, Tree: c.Pool == PoolTree, Describe: c.Task.Ranges.Describe}, accountant.Target{Epsilon: c.epsilon, Delta: c.Delta})
	return p, wrapped(err)
}

func (c Config) outlinePool(points []point, add addStep, data float64) {
	if !c.counted() {
		return
	}
	columns := float64(len(c.Task.Ranges.Bins()))
	for _, at := range points {
		event, _ := describe(at.pool.Event())
		seconds := 0.0
		if c.Pool == PoolTree {
			seconds = columns * columns / 2 * float64(c.Task.Private.Len()) * perCell
		}
		add(fmt.Sprintf("%s of %d columns at epsilon %v, %g %% of each budget: %s",
			c.Pool, len(c.Task.Ranges.Bins()), at.epsilon, 100*marginals.PoolShare, event), c.Seeds, seconds, data)
	}
}

func compareDrawn(ctx context.Context, c Config, seed int) (rows []Row, first *Diagnostics, err error) {
	points, err := c.points(ctx)
	if err != nil {
		return nil, nil, err
	}
	for i, at := range points {
		more, diagnostics, err := at.compareDrawn(ctx, seed)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			first = diagnostics
		} else { // rows without a target exist already
			more = slices.DeleteFunc(more, func(r Row) bool { return r.TargetEpsilon == 0 })
		}
		rows = append(rows, more...)
	}
	return rows, first, nil
}

func (c point) compareDrawn(ctx context.Context, seed int) (rows []Row, diagnostics *Diagnostics, err error) {
	paid := &drawn{epsilon: c.epsilon, several: len(c.Epsilons) > 1}
	defer func() { err = errors.Join(err, paid.close()) }()
	task, err := c.drawPool(ctx, seed, paid)
	if err != nil {
		return nil, nil, err
	}
	cfg := c.Config.with(task)
	cfg.drawn = paid
	p, err := prepare(ctx, cfg, cfg.points)
	if err != nil {
		return nil, nil, err
	}
	return compareOnce(ctx, cfg, p, seed)
}

// openCharged opens a method's ledger. The first call of Next charges the method and the pool's counts
// together, before anything is drawn.
func (c point) openCharged(ctx context.Context, method string, seed int, counts []run.Stage) (*paid, error) {
	e, err := c.methodEvent(ctx, method)
	if err != nil {
		return nil, err
	}
	bound := fmt.Appendf(nil, "%s on %s %v, %+v, epsilon %v", method, c.Pool, c.pool, e, c.epsilon)
	return c.open(ctx, method, seed, bound, e, counts)
}

func (c point) methodEvent(ctx context.Context, method string) (accountant.Event, error) {
	if slices.Contains(neighbourMethods(), method) {
		plan, err := c.neighbourPlan(ctx, method, c.units)
		if err != nil {
			return nil, err
		}
		return plan.Event()
	}
	m, err := c.mechanism(ctx, method, new(Row))
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// drawPool releases noisy counts of the private rows and draws the pool from the counts.
func (c point) drawPool(ctx context.Context, seed int, paid *drawn) (dataset.Task, error) {
	// Each method that uses the pool has its own ledger, on which these counts are charged. If no method is
	// charged, drawPool reads no private row and draws the pool from the declared ranges.
	hash := c.Hash()
	key := c.Key.Derive("marginals", uint64(seed), math.Float64bits(c.epsilon)).DeriveBytes("rows", hash[:])
	cells := sync.OnceValue(func() [][]int { return c.Task.Ranges.Cells(c.Task.Private.OnePerUnit().X) })
	var counts *marginals.Counts
	for _, method := range append(voteMethods(), neighbourMethods()...) {
		if !c.wants(method) {
			continue
		}
		stages, released := c.pool.Stages(cells)
		for i := range stages {
			stages[i].Key = func(rng.Key) rng.Key { return key }
		}
		book, err := c.openCharged(ctx, method, seed, stages)
		if err != nil {
			return dataset.Task{}, err
		}
		paid.books.Store(method, book)
		for range stages {
			if _, err := book.Next(ctx); err != nil {
				return dataset.Task{}, fmt.Errorf("experiments: %s: pool: %w", method, err)
			}
		}
		if counts != nil && !reflect.DeepEqual(counts, released) {
			return dataset.Task{}, fmt.Errorf("experiments: %s: counts differ from those of the method before", method)
		}
		counts = released
	}
	if counts == nil {
		return c.Task, nil
	}
	task, err := c.Task.Drawn(counts.Weights(), counts.Draw)
	return task, wrapped(err)
}

func (c Config) askedHeader() (names []string) {
	if c.Task.Questions == nil {
		return nil
	}
	for _, column := range c.Task.Questions.Columns {
		names = append(names, "asked "+column.Name)
	}
	return names
}

func (c Config) askedCells(pool int) (cells []string) {
	if c.Task.Questions == nil {
		return nil
	}
	for _, column := range c.Task.Questions.Columns {
		cells = append(cells, column.Values[pool])
	}
	return cells
}
