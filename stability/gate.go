package stability

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// GateConfig holds the parameters of a [Gate]. None has a default.
type GateConfig struct {
	Epsilon float64          // of the test; [2^-20, 2^9]
	Delta   float64          // probability that the test passes where it should not; [1e-15, 1/4]
	Cost    accountant.Event // what the mechanism behind the gate costs where the gate may be passed
	// Dominated: a data set is called good only if the mechanism behind the gate is dominated by Cost
	// there, in every hockey-stick divergence and in both orders, and not only within its Rényi curve.
	// Without it a ledger on which privacy loss distributions may claim is refused.
	Dominated bool
}

// Gate runs a mechanism whose cost depends on the data, only where that cost is small. It charges that
// small cost, and the charge is valid: generalised propose-test-release (Redberg, Zhu, Wang 2023).
//
// Take a mechanism M, with all its parameters fixed. Call a data set D good if M(D) costs no more than Cost
// against every neighbour: D_a(M(D)||M(D')) is at most the curve of Cost, for all D'. The distance of D is
// the number of records that must change to reach a data set that is not good, 0 if D itself is not. M runs
// if the distance passes the private test of [MStab] with Laplace noise.
//
// Proof, for each order (D, D') of two neighbours. The outcome of the test costs Epsilon. If D is good, M
// adds at most Cost. If D is not good, its distance is 0, and the gate stays shut except with probability
// Delta. So the whole costs Epsilon and Cost, and fails with the exact tail, at most Delta. The pair is
// taken in both orders, so the one direction D_a(M(D)||M(D')) is enough in the definition of good. Bounds
// like Theorem 6 of Papernot et al. (2018) are about this direction only and no guarantee by themselves;
// behind a gate they become one. A Rényi bound does not bound privacy loss distributions: if they account
// for the event (accountant.PLD), see GateConfig.Dominated.
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

// Event returns the worst case: the test, and the mechanism behind the gate.
func (g *Gate) Event() accountant.Event {
	return accountant.Composed{Events: []accountant.Event{g.test.Event(), g.cost}}
}

// Law returns the law of the test: see [MStab.Law].
func (g *Gate) Law(distance int64) (passed, shut float64) { return g.test.Law(distance) }

// Pass runs mechanism, with a key of its own, if the distance passes the test. It fails, with nothing
// touched, unless r charges exactly g.Event() and was not used before. It returns an error of either
// function as it is: such an error must not leave.
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
