package stability

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// GateConfig are the parameters of a [Gate]; none has a default.
type GateConfig struct {
	Epsilon float64          // of the test; [2^-20, 2^9]
	Delta   float64          // probability that the test passes where it should not; [1e-15, 1/4]
	Cost    accountant.Event // what the mechanism behind the gate costs where the gate may be passed
}

// Gate runs a mechanism whose cost depends on the data only where that cost is
// small, and charges that small cost lawfully: generalised propose-test-release
// (Redberg, Zhu, Wang 2023).
//
// Take a mechanism M, with all its parameters fixed, and call a data set D good if
// M(D) costs no more than Cost against every neighbour: D_a(M(D)||M(D')) is at most
// the curve of Cost, for all D'. The distance of D is the number of records that must
// change to reach a data set that is not good, 0 if D is none. M runs if the distance
// passes a private test, that of [MStab] with Laplace noise.
//
// Proof, for each order (D, D') of two neighbours. The outcome of the test costs
// Epsilon. If D is good, M adds at most Cost. If it is not, its distance is 0, and the
// gate stays shut except with probability Delta. So the whole costs Epsilon and Cost,
// and fails with the exact tail, at most Delta. As the pair is taken in both orders,
// the one direction D_a(M(D)||M(D')) is enough in what good means, and bounds like
// that of Papernot et al. (2018, Theorem 6), which are about this direction only and
// no guarantee by themselves, become one behind a gate.
//
// A Rényi bound says nothing of loss distributions: where the event is accounted by
// those (accountant.PLD), good must mean that M(D) is dominated by Cost, in every
// hockey-stick divergence. Ledgers account by Rényi divergence.
//
// The distance is what makes it lawful: a test of whether D itself is good, however
// noisy, has no bounded sensitivity. Nor may Cost be chosen by looking: proposing
// another after a refusal is a second mechanism with a second charge.
type Gate struct {
	test *MStab
	cost accountant.Event
}

// NewGate returns the mechanism for cfg.
func NewGate(cfg GateConfig) (*Gate, error) {
	if cfg.Cost == nil {
		return nil, errors.New("stability: Cost of what is behind the gate is missing")
	}
	if err := cfg.Cost.Validate(); err != nil {
		return nil, fmt.Errorf("stability: Cost: %w", err)
	}
	test, err := NewMStab(MStabConfig{Noise: Laplace, Epsilon: cfg.Epsilon, Delta: cfg.Delta, Questions: 1})
	if err != nil {
		return nil, err
	}
	return &Gate{test: test, cost: cfg.Cost}, nil
}

// Event is the worst case: the test, and what is behind it.
func (g *Gate) Event() accountant.Event {
	return accountant.Composed{Events: []accountant.Event{g.test.Event(), g.cost}}
}

// Law is that of the test: [MStab.Law].
func (g *Gate) Law(distance int64) (passed, shut float64) { return g.test.Law(distance) }

// Pass runs mechanism, with a key of its own, if the distance passes the test. It
// fails, with nothing touched, unless r charges exactly g.Event() and was not used
// before. An error of either function is returned as it is and must not be shown to
// those who may see only what is released.
func Pass[T any](g *Gate, r *ledger.Reservation, key Key, distance func() (int64, error), mechanism func(Key) (T, error)) (Answer[T], error) {
	return pass(g, 0, r, key, distance, mechanism)
}

// pass is Pass for a distance that is one for that relation only, or either if it is 0.
func pass[T any](g *Gate, relation accountant.Relation, r *ledger.Reservation, key Key, distance func() (int64, error), mechanism func(Key) (T, error)) (Answer[T], error) {
	key, err := begin(g.Event(), relation, r, key)
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
