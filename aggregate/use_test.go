package aggregate

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// reserveOn charges n times on one ledger, whose statement says that outcomes may be released.
func reserveOn(t *testing.T, e accountant.Event, n int) []*ledger.Reservation {
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.ReplaceOne, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SecretNoise}))
	events := make([]accountant.Event, n)
	for i := range events {
		events[i] = e
	}
	return testkit.Must(l.ReserveBatch(events))
}

func TestSeedsAreRefusedWhereNoiseIsSecret(t *testing.T) {
	m := gnmax(t, 40, 10)
	r := reserveOn(t, m.Event(), 1)[0]
	s, err := m.Start(r, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrUnfit)
	require.Nil(t, s)
	_, err = m.Start(r, testkit.Must(rng.NewKey()))
	require.NoError(t, err, "either relation")
}

// Charges under one key meet independent noise each: with the same noise, answers
// to other votes would agree far more often than one time in five.
func TestChargesUnderOneKey(t *testing.T) {
	const queries, charges = 1000, 3
	m := gnmax(t, 400, queries)
	key := testkit.Must(rng.NewKey())
	var answers [charges][queries]int
	for i, r := range reserveOn(t, m.Event(), charges) {
		s := testkit.Must(m.Start(r, key))
		for q := range answers[i] {
			a := testkit.Must(s.Ask(uint64(q), histogram(t, 50+2*(i%2), 50+i%2, 50, 50, 50-3*(i%2))))
			answers[i][q] = a.Label
		}
		for j := range i {
			same := 0
			for q, label := range answers[i] {
				if label == answers[j][q] {
					same++
				}
			}
			require.Less(t, same, 300, "200 on average, 13 the standard deviation: false alarm below 1e-12")
		}
	}
}
