package label

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

func TestLabelsAreThoseOfTheSession(t *testing.T) {
	for _, mechanism := range append(mechanisms.Names(plan.Plannable), stableMechanisms...) {
		t.Run(mechanism, func(t *testing.T) {
			c := standard(t)
			c.Setting.Mechanism = mechanism
			switch {
			case mechanism == plan.Confident:
				c = confidently(c, 15, 20)
			case slices.Contains(stableMechanisms, mechanism):
				c = stably(t, mechanism)
			}
			seed := uint64(7)
			c.Seed = &seed
			r := release1(t, c)
			labels := read(t, c.Out)
			require.Equal(t, expected(t, c, r.Setting, rng.SeedKey(7)), labels)
			require.False(t, r.Releasable)
			require.True(t, r.Calibrated)
			require.Equal(t, r.Asked, strings.Count(labels, "\n")-1)
			require.Equal(t, r.Declined, strings.Count(labels, ",\n"))
			require.Equal(t, testQueries, r.Asked+r.NotAsked)
			require.Equal(t, r.Asked, r.Answered+r.Declined)
			require.LessOrEqual(t, r.Epsilon, c.Account.Epsilon)
			require.Equal(t, c.Account.Epsilon, r.Claim)
			require.Equal(t, ledger.SeededNoise, summary(t, c.Ledger).Config.Noise)
			switch mechanism {
			case plan.Confident:
				require.Equal(t, 20, r.Answered)
				require.Positive(t, r.NotAsked)
			case stable.MStab:
				require.Equal(t, testQueries, r.Asked)
			case stable.MSvec, stable.SVT:
				require.EqualValues(t, max(1, testQueries/20), r.Setting.Values["failures"])
				require.LessOrEqual(t, float64(r.Declined), r.Setting.Values["failures"])
			}
			if slices.Contains([]string{plan.Confident, stable.MStab, stable.MSvec}, mechanism) {
				require.Positive(t, r.Declined)
			}
			// Repeated, also where the labels are gone: a seed is a key that stays.
			again := release1(t, c)
			require.True(t, again.Complete)
			require.Equal(t, r.Asked, again.Asked)
			require.Equal(t, r.Answered, again.Answered)
			require.NoError(t, os.Remove(c.Out))
			require.False(t, release1(t, c).Complete)
			require.Equal(t, labels, read(t, c.Out))
			require.EqualValues(t, 1, summary(t, c.Ledger).Entries)
			if !slices.Contains(stableMechanisms, mechanism) {
				return
			}
			// Noise and threshold of the run, given, are the same run; others are not.
			c.Setting = r.Setting
			require.True(t, release1(t, c).Complete)
			c.Setting = c.Setting.With("threshold", c.Setting.Values["threshold"]+1)
			require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "threshold")
		})
	}
}

func TestTheKeyIsDestroyedAndWhatIsCompleteStays(t *testing.T) {
	c := standard(t)
	r := release1(t, c)
	require.True(t, r.Releasable)
	require.Empty(t, keys(t, c))
	info := testkit.Must(os.Stat(run.IDFile(c.Ledger)))
	require.Equal(t, os.FileMode(0o600), info.Mode())
	before, labels := read(t, c.Ledger), read(t, c.Out)
	again := release1(t, c)
	require.True(t, again.Complete)
	require.Equal(t, r.Setting, again.Setting)
	require.Equal(t, before, read(t, c.Ledger), "nothing is charged again")

	// A copy is as good as the file.
	c.Out = write(t, filepath.Join(filepath.Dir(c.Out), "copy.csv"), labels)
	require.True(t, release1(t, c).Complete)
}

// Noise is chosen by what is left, by composition, and by nothing in the votes.
func TestNoiseIsChosenToFit(t *testing.T) {
	c := standard(t)
	first := release1(t, c)
	require.InDelta(t, 2, first.Epsilon, 1e-4)

	c = standard(t)
	c.Votes = open(t, write(t, filepath.Join(filepath.Dir(c.Out), "other.csv"), voteRows(9, testQueries, testTeachers)), votes.Options{})
	require.Equal(t, first.Setting, release1(t, c).Setting, "whatever the votes are")

	c = standard(t)
	c.Setting = c.Setting.With("sigma", 30)
	spent := release1(t, c)
	c.Votes = open(t, write(t, filepath.Join(filepath.Dir(c.Out), "other.csv"), voteRows(9, testQueries, testTeachers)), votes.Options{})
	c.Setting.Values, c.Pool, c.Out = nil, "other", c.Out+"2"
	rest := release1(t, c)
	require.InDelta(t, 1/first.Setting.Values["sigma"]/first.Setting.Values["sigma"],
		1/900.+1/rest.Setting.Values["sigma"]/rest.Setting.Values["sigma"], 1e-6, "Gaussian costs add up as 1/sigma^2")
	require.Greater(t, spent.Epsilon+rest.Epsilon, 2.0, "composition leaves more than the difference")
	require.EqualValues(t, 2, summary(t, c.Ledger).Commits)
	c.Votes = open(t, write(t, filepath.Join(filepath.Dir(c.Out), "third.csv"), voteRows(10, testQueries, testTeachers)), votes.Options{})
	c.Pool, c.Out = "third", c.Out+"3"
	_, err := Run(context.Background(), c)
	if err == nil { // rounding the noise up left crumbs
		require.Greater(t, read(t, c.Out), "")
	} else {
		require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	}
}

func TestReservedModeIsForOneRun(t *testing.T) {
	c := standard(t)
	c.Account.Mode = ledger.Reserved
	c.Setting = c.Setting.With("sigma", 60)
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: 30})
	r := release1(t, c)
	require.Less(t, r.Epsilon, 1.0)
	require.Equal(t, r.Epsilon, r.Claim)
	require.True(t, release1(t, c).Complete)
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{From: 30})
	c.Out += "2"
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "takes no more")
}

// Parts of one file are runs of their own.
func TestPartsOfAFile(t *testing.T) {
	c := standard(t)
	path := filepath.Join(filepath.Dir(c.Out), "votes.csv")
	c.Setting = c.Setting.With("sigma", 40)
	c.Votes = open(t, path, votes.Options{To: 20})
	release1(t, c)
	c.Votes, c.Out = open(t, path, votes.Options{From: 20}), c.Out+"2"
	r := release1(t, c)
	require.Equal(t, 40, r.Asked)
	require.True(t, strings.HasPrefix(read(t, c.Out), "query,label\n20,"))
}

func TestInteractive(t *testing.T) {
	c, lines := predicted(t)
	seed := uint64(2) // secret noise would change an answer now and then
	c.Seed = &seed
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{From: 3})
	r := release1(t, c)
	require.Equal(t, testQueries-3, r.Answered, "the student is sure, and the teachers do not contradict")
	for q, line := range strings.Split(strings.TrimSpace(read(t, c.Out)), "\n")[1:] {
		require.Equal(t, fmt.Sprintf("%d,%d", q+3, (q+3)%testClasses), line)
	}
	require.True(t, release1(t, c).Complete)
	write(t, c.Predictions, strings.Replace(strings.Join(lines, "\n"), "0.98", "0.9805", 1))
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "other predictions")
}

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
