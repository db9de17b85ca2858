package marginals

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// None marks a column in which a unit has no bin.
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

// Event returns the event of all columns together, because a unit changes counts in every column.
func (m *Marginals) Event() accountant.Event {
	return accountant.Repeated{
		Event: accountant.DiscreteGaussian{Sigma: m.noise.Sigma(), Sensitivity: math.Sqrt(moved(m.cfg.Relation))},
		Count: int64(len(m.cfg.Bins)),
	}
}

// Release returns the noisy counts, with one slice per column and one count per bin. Each row of cells is a
// unit, with a bin or [None] for each column. Release fails if r was used before, or charges another event
// than m.Event(). The ledger must have the configured relation. Equal keys, ledger entries and cells give
// equal counts. Errors reveal no unit.
func (m *Marginals) Release(r *ledger.Reservation, key rng.Key, cells [][]int) ([][]int64, error) {
	if err := check(m.cfg.Bins, cells); err != nil {
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

func check(bins []int, cells [][]int) error {
	for _, unit := range cells {
		if len(unit) != len(bins) {
			return fmt.Errorf("marginals: units do not have %d columns", len(bins))
		}
		for j, bin := range unit {
			if bin < None || bin >= bins[j] {
				return fmt.Errorf("marginals: column %d: a cell is no bin of %d", j, bins[j])
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
