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

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/number"
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
	c.Out = testkit.Write(t, filepath.Join(filepath.Dir(c.Out), "copy.csv"), labels)
	require.True(t, release1(t, c).Complete)
}

// Noise is chosen by what is left, by composition, and by nothing in the votes.
func TestNoiseIsChosenToFit(t *testing.T) {
	first := release1(t, standard(t))
	require.InDelta(t, 2, first.Epsilon, 1e-4)

	c := standard(t)
	c.Votes = beside(t, c, "other.csv", voteRows(9, testQueries, testTeachers), votes.Options{})
	require.Equal(t, first.Setting, release1(t, c).Setting, "whatever the votes are")

	c = standard(t)
	c.Setting = c.Setting.With("sigma", 30)
	spent := release1(t, c)
	c.Votes = beside(t, c, "other.csv", voteRows(9, testQueries, testTeachers), votes.Options{})
	c.Setting.Values, c.Pool, c.Out = nil, "other", c.Out+"2"
	rest := release1(t, c)
	require.InDelta(t, 1/first.Setting.Values["sigma"]/first.Setting.Values["sigma"],
		1/900.+1/rest.Setting.Values["sigma"]/rest.Setting.Values["sigma"], 1e-6, "Gaussian costs add up as 1/sigma^2")
	require.Greater(t, spent.Epsilon+rest.Epsilon, 2.0, "composition leaves more than the difference")
	require.EqualValues(t, 2, summary(t, c.Ledger).Commits)
	c.Votes = beside(t, c, "third.csv", voteRows(10, testQueries, testTeachers), votes.Options{})
	c.Pool, c.Out = "third", c.Out+"3"
	_, err := Run(context.Background(), c)
	if err == nil { // rounding the noise up left crumbs
		require.Greater(t, read(t, c.Out), "")
	} else {
		require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	}
}

// Noise that is rounded up fits: the bound of a privacy loss distribution is not quite monotone in the noise.
func TestRoundedNoiseFits(t *testing.T) {
	cfg := ledger.Config{Unit: "row", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Accountant: accountant.ByAuto}
	for i, queries := range []int{20_000, 30_000, 100_000} {
		book := testkit.Must(ledger.Open(t.Context(), filepath.Join(t.TempDir(), fmt.Sprint(i)), cfg, ledger.VerifyOptions{}))
		asked := setting{testkit.Must(mechanisms.Find("gnmax")), aggregate.Setting{Mechanism: "gnmax", Queries: queries}}
		s := testkit.Must(asked.chooseNoise(t.Context(), book))
		require.Equal(t, number.Up(s.s.Values["sigma"], 6), s.s.Values["sigma"])
		testkit.Must(book.Reserve(testkit.Must(s.d.Event(s.s))))
		require.NoError(t, book.Close())
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
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "allows no further charge")
}

// Parts of one file are runs of their own.
func TestPartsOfAFile(t *testing.T) {
	c := standard(t)
	path := filepath.Join(filepath.Dir(c.Out), "votes.csv")
	c.Setting = c.Setting.With("sigma", 40)
	c.Votes = open(t, path, votes.Options{To: 20})
	release1(t, c)
	c.Votes, c.Out = open(t, path, votes.Options{From: 20}), c.Out+"2"
	require.Equal(t, 40, release1(t, c).Asked)
	require.True(t, strings.HasPrefix(read(t, c.Out), "query,label\n20,"))
}

func TestInteractive(t *testing.T) {
	c, lines := predicted(t)
	seed := uint64(2) // secret noise would change an answer now and then
	c.Seed = &seed
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{From: 3})
	require.Equal(t, testQueries-3, release1(t, c).Answered, "the student is sure, and the teachers do not contradict")
	for q, line := range strings.Split(strings.TrimSpace(read(t, c.Out)), "\n")[1:] {
		require.Equal(t, fmt.Sprintf("%d,%d", q+3, (q+3)%testClasses), line)
	}
	require.True(t, release1(t, c).Complete)
	testkit.Write(t, c.Predictions, strings.Replace(strings.Join(lines, "\n"), "0.98", "0.9805", 1))
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "other predictions")
}

// stably is a run of 60 queries and 250 teachers, who agree more on some queries than on others.
func stably(t *testing.T, mechanism string) Config {
	c := standard(t)
	c.Votes = beside(t, c, "many.csv", voteRows(3, testQueries, 250), votes.Options{})
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
		c.Votes = beside(t, c, fmt.Sprint(i, ".csv"), voteRows(uint64(10+i), testQueries, 250), votes.Options{})
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
		testkit.ErrorAs[*fault.Error](t, testkit.Err(Run(context.Background(), c)), name)
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
	testkit.ErrorAs[*BudgetError](t, err)
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	require.False(t, strings.Contains(err.Error(), "0 queries"))
}

