package label

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// stably is a run of 60 queries and 250 teachers, who agree more on some queries than on others.
func stably(t *testing.T, mechanism string) Config {
	c := standard(t)
	path := write(t, filepath.Join(filepath.Dir(c.Ledger), "many.csv"), voteRows(3, testQueries, 250))
	c.Votes = open(t, path, votes.Options{})
	c.Account.Epsilon, c.Account.Delta = 2.5, 1e-5
	c.Setting = with(mechanism)
	return c
}

var stableMechanisms = []string{stable.MStab, stable.MSvec, stable.SVT}

// TestStableRunsShareALedger: each run takes part of the delta that is left.
func TestStableRunsShareALedger(t *testing.T) {
	c := stably(t, stable.SVT)
	for i, s := range []aggregate.Setting{
		with(stable.SVT, "b1", 6.0, "b2", 30.0, "threshold", 80.0, "failures", 3.0),
		with(stable.MStab, "sigma", 60.0, "threshold", 330.0), with(plan.GNMax),
	} {
		c.Pool, c.Out, c.Setting = fmt.Sprint("pool", i), fmt.Sprint(c.Out, i), s
		path := write(t, filepath.Join(filepath.Dir(c.Ledger), fmt.Sprint(i, ".csv")), voteRows(uint64(10+i), testQueries, 250))
		c.Votes = open(t, path, votes.Options{})
		r := release1(t, c)
		require.Equal(t, i == 2, r.Calibrated)
		require.LessOrEqual(t, r.Epsilon, c.Account.Epsilon)
	}
	require.EqualValues(t, 3, summary(t, c.Ledger).Entries)
}

func TestStableRefusals(t *testing.T) {
	for name, s := range map[string]aggregate.Setting{
		"threshold alone": with(stable.SVT, "threshold", 30.0),
		"fraction":        with(stable.SVT, "b1", 4.0, "b2", 30.0, "threshold", 60.5),
		"NaN":             with(stable.SVT, "b1", 4.0, "b2", math.NaN(), "threshold", 60.0),
		"half":            with(stable.SVT, "b2", 30.0, "threshold", 60.0),
		"many failures":   with(stable.SVT, "failures", testQueries+1.0),
		"negative":        with(stable.SVT, "failures", -1.0),
		"of another":      with(stable.SVT, "lambda", 3.0),
		"two noises":      with(stable.MStab, "sigma", 3.0, "scale", 3.0, "threshold", 60.0),
	} {
		c := stably(t, stable.SVT)
		c.Setting = s
		before := contents(t, filepath.Dir(c.Ledger))
		_, err := Run(context.Background(), c)
		var refused *fault.Error
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, before, contents(t, filepath.Dir(c.Ledger)), name)
	}
	// Noise that no agreement of 25 teachers gets over is not charged for.
	hopeless := standard(t)
	hopeless.Setting = with(stable.MSvec)
	before := contents(t, filepath.Dir(hopeless.Ledger))
	require.ErrorContains(t, testkit.Err(Run(context.Background(), hopeless)), "25 teachers")
	require.Equal(t, before, contents(t, filepath.Dir(hopeless.Ledger)))

	c := stably(t, stable.SVT)
	c.Setting = with(stable.SVT, "b1", 4.0, "b2", 1.0, "threshold", 60.0, "failures", 3.0)
	_, err := Run(context.Background(), c)
	var over *BudgetError
	require.ErrorAs(t, err, &over)
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	require.False(t, strings.Contains(err.Error(), "0 queries"))
}
