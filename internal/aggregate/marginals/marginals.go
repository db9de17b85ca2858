package marginals

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

// None marks a unit that is in no bin of a column.
const None = -1

// Config holds the parameters of a release. No parameter has a default.
type Config struct {
	Bins     []int   // number of bins of each column, at least 1; public
	Sigma    float64 // standard deviation of the noise on each count, in units
	Relation accountant.Relation
}

// Marginals releases one noisy histogram for each column.
type Marginals struct {
	cfg   Config
	noise *rng.DiscreteGaussian
}

// New returns the release for cfg.
func New(cfg Config) (*Marginals, error) {
	if len(cfg.Bins) == 0 {
		return nil, errors.New("marginals: Bins is empty: there are no columns")
	}
	for j, n := range cfg.Bins {
		if n < 1 {
			return nil, fmt.Errorf("marginals: Bins: column %d has %d bins, at least 1 needed", j, n)
		}
	}
	if cfg.Relation != accountant.AddRemove && cfg.Relation != accountant.ReplaceOne {
		return nil, fmt.Errorf("marginals: Relation is %v, want add_remove or replace_one", cfg.Relation)
	}
	noise, err := rng.NewDiscreteGaussian(cfg.Sigma)
	if err != nil {
		return nil, fmt.Errorf("marginals: Sigma: %w", err)
	}
	return &Marginals{cfg, noise}, nil
}

// Event returns the event of all columns together. A unit changes a count in every column.
func (m *Marginals) Event() accountant.Event {
	sensitivity := 1.0
	if m.cfg.Relation == accountant.ReplaceOne { // one count falls and one count rises
		sensitivity = math.Sqrt2
	}
	return accountant.Repeated{
		Event: accountant.DiscreteGaussian{Sigma: m.noise.Sigma(), Sensitivity: sensitivity},
		Count: int64(len(m.cfg.Bins)),
	}
}

// Release returns the noisy counts, with one slice per column and one count per bin. cells has one row per
// unit, with a bin or [None] for each column. It fails unless r charges exactly Event under the configured
// relation and is unused. The same key, ledger entry and cells give the same counts. Errors reveal no unit.
func (m *Marginals) Release(r *ledger.Reservation, key rng.Key, cells [][]int) ([][]int64, error) {
	if err := m.check(cells); err != nil {
		return nil, err
	}
	if key.IsZero() {
		return nil, errors.New("marginals: zero Key: make one with rng.NewKey or rng.SeedKey")
	}
	if err := r.Begin(m.Event(), ledger.Use{Relation: m.cfg.Relation, Secret: key.Releasable()}); err != nil {
		return nil, fmt.Errorf("marginals: %w", err)
	}
	key = key.Derive("entry", uint64(r.Entry())).Derive("marginals", math.Float64bits(m.noise.Sigma()), uint64(len(m.cfg.Bins)))
	counts := make([][]int64, len(m.cfg.Bins))
	for j, n := range m.cfg.Bins { // draw the noise before any cell is read
		counts[j] = make([]int64, n)
		m.noise.Fill(counts[j], key.Derive("column", uint64(j)).Stream())
	}
	add(counts, cells)
	return counts, nil
}

func (m *Marginals) check(cells [][]int) error {
	for _, unit := range cells {
		if len(unit) != len(m.cfg.Bins) {
			return fmt.Errorf("marginals: units do not have %d columns", len(m.cfg.Bins))
		}
		for j, bin := range unit {
			if bin < None || bin >= m.cfg.Bins[j] {
				return fmt.Errorf("marginals: column %d: a cell is no bin of %d", j, m.cfg.Bins[j])
			}
		}
	}
	return nil
}

func add(counts [][]int64, cells [][]int) {
	for _, unit := range cells {
		for j, bin := range unit {
			if bin != None {
				counts[j][bin]++
			}
		}
	}
}

// PoolShare is the fraction of a budget that ForPool uses. Histograms need little budget.
const PoolShare = 0.1

// ForPool returns marginals that use [PoolShare] of a budget. It ignores cfg.Sigma.
func ForPool(ctx context.Context, cfg Config, budget accountant.Target) (*Marginals, error) {
	return ofShare(ctx, cfg, budget, PoolShare)
}

// ofShare returns marginals that use a fraction of the budget's Rényi divergence, which is proportional to
// 1/Sigma^2. It ignores cfg.Sigma.
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

// Weights returns a relative weight for each bin, or nil for nil counts. A negative noisy count has weight 0.
func Weights(counts [][]int64) [][]float64 {
	if counts == nil {
		return nil
	}
	weights := make([][]float64, len(counts))
	for j, column := range counts {
		weights[j] = make([]float64, len(column))
		for b, n := range column {
			weights[j][b] = math.Max(0, float64(n))
		}
	}
	return weights
}

// Write writes noisy counts as CSV. describe returns the name of a column and of its bins.
func Write(out io.Writer, counts [][]int64, describe func(column int) (name string, bins []string)) error {
	file := table.Table{Header: []string{"column", "values", "noisy count"}}
	for j, column := range counts {
		name, values := describe(j)
		for b, n := range column {
			file.Rows = append(file.Rows, []string{name, values[b], strconv.FormatInt(n, 10)})
		}
	}
	var text bytes.Buffer
	if err := file.Write(&text, table.CSV); err != nil {
		return err
	}
	_, err := out.Write(text.Bytes())
	return err
}

// Read reads the output of Write. bins is the number of bins of each column.
func Read(file io.Reader, bins []int) ([][]int64, error) {
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("marginals: %w", err)
	}
	counts, at := make([][]int64, len(bins)), 1
	for column, n := range bins {
		for range n {
			if at >= len(lines) || len(lines[at]) != 3 {
				return nil, errors.New("marginals: the file does not have the bins that are declared")
			}
			count, err := strconv.ParseInt(lines[at][2], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("marginals: %w", err)
			}
			counts[column] = append(counts[column], count)
			at++
		}
	}
	return counts, nil
}