// Nothing about these runs may change what was answered.
func TestRefusals(t *testing.T) {
	seed := uint64(1)
	other := func(rows string, opt votes.Options) func(*Config) {
		return func(c *Config) { c.Votes = beside(t, *c, "other.csv", rows, opt) }
	}
	rows := voteRows(1, testQueries, testTeachers)
	changed := "1" + rows[1:]
	if rows[0] == '1' {
		changed = "2" + rows[1:]
	}
	for name, c := range map[string]struct {
		change func(c *Config)
		says   string
	}{
		"one vote changed": {other(changed, votes.Options{}), "other votes"},
		"more teachers":    {other(voteRows(1, testQueries, testTeachers+1), votes.Options{}), "other votes"},
		"more queries":     {other(voteRows(1, testQueries+9, testTeachers), votes.Options{}), "other votes"},
		"part of queries":  {other(rows, votes.Options{From: 5, To: 9}), "queries 0:60, not 5:9"},
		"overlap":          {other(voteRows(1, 2*testQueries, testTeachers), votes.Options{From: testQueries - 1}), "queries 0:60, not 59:120"},
		"another pool":     {func(c *Config) { c.Pool = "sea" }, "pool pool, not sea"},
		"noise":            {func(c *Config) { c.Setting = c.Setting.With("sigma", 99) }, "not 99"},
		"mechanism":        {func(c *Config) { c.Setting.Mechanism = "lnmax" }, "mechanism gnmax, not lnmax"},
		"confident":        {func(c *Config) { *c = confidently(*c, 1, 1) }, "mechanism gnmax, not confident"},
		"a seed":           {func(c *Config) { c.Seed = &seed }, "noise is secret, not seeded"},
		"other budget":     {func(c *Config) { c.Expect.Epsilon = 3 }, "epsilon is 2, not 3"},
		"other delta":      {func(c *Config) { c.Expect.Delta = 1e-6 }, "delta is 1e-05"},
		"other unit":       {func(c *Config) { c.Expect.Unit = "user" }, "unit is record, not user"},
		"relation":         {func(c *Config) { c.Expect.Relation = accountant.ReplaceOne }, "relation is add_remove, not replace_one"},
		"mode":             {func(c *Config) { c.Expect.Mode = new(ledger.Mode) }, "mode is filter, not reserved"},
		"pool":             {func(c *Config) { c.Pool = strings.Repeat("x", 257) }, "too long"},
		"large delta":      {func(c *Config) { c.Ledger += "2"; c.Account.Delta = 0.04 }, "must be below 1/25"},
		"out is ledger":    {func(c *Config) { c.Out = c.Ledger }, "is the ledger"},
		"no folder":        {func(c *Config) { c.Out = filepath.Join(c.Out, "x", "y") }, "does not exist"},
		"no id":            {func(c *Config) { require.NoError(t, os.Remove(run.IDFile(c.Ledger))) }, "is missing"},
		"in the way":       {func(c *Config) { c.Ledger += "2" }, "exists already"},
	} {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, complete %v", name, complete), func(t *testing.T) {
				run := standard(t)
				if name == "in the way" && !complete {
					testkit.Write(t, run.Out, "mine\n")
				}
				if complete {
					release1(t, run)
				} else {
					require.Error(t, testkit.Err(Run(stopAt("reserved"), run)))
				}
				c.change(&run)
				before := contents(t, filepath.Dir(run.Ledger))
				_, err := Run(context.Background(), run)
				refused := testkit.ErrorAs[*fault.Error](t, err)
				require.ErrorContains(t, err, c.says)
				require.Equal(t, name == "no id", refused.Check)
				require.Equal(t, before, contents(t, filepath.Dir(run.Ledger)), "nothing is written")
			})
		}
	}
}

func TestWithoutLabelsOrKeyNothingIsDrawnAgain(t *testing.T) {
	one, two := uint64(1), uint64(2)
	removeLabels := func(t *testing.T, c *Config) { require.NoError(t, os.Remove(c.Out)) }
	removeKey := func(t *testing.T, c *Config) { require.NoError(t, os.Remove(keys(t, *c)[0])) }
	otherLabels := func(t *testing.T, c *Config) { testkit.Write(t, c.Out, "query,label\n") }
	for name, c := range map[string]struct {
		place  string // of the crash, "": the run is complete
		change func(*testing.T, *Config)
		check  bool
		says   string
	}{
		"labels gone":             {"", removeLabels, true, "is missing, and the run that released it is complete"},
		"labels edited":           {"", func(t *testing.T, c *Config) { testkit.Write(t, c.Out, read(t, c.Out)+"60,1\n") }, true, "is not the file that was released"},
		"labels edited, key left": {"named", otherLabels, true, "move the file away"},
		"key gone before answers": {"reserved", removeKey, true, "key of the unfinished run is missing"},
		"key gone after commit":   {"committed", removeKey, true, "run that released it is complete"},
		"another key": {"reserved", func(t *testing.T, c *Config) {
			key := testkit.Must(rng.NewKey())
			require.NoError(t, keyfile.Write(keys(t, *c)[0], key))
		}, false, "is not the key of the unfinished run"},
		"another seed":      {"drawn", func(_ *testing.T, c *Config) { c.Seed = &two }, false, "another seed"},
		"labels in the way": {"drawn", otherLabels, false, "exists already"},
	} {
		t.Run(name, func(t *testing.T) {
			run := standard(t)
			if name == "another seed" {
				run.Seed = &one
			}
			if c.place == "" {
				release1(t, run)
			} else {
				crashed(t, run, c.place)
			}
			labels, _ := os.ReadFile(run.Out)
			c.change(t, &run)
			before := contents(t, filepath.Dir(run.Ledger))
			_, err := Run(context.Background(), run)
			require.Equal(t, c.check, testkit.ErrorAs[*fault.Error](t, err).Check)
			require.ErrorContains(t, err, c.says)
			require.Equal(t, before, contents(t, filepath.Dir(run.Ledger)))
			if c.place == "named" { // the key is still there
				removeLabels(t, &run)
				release1(t, run)
				require.Equal(t, string(labels), read(t, run.Out))
			}
		})
	}
}

