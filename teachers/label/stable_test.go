package label

import (
	"context"
	"errors"
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
	"github.com/pate-go/pate/aggregate/stable"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/teachers/votes"
)

// stably is a run of 60 queries and 250 teachers, who agree more on some queries than on
// others.
func stably(t *testing.T, mechanism string) Config {
	c := standard(t)
	path := write(t, filepath.Join(filepath.Dir(c.Ledger), "many.csv"), voteRows(3, testQueries, 250))
	c.Votes = open(t, path, votes.Options{})
	c.Account.Epsilon, c.Account.Delta = 2.5, 1e-5
	c.Setting = Setting{Setting: plan.Setting{Mechanism: mechanism}}
	return c
}

func TestStableLabels(t *testing.T) {
	for _, mechanism := range stable.Mechanisms() {
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
			require.Equal(t, expected(t, c, r.Setting, aggregate.SeedKey(7)), labels)
			if mechanism == stable.MStab {
				require.Equal(t, testQueries, r.Asked)
			} else {
				require.Equal(t, max(1, testQueries/20), r.Setting.Failures)
				require.LessOrEqual(t, r.Declined, r.Setting.Failures)
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
			c.Setting.Sigma, c.Setting.Scale, c.Setting.ThresholdScale = r.Setting.Sigma, r.Setting.Scale, r.Setting.ThresholdScale
			c.Setting.Threshold = r.Setting.Threshold
			require.True(t, release1(t, c).Complete)
			c.Setting.Threshold++
			_, err := Run(context.Background(), c)
			require.ErrorContains(t, err, "threshold")
		})
	}
}

// TestStableRunsResume stops a run after each of its steps.
func TestStableRunsResume(t *testing.T) {
	stop := errors.New("stopped")
	for _, mechanism := range stable.Mechanisms() {
		for _, where := range []string{"reserved", "drawn", "committed", "named"} {
			t.Run(mechanism+" "+where, func(t *testing.T) {
				c := stably(t, mechanism)
				_, err := Run(crash.With(context.Background(), func(step string) error {
					if step == where {
						return stop
					}
					return nil
				}), c)
				require.ErrorIs(t, err, stop)
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
	c.Setting.Scale, c.Setting.ThresholdScale, c.Setting.Threshold, c.Setting.Failures = 30, 6, 80, 3
	first := release1(t, c)
	require.False(t, first.Calibrated)
	for i, mechanism := range []string{stable.MStab, plan.GNMax} {
		c.Pool, c.Out = fmt.Sprint("pool", i), fmt.Sprint(c.Out, i)
		path := write(t, filepath.Join(filepath.Dir(c.Ledger), fmt.Sprint(i, ".csv")), voteRows(uint64(10+i), testQueries, 250))
		c.Votes = open(t, path, votes.Options{})
		c.Setting = Setting{Setting: plan.Setting{Mechanism: mechanism}}
		if mechanism == stable.MStab {
			c.Setting.Sigma, c.Setting.Threshold = 60, 330
		}
		r := release1(t, c)
		require.LessOrEqual(t, r.Epsilon, c.Account.Epsilon)
	}
	require.EqualValues(t, 3, summary(t, c.Ledger).Entries)
}

func TestStableRefusals(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"threshold alone": func(c *Config) { c.Setting.Threshold = 30 },
		"fraction":        func(c *Config) { c.Setting.Scale, c.Setting.ThresholdScale, c.Setting.Threshold = 30, 4, 60.5 },
		"NaN":             func(c *Config) { c.Setting.Scale, c.Setting.ThresholdScale, c.Setting.Threshold = math.NaN(), 4, 60 },
		"half":            func(c *Config) { c.Setting.Scale, c.Setting.Threshold = 30, 60 },
		"many failures":   func(c *Config) { c.Setting.Failures = testQueries + 1 },
		"negative":        func(c *Config) { c.Setting.Failures = -1 },
	} {
		c := stably(t, stable.SVT)
		change(&c)
		before := contents(t, filepath.Dir(c.Ledger))
		_, err := Run(context.Background(), c)
		var refused *Error
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, before, contents(t, filepath.Dir(c.Ledger)), name)
	}
	// Noise that no agreement of 25 teachers gets over is not charged for.
	hopeless := standard(t)
	hopeless.Setting = Setting{Setting: plan.Setting{Mechanism: stable.MSvec}}
	before := contents(t, filepath.Dir(hopeless.Ledger))
	_, err := Run(context.Background(), hopeless)
	require.ErrorContains(t, err, "25 teachers")
	require.Equal(t, before, contents(t, filepath.Dir(hopeless.Ledger)))

	c := stably(t, stable.SVT)
	c.Setting.Scale, c.Setting.ThresholdScale, c.Setting.Threshold, c.Setting.Failures = 1, 4, 60, 3
	_, err = Run(context.Background(), c)
	var over *BudgetError
	require.ErrorAs(t, err, &over)
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	require.False(t, strings.Contains(err.Error(), "0 queries"))
}
