package svt

import (
	"context"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
)

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.ReplaceOne, e)
}

// deltaOf returns what an account claims for one event.
func deltaOf(t require.TestingT, e accountant.Event, eps float64) float64 {
	b := testkit.Must(testledger.Account(t, accountant.ReplaceOne, e).Delta(context.Background(), eps))
	return b.Upper
}
