package label

import (
	"context"
	"fmt"
	"math"
	"os"
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
	"github.com/pate-go/pate/rng"
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

func TestStableLabels(t *testing.T) {
	for _, mechanism := range []string{stable.MStab, stable.MSvec, stable.SVT} {
		t.Run(mechanism, func(t *testing.T) {
			c := stably(t, mechanism)
			seed := uint64(7)
			c.Seed = &seed
			r := release1(t, c)
			require.True(t, r.Calibrated)
			require.Equal(t, r.Asked, r.Answered+r.Declined)
			require.LessOrEqual(t, r.Epsilon, c.Account.Epsilon)
			require.False(t, r.Releasable)
			labels := read(t, c.Out)
			require.Equal(t, expected(t, c, r.Setting, rng.SeedKey(7)), labels)
			if mechanism == stable.MStab {
				require.Equal(t, testQueries, r.Asked)
			} else {
				require.EqualValues(t, max(1, testQueries/20), r.Setting.Values["failures"])
				require.LessOrEqual(t, float64(r.Declined), r.Setting.Values["failures"])
			}
			if mechanism != stable.SVT {
				require.Positive(t, r.Declined)
			}
			t.Logf("%d of %d, %d declined: %+v", r.Answered, r.Asked, r.Declined, r.Setting)

			again := release1(t, c)
			require.True(t, again.Complete)
			require.NoError(t, os.Remove(c.Out))
			require.False(t, release1(t, c).Complete)
			require.Equal(t, labels, read(t, c.Out))

			// Noise and threshold of the run, given, are the same run; others are not.
			c.Setting = r.Setting
			require.True(t, release1(t, c).Complete)
			c.Setting = c.Setting.With("threshold", c.Setting.Values["threshold"]+1)
			require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "threshold")
		})
	}
}

// TestStableRunsResume stops a run after each of its steps.
func TestStableRunsResume(t *testing.T) {
	for _, mechanism := range []string{stable.MStab, stable.MSvec, stable.SVT} {
		for _, where := range []string{"reserved", "drawn", "committed", "named"} {
			t.Run(mechanism+" "+where, func(t *testing.T) {
				c := stably(t, mechanism)
				crashed(t, c, where)
				w := witness{config: c}
				w.learn(t)
				first := release1(t, c)
				require.True(t, first.Resumed)
				require.True(t, first.Releasable)
				require.Equal(t, w.labels, read(t, c.Out))
				require.EqualValues(t, 1, summary(t, c.Ledger).Entries)
			})
		}
	}
}

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
