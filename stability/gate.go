package stability

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// GateConfig holds the parameters of a [Gate]. None has a default.
type GateConfig struct {
	Epsilon float64          // of the test; [2^-20, 2^9]
	Delta   float64          // probability that the test passes on data that are not good; [1e-15, 1/4]
	Cost    accountant.Event // cost of the mechanism behind the gate, on good data
	// Dominated: on every good data set the mechanism behind the gate is dominated by Cost in every
	// hockey-stick divergence and in both orders, and not only within its Rényi curve. If not set, a ledger
	// that may claim by privacy loss distributions is refused.
	Dominated bool
}

// Gate runs a mechanism whose cost depends on the data, only on data where that cost is small. It charges the
// small cost, and the charge is valid: generalised propose-test-release (Redberg, Zhu, Wang 2023).
//
// Take a mechanism M, with all its parameters fixed. Call a data set D good if M(D) costs no more than Cost
// against every neighbour: D_a(M(D)||M(D')) is at most the curve of Cost, for all D'. The distance of D is
// the number of records that must change to reach a data set that is not good; it is 0 if D itself is not
// good. M runs if the distance passes the private test of [MStab] with Laplace noise.
//
// Proof, for each order (D, D') of two neighbours. The outcome of the test costs Epsilon. If D is good, M
// adds at most Cost. If D is not good, its distance is 0, and the gate stays shut except with probability
// Delta. So the whole costs Epsilon and Cost, and fails with the exact tail, at most Delta. As the proof
// holds for both orders, the definition of good needs the direction D_a(M(D)||M(D')) only. Bounds like
// Theorem 6 of Papernot et al. (2018) are for this direction only and no guarantee by themselves; behind a
// gate they become one. A Rényi bound does not bound privacy loss distributions: if they account for the
// event (accountant.PLD), see GateConfig.Dominated.
//
// Testing the distance is what makes the charge valid: a test of whether D itself is good, however noisy,
// has no bounded sensitivity. Cost must not be chosen by looking at the data. Proposing another Cost after
// a refusal is a second mechanism with a second charge.
type Gate struct {
	test      *MStab
	cost      accountant.Event
	dominated bool
}

// NewGate returns the mechanism for cfg.
func NewGate(cfg GateConfig) (*Gate, error) {
	if cfg.Cost == nil {
		return nil, errors.New("stability: Cost of what is behind the gate is missing")
	}
	if err := accountant.Validate(cfg.Cost); err != nil {
		return nil, fmt.Errorf("stability: Cost: %w", err)
	}
	test, err := NewMStab(MStabConfig{Noise: Laplace, Epsilon: cfg.Epsilon, Delta: cfg.Delta, Questions: 1})
	if err != nil {
		return nil, err
	}
	return &Gate{test: test, cost: cfg.Cost, dominated: cfg.Dominated}, nil
}

// Event returns the event of the worst case: the test, and the mechanism behind the gate.
func (g *Gate) Event() accountant.Event {
	return accountant.Composed{Events: []accountant.Event{g.test.Event(), g.cost}}
}

// Law returns the log probabilities that the test passes and that the gate stays shut: see [MStab.Law].
func (g *Gate) Law(distance int64) (passed, shut float64) { return g.test.Law(distance) }

// Pass runs mechanism, with a key of its own, if the distance passes the test. Unless r charges exactly
// g.Event() and was not used before, Pass fails before it calls either function. It returns an error of
// either function unchanged: such an error must not be released.
func Pass[T any](g *Gate, r *ledger.Reservation, key rng.Key,
	distance func() (int64, error), mechanism func(rng.Key) (T, error)) (Answer[T], error) {
	return pass(g, 0, r, key, distance, mechanism)
}

// pass does the work of Pass. If relation is not 0, the distance is valid for that relation only.
func pass[T any](g *Gate, relation accountant.Relation, r *ledger.Reservation, key rng.Key,
	distance func() (int64, error), mechanism func(rng.Key) (T, error)) (Answer[T], error) {
	key, err := begin(g.Event(), ledger.Use{Relation: relation, Renyi: !g.dominated}, r, key)
	if err != nil {
		return Answer[T]{}, err
	}
	key = g.test.derive(key)
	passes := g.test.draw(key.Derive("gate").Stream())
	d, err := distance()
	if err != nil || !passes(d) {
		return Answer[T]{}, err
	}
	value, err := mechanism(key.Derive("behind the gate"))
	if err != nil {
		return Answer[T]{}, err
	}
	return Answer[T]{Value: value, Released: true}, nil
}

// Function is a real function of private data. Its local sensitivity is the most that one record can change
// it on these data, which may be much less than on other data. [Median] returns such a function.
type Function[D any] struct {
	Value func(data D) (float64, error)
	// Distance returns the number of records that must change to reach data at which the local sensitivity
	// exceeds bound, 0 if it does already. A smaller number is valid if neighbours change it by at most 1.
	Distance func(data D, bound float64) (int64, error)
	// Relation is the only relation for which Distance is valid, or 0 if it is valid for both.
	Relation accountant.Relation
}

// PTRConfig holds the parameters of a [PTR]. None has a default.
type PTRConfig struct {
	Bound       float64 // proposed local sensitivity, chosen without the data; [2^-500, 2^500]
	Epsilon     float64 // of the value; [2^-18, 2^9]
	TestEpsilon float64 // of the test; [2^-20, 2^9]
	Delta       float64 // probability that the test passes although the local sensitivity exceeds Bound; [1e-15, 1/4]
}

// PTR releases a real function with noise for a local sensitivity that was proposed in advance, if the data
// are far from any data on which that noise would be too little (Dwork, Lei 2009). It is a [Gate] with a
// Laplace mechanism behind it: with both epsilons equal it is (2 Epsilon, Delta)-differentially private. Data
// are good if the local sensitivity is at most Bound, because the values of neighbours then differ by at most
// Bound.
//
// The value is rounded to a grid with at least 2^20 units in Bound. The noise is discrete Laplace on that
// grid, for floor(Bound) + 1 units, because rounding may add one.
type PTR struct {
	cfg         PTRConfig
	gate        *Gate
	grid        grid
	sensitivity int64 // in units
	noise       *rng.DiscreteLaplace
}

// ptrBits is log2 of the least number of grid units in a bound.
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
		Dominated: true}) // two values within the bound have distributions that are shifts of each other
	if err != nil {
		return nil, fmt.Errorf("stability: the test: %w", err)
	}
	return p, nil
}

// mathUp raises x by more than the rounding error of its computation.
func mathUp(x float64) float64 { return x * (1 + 0x1p-50) }

// Event returns the event of the worst case: the test, and the release of the value.
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
