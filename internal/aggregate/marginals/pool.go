package marginals

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// PoolShare is the fraction of a budget for the noisy counts from which the rows of a pool are drawn.
const PoolShare = 0.1

// With PoolConfig.Tree, these fractions divide PoolShare among counts of columns, edges and tables. They were
// chosen on the data sets digits, flchain, gss, satellite and waveform.
const (
	partOfColumns = 0.3
	partOfEdges   = 0.2
	partOfTables  = 0.5
)

// Pool plans the noisy counts for drawing the rows of a pool. Each bin of a column has one count. If
// PoolConfig.Tree is set, some pairs of columns also have counts.
type Pool struct {
	PoolConfig
	columns *Marginals
	tree    *Tree // nil if columns are drawn independently
}

// PoolConfig describes the columns of a pool.
type PoolConfig struct {
	Bins, Ordered []int // see [TreeConfig]
	Relation      accountant.Relation
	Tree          bool
	Describe      Describe
}

// ForPool returns a Pool that spends PoolShare of the budget on counts.
func ForPool(ctx context.Context, cfg PoolConfig, budget accountant.Target) (p *Pool, err error) {
	columns := Config{Bins: cfg.Bins, Relation: cfg.Relation}
	p = &Pool{PoolConfig: cfg}
	if !cfg.Tree {
		p.columns, err = ofShare(ctx, columns, budget, PoolShare)
		return p, err
	}
	whole, err := ofShare(ctx, columns, budget, 1)
	if err != nil {
		return nil, err
	}
	sigma := whole.noise.Sigma()
	columns.Sigma = sigma / math.Sqrt(PoolShare*partOfColumns)
	if p.columns, err = New(columns); err != nil {
		return nil, err
	}
	// The divergence of order a is a rho. Columns at the whole budget have rho = d s^2/(2 Sigma^2). Edges
	// have nearly rho = (d-1) epsilon^2/8, and tables have rho = (d-1) s^2/(2 Sigma^2).
	d, moves := float64(len(cfg.Bins)), moved(cfg.Relation)
	rho := d * moves / (2 * sigma * sigma) * PoolShare
	p.tree, err = NewTree(TreeConfig{Bins: cfg.Bins, Ordered: cfg.Ordered, Relation: cfg.Relation,
		Scale: 2 * moves / math.Sqrt(8*rho*partOfEdges/(d-1)),
		Sigma: math.Sqrt((d - 1) * moves / (2 * rho * partOfTables))})
	return p, err
}

func ofShare(ctx context.Context, cfg Config, budget accountant.Target, share float64) (*Marginals, error) {
	if !(share > 0 && share <= 1) {
		return nil, fmt.Errorf("marginals: a share of %v, want one in (0, 1]", share)
	}
	event := func(sigma float64) (accountant.Event, error) {
		cfg.Sigma = sigma
		m, err := New(cfg)
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	}
	whole, _, err := accountant.CalibrateNoise(ctx, accountant.AutoConfig{Relation: cfg.Relation}.NewAccount, budget, event)
	if err != nil {
		return nil, fmt.Errorf("marginals: noise: %w", err)
	}
	cfg.Sigma = whole / math.Sqrt(share)
	return New(cfg)
}

func (p *Pool) Events() [][]accountant.Event {
	events := [][]accountant.Event{{p.columns.Event()}}
	if p.tree != nil {
		events = append(events, p.tree.Events())
	}
	return events
}

func (p *Pool) Event() accountant.Event {
	if p.tree == nil {
		return p.columns.Event()
	}
	return accountant.Composed{Events: append([]accountant.Event{p.columns.Event()}, p.tree.Events()...)}
}

// String identifies the pool by its events and by the names of its columns and bins.
func (p *Pool) String() string {
	text := fmt.Sprintf("%+v", p.Events())
	for j := range p.Bins {
		name, bins := p.Describe(j)
		text += fmt.Sprintf(" %q %q", name, bins)
	}
	return text
}

// Describe returns the name of a column and the names of its bins.
type Describe func(column int) (name string, bins []string)

// Stages returns the stages that release the counts. The caller sets the field Out of each stage. The
// function cells returns the private cells. Counts are complete after the last stage.
func (p *Pool) Stages(cells func() [][]int) ([]run.Stage, *Counts) {
	c, describe := &Counts{}, p.Describe
	key := func(key rng.Key) rng.Key { return key.Derive("marginals") }
	stages := []run.Stage{{
		Name: "marginals", Key: key,
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) (err error) {
			if c.Columns, err = p.columns.Release(r[0], key, cells()); err != nil {
				return err
			}
			if err := Write(out, c.Columns, describe); err != nil {
				return err
			}
			c.trim(p.columns.noise.Sigma())
			return nil
		},
		Read: func(file io.Reader) (err error) {
			c.Columns, err = Read(file, p.columns.cfg.Bins)
			c.trim(p.columns.noise.Sigma())
			return err
		},
	}}
	if p.tree == nil {
		return stages, c
	}
	return append(stages, run.Stage{
		Name: "tree", Key: key,
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) (err error) {
			if c.Pairs, err = p.tree.Release(r[0], r[1], key, c.Columns, cells()); err != nil {
				return err
			}
			c.layout = p.tree.layout(c.Columns)
			return c.writeTree(out, describe)
		},
		Read: func(file io.Reader) error {
			c.layout = p.tree.layout(c.Columns)
			return c.readTree(file, describe)
		},
	}), c
}
