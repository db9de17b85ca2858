package learn

import (
	"context"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// Paid pays for an event on a ledger of its own, with room for anything: mechanisms
// run only on what is paid for, and a trace only tells what they would do. One order
// is enough for a sum that nobody reads.
func Paid(e accountant.Event, relation accountant.Relation) (*ledger.Reservation, error) {
	budget, err := ledger.New(ledger.Config{
		Unit: "record", Relation: relation, Epsilon: 1e300, Delta: math.Nextafter(1, 0), Orders: []float64{2}, Noise: ledger.SeededNoise,
	})
	if err != nil {
		return nil, err
	}
	return budget.Reserve(e)
}

// epsilonBy returns what events cost together by an accountant.
func epsilonBy(account accountant.Accountant, delta float64, events ...accountant.Event) (float64, error) {
	if err := account.Compose(accountant.Composed{Events: events}, 1); err != nil {
		return 0, err
	}
	b, err := account.Epsilon(context.Background(), delta)
	return b.Upper, err
}

// renyiEpsilon returns what events cost together by the Rényi accountant.
func renyiEpsilon(delta float64, events ...accountant.Event) (float64, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, delta, events...)
	return b.Upper, err
}
