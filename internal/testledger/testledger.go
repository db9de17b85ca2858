// Package testledger provides charged reservations for tests of mechanisms.
package testledger

import (
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// Reserve charges an event to a new in-memory ledger with a huge budget.
func Reserve(t require.TestingT, relation accountant.Relation, e accountant.Event) *ledger.Reservation {
	l, err := ledger.New(ledger.Config{Unit: "record", Relation: relation, Epsilon: 1e9, Delta: 1 - 1e-9})
	require.NoError(t, err)
	r, err := l.Reserve(e)
	require.NoError(t, err)
	return r
}

// Account returns an RDP account of one event.
func Account(t require.TestingT, relation accountant.Relation, e accountant.Event) *accountant.RDP {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: relation})
	require.NoError(t, err)
	require.NoError(t, account.Compose(e, 1))
	return account
}
