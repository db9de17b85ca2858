package learn

import (
	"context"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// Paid reserves an event on a ledger of its own without a limit that matters: mechanisms run only on a
// reservation, and a trace releases nothing. One Rényi order is enough for a sum that nobody reads.
func Paid(e accountant.Event, relation accountant.Relation) (*ledger.Reservation, error) {
	budget, err := ledger.New(ledger.Config{
		Unit: "record", Relation: relation, Epsilon: 1e300, Delta: math.Nextafter(1, 0), Orders: []float64{2}, Noise: ledger.SeededNoise,
	})
	if err != nil {
		return nil, err
	}
	return budget.Reserve(e)
}

// epsilonBy returns the joint cost of events by an accountant.
func epsilonBy(account accountant.Accountant, delta float64, events ...accountant.Event) float64 {
	if err := account.Compose(accountant.Composed{Events: events}, 1); err != nil {
		Must(0, err)
	}
	return Must(account.Epsilon(context.Background(), delta)).Upper
}

// renyiEpsilon returns the joint cost of events by the Rényi accountant.
func renyiEpsilon(delta float64, events ...accountant.Event) (float64, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, delta, events...)
	return b.Upper, err
}
