package marginals

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// None, in place of a bin, marks a unit that stands in no bin of a column.
const None = -1

// Config are the parameters of a release; none has a default.
type Config struct {
	Bins     []int   // of each column, at least 1; public
	Sigma    float64 // standard deviation of the noise on each count, in units
	Relation accountant.Relation
}

// Marginals releases one noisy histogram for each column.
type Marginals struct {
	cfg   Config
	noise *rng.DiscreteGaussian
}

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

// Event returns the cost of all columns together: a unit moves a count in every column.
func (m *Marginals) Event() accountant.Event {
	sensitivity := 1.0
	if m.cfg.Relation == accountant.ReplaceOne { // one count falls and another rises
		sensitivity = math.Sqrt2
	}
	return accountant.Repeated{
		Event: accountant.DiscreteGaussian{Sigma: m.noise.Sigma(), Sensitivity: sensitivity},
		Count: int64(len(m.cfg.Bins)),
	}
}

// Release returns the noisy counts, a slice for each column with one for each bin. Cells has a row for each
// unit with a bin, or [None], for each column. It fails unless r charges exactly Event, under the relation
// of the configuration, and was not used before. The same key and cells give the same counts. Its errors
// contain nothing about a unit.
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
	counts := m.draw(key) // before any cell is looked at
	m.add(counts, cells)
	return counts, nil
}

// check reports cells that are no bins of their columns.
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

func (m *Marginals) draw(key rng.Key) [][]int64 {
	noise := make([][]int64, len(m.cfg.Bins))
	for j, n := range m.cfg.Bins {
		noise[j] = make([]int64, n)
		m.noise.Fill(noise[j], key.Derive("column", uint64(j)).Stream())
	}
	return noise
}

func (m *Marginals) add(counts [][]int64, cells [][]int) {
	for _, unit := range cells {
		for j, bin := range unit {
			if bin != None {
				counts[j][bin]++
			}
		}
	}
}
