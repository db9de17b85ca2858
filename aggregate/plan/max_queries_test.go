package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
)

// TestCarries: as many queries fit as are said and not one more, whatever number the search
// begins at; and what loss distributions add in mode reserved.
func TestMaxQueries(t *testing.T) {
	carried := func(s aggregate.Setting, mode ledger.Mode) int {
		cfg := ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: mode, Accountant: accountant.ByAuto}
		n, err := MaxQueries(t.Context(), s, cfg)
		require.NoError(t, err)
		if n == 0 || s.Mechanism != GNMax {
			return n
		}
		book, err := ledger.New(cfg)
		require.NoError(t, err)
		one := accountant.GNMax{Sigma: s.Values["sigma"], Discrete: true}
		require.NoError(t, book.Try(accountant.Repeated{Event: one, Count: int64(n)}))
		require.Error(t, book.Try(accountant.Repeated{Event: one, Count: int64(n) + 1}))
		return n
	}
	for _, begin := range []int{1, 150, 5000} {
		s := aggregate.Setting{Mechanism: GNMax, Queries: begin}.With("sigma", 40)
		filter, reserved := carried(s, ledger.Filter), carried(s, ledger.Reserved)
		require.Greater(t, float64(reserved), 1.15*float64(filter))
	}
	require.Zero(t, carried(aggregate.Setting{Mechanism: GNMax, Queries: 7}.With("sigma", 0.5), ledger.Filter), "not one")
	s := aggregate.Setting{Mechanism: Confident, Queries: 100}.With("threshold", 60).With("sigma1", 100).With("sigma2", 40).With("answers", 50)
	require.Greater(t, carried(s, ledger.Filter), carried(s.With("answers", 100), ledger.Filter), "answers keep their share")
	_, err := MaxQueries(t.Context(), aggregate.Setting{Mechanism: stable.MStab, Queries: 1}, ledger.Config{})
	require.Error(t, err)
}
