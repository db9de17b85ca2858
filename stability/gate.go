package stability

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// GateConfig holds the parameters of a [Gate]. No parameter has a default.
type GateConfig struct {
	Epsilon float64          // of the test; [2^-20, 2^9]
	Delta   float64          // probability that the test passes on data that are not good; [1e-15, 1/4]
	Cost    accountant.Event // cost on good data of the mechanism behind the gate
	// Dominated means that Cost bounds every hockey-stick divergence of the mechanism on all good data sets
	// (see [Gate]), in both directions. Otherwise Cost bounds only Rényi divergences. A ledger that may use
	// privacy loss distributions then refuses the gate.
	Dominated bool
}

// Proof, for each ordered pair (D, D') of neighbours. The result of the test costs Epsilon. If D is good, M
// adds at most Cost. If D is not good, its distance is 0, and M runs with probability at most Delta. So the
// gate costs Epsilon and Cost, and has a failure probability of at most Delta. The proof is for each order of
// the pair, so a good D needs only a bound on D_a(M(D)||M(D')). Theorem 6 of Papernot et al. (2018) bounds
// only this direction. Alone the theorem guarantees nothing, but it suffices for a gate.
//
// A test of "D is good" itself would not be private, because one record can change it. Cost must not depend
// on the data. A second try after a refusal, with another Cost, is a second mechanism and needs a second
// charge.

// Gate runs a mechanism only on data with a small privacy cost, and charges this small cost (generalised
// propose-test-release; Redberg, Zhu, Wang 2023).
//
// Let M be a mechanism with fixed parameters. A data set D is good if D_a(M(D)||M(D')) is at most the curve
// of Cost, for every neighbour D' and order a. Here D_a is the Rényi divergence. The distance of D is the
// least number of changed records that makes D not good. If D is not good, its distance is 0. If the distance
// passes the noisy test of [MStab], M runs.
type Gate struct {
	test      *MStab
	cost      accountant.Event
	dominated bool
}

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

// Event returns the event of the worst case, in which the mechanism behind the gate runs.
func (g *Gate) Event() accountant.Event {
	return accountant.Composed{Events: []accountant.Event{g.test.Event(), g.cost}}
}

// Law returns the log probabilities that the mechanism runs (passed) and does not run (shut).
func (g *Gate) Law(distance int64) (passed, shut float64) { return g.test.Law(distance) }

// Pass releases mechanism(k) for a new key k if distance() passes the noisy test. If r was used before or
// does not charge exactly g.Event(), Pass fails before it calls a function. An error of distance or mechanism
// is returned unchanged and must not be released.
func Pass[T any](g *Gate, r *ledger.Reservation, key rng.Key,
	distance func() (int64, error), mechanism func(rng.Key) (T, error)) (Answer[T], error) {
	return pass(g, 0, r, key, distance, mechanism)
}

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

// Function is a real-valued function of private data, such as [Median]. The local sensitivity on a data set
// is the largest difference of the values on this data set and on a neighbour.
type Function[D any] struct {
	Value func(data D) (float64, error)
	// Distance returns the least number (0 or more) of changed records for which the local sensitivity
	// exceeds bound. A lower number is valid if the numbers for neighbours differ by at most 1.
	Distance func(data D, bound float64) (int64, error)
	// Relation is the only relation for which Distance is valid, or 0 for any relation.
	Relation accountant.Relation
}

// PTRConfig holds the parameters of a [PTR]. No parameter has a default.
type PTRConfig struct {
	Bound       float64 // proposed bound on the local sensitivity, chosen without the data; [2^-500, 2^500]
	Epsilon     float64 // of the value; [2^-18, 2^9]
	TestEpsilon float64 // of the test; [2^-20, 2^9]
	Delta       float64 // probability that the test passes if the local sensitivity exceeds Bound; [1e-15, 1/4]
}

// PTR releases a real function with noise for a proposed bound on the local sensitivity
// (propose-test-release; Dwork, Lei 2009). PTR is a [Gate] around a Laplace mechanism. A data set is good if
// its local sensitivity is at most Bound. PTR is (Epsilon + TestEpsilon, Delta)-differentially private.
//
// The value is rounded to multiples of a unit of at most Bound/2^20. Rounding can raise a difference by one
// unit. So the discrete Laplace noise is for a sensitivity of floor(Bound/unit) + 1 units.
type PTR struct {
	cfg         PTRConfig
	gate        *Gate
	grid        grid
	sensitivity int64 // in units
	noise       *rng.DiscreteLaplace
}

const ptrBits = 20

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
		Dominated: true}) // within the bound, the distributions of two values are shifts of each other
	if err != nil {
		return nil, fmt.Errorf("stability: the test: %w", err)
	}
	return p, nil
}

func mathUp(x float64) float64 { return x * (1 + 0x1p-50) }

// Event returns the event of the worst case, in which the value is released.
func (p *PTR) Event() accountant.Event { return p.gate.Event() }

// Propose releases f.Value(data) plus noise if the test accepts the proposed bound. It fails if r does not
// charge exactly p.Event(), or if r was used before.
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