func TestOverBudgetWritesNothing(t *testing.T) {
	c := standard(t)
	c.Setting = c.Setting.With("sigma", 1)
	before := contents(t, filepath.Dir(c.Ledger))
	require.ErrorIs(t, testkit.Err(Run(context.Background(), c)), ledger.ErrBudgetExceeded)
	require.Equal(t, before, contents(t, filepath.Dir(c.Ledger)))
	c.Setting = c.Setting.With("sigma", 20)
	_, err := Run(context.Background(), c)
	over := testkit.ErrorAs[*BudgetError](t, err)
	fits := c
	fits.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: int(over.Queries)})
	fits.Ledger, fits.Out = c.Ledger+"3", c.Out+"3"
	require.EqualValues(t, over.Queries, release1(t, fits).Asked)
	fits.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: int(over.Queries) + 1})
	fits.Ledger, fits.Out = c.Ledger+"4", c.Out+"4"
	require.ErrorIs(t, testkit.Err(Run(context.Background(), fits)), ledger.ErrBudgetExceeded)

	// On a ledger that something else has charged.
	book := testkit.Must(ledger.Open(t.Context(), c.Ledger, c.Account, ledger.VerifyOptions{}))
	require.NoError(t, testkit.Err(book.Reserve(accountant.Gaussian{NoiseMultiplier: 4})))
	require.NoError(t, book.Close())
	c.Setting = c.Setting.With("sigma", 1)
	_, err = Run(context.Background(), c) // gives the ledger its head and id
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	before = contents(t, filepath.Dir(c.Ledger))
	for _, sigma := range []float64{1, 24} { // 24 would do on a new ledger
		c.Setting = c.Setting.With("sigma", sigma)
		require.ErrorIs(t, testkit.Err(Run(context.Background(), c)), ledger.ErrBudgetExceeded)
	}
	require.Equal(t, before, contents(t, filepath.Dir(c.Ledger)))
	c.Ledger += "2"
	require.Equal(t, 24.0, release1(t, c).Setting.Values["sigma"])
}

// A ledger that was lost, wholly or in part, is not begun anew.
func TestALostLedgerIsRefused(t *testing.T) {
	first := func(text string) string { line, _, _ := strings.Cut(text, "\n"); return line }
	for name, c := range map[string]struct {
		left func(whole string) string
		says string
	}{
		"removed":        {nil, "is missing or cut off"},
		"emptied":        {func(string) string { return "" }, "is missing or cut off"},
		"in its header":  {func(s string) string { return first(s)[:40] }, "is missing or cut off"},
		"its newline":    {first, "is missing or cut off"},
		"after the head": {func(s string) string { return first(s) + "\n" }, "the file once had"},
		"the last line":  {func(s string) string { return s[:strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n")+1] }, "the file once had"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := standard(t)
			release1(t, asked)
			if c.left == nil {
				require.NoError(t, os.Remove(asked.Ledger))
			} else {
				testkit.Write(t, asked.Ledger, c.left(read(t, asked.Ledger)))
			}
			before := contents(t, filepath.Dir(asked.Ledger))
			for _, out := range []string{asked.Out, asked.Out + "2"} {
				asked.Out = out
				require.ErrorContains(t, testkit.Err(Run(context.Background(), asked)), c.says)
				require.Equal(t, before, contents(t, filepath.Dir(asked.Ledger)), "nothing is written")
			}
		})
	}
	t.Run("a head that is none", func(t *testing.T) {
		asked := standard(t)
		release1(t, asked)
		testkit.Write(t, run.HeadFile(asked.Ledger), "7\n")
		require.ErrorContains(t, testkit.Err(Run(context.Background(), asked)), "is not the head of a ledger")
	})
}
