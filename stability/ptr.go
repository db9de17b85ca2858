package stability

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// Function is a real function of private data. Its local sensitivity is the most that one record can change
// it at these data, which may be much less than anywhere. [Median] returns such a function.
type Function[D any] struct {
	Value func(data D) (float64, error)
	// Distance returns how many records must change to reach data at which the local sensitivity exceeds
	// bound, 0 if it does already, or any smaller number that changes by at most 1 between neighbours.
	Distance func(data D, bound float64) (int64, error)
	// Relation is the only relation for which Distance is valid, or 0 if it is valid for both.
	Relation accountant.Relation
}

// PTRConfig holds the parameters of a [PTR]. None has a default.
type PTRConfig struct {
	Bound       float64 // the local sensitivity proposed, chosen without the data; [2^-500, 2^500]
	Epsilon     float64 // of the value; [2^-18, 2^9]
	TestEpsilon float64 // of the test; [2^-20, 2^9]
	Delta       float64 // probability that the test passes where it should not; [1e-15, 1/4]
}

// PTR releases a real function with noise for a local sensitivity that was proposed in advance, if the data
// are far from any data where that noise would be too little (Dwork, Lei 2009). It is a [Gate] with a Laplace
// mechanism behind it: with both epsilons equal it is (2 Epsilon, Delta)-differentially private. Data are
// good if the local sensitivity is at most Bound, since the value is then that close to the value of any
// neighbour.
//
// The value is rounded to a grid of at least 2^20 units to Bound. The noise is discrete Laplace on that grid,
// for floor(Bound) + 1 units, because rounding may add one.
type PTR struct {
	cfg         PTRConfig
	gate        *Gate
	grid        grid
	sensitivity int64 // in units
	noise       *rng.DiscreteLaplace
}

// ptrBits is log2 of the least number of units to a bound.
const ptrBits = 20

// NewPTR returns the mechanism for cfg.
func NewPTR(cfg PTRConfig) (*PTR, error) { return newPTR(cfg, ptrBits) }

func newPTR(cfg PTRConfig, bits int) (*PTR, error) {
	if !within(cfg.Bound, 0x1p-500, 0x1p500) {
		return nil, fmt.Errorf("stability: Bound must be in [2^-500, 2^500], not %g", cfg.Bound)
	}
	if !within(cfg.Epsilon, 0x1p-18, 0x1p9) {
		return nil, fmt.Errorf("stability: Epsilon must be in [2^-18, 2^9], not %g", cfg.Epsilon)
	}
	p := &PTR{cfg: cfg, grid: gridFor(cfg.Bound, bits)}
	p.sensitivity = int64(math.Floor(cfg.Bound/p.grid.unit)) + 1
	var err error
	if p.noise, err = rng.NewDiscreteLaplace(mathUp(float64(p.sensitivity) / cfg.Epsilon)); err != nil {
		return nil, fmt.Errorf("stability: Epsilon: %w", err)
	}
	p.gate, err = NewGate(GateConfig{Epsilon: cfg.TestEpsilon, Delta: cfg.Delta,
		Cost:      accountant.DiscreteLaplace{Scale: p.noise.Scale(), Sensitivity: p.sensitivity},
		Dominated: true}) // two values within the bound have laws that are shifts of each other
	if err != nil {
		return nil, fmt.Errorf("stability: the test: %w", err)
	}
	return p, nil
}

// mathUp returns a number above x by more than the rounding that led to x.
func mathUp(x float64) float64 { return x * (1 + 0x1p-50) }

// Event returns the worst case: the test, and the value.
func (p *PTR) Event() accountant.Event { return p.gate.Event() }

// Propose tests whether the proposed bound holds around the data, and then releases f of the data with noise.
// It fails unless r charges exactly p.Event() and was not used before.
func Propose[D any](p *PTR, r *ledger.Reservation, key rng.Key, data D, f Function[D]) (Answer[float64], error) {
	distance := func() (int64, error) { return f.Distance(data, p.cfg.Bound) }
	return pass(p.gate, f.Relation, r, key, distance, func(key rng.Key) (float64, error) {
		noise := p.noise.Sample(key.Stream())
		value, err := f.Value(data)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(value) {
			return 0, errors.New("stability: the function's value is not a number")
		}
		return p.grid.value(p.grid.round(value) + noise), nil
	})
}
