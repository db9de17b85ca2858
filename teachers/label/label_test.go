package label

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/mechanisms"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/teachers/votes"
)

const (
	testQueries  = 60
	testTeachers = 25
	testClasses  = 3
)

// voteRows are votes of teachers who agree more on some queries than on others.
func voteRows(seed uint64, queries, count int) string {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for q := range queries {
		for t := range count {
			vote := q % testClasses
			if rnd.IntN(10) < q%6 {
				vote = rnd.IntN(testClasses)
			}
			if t > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, vote)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func write(t require.TestingT, path, text string) string {
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func open(t require.TestingT, path string, opt votes.Options) *votes.Source {
	opt.Classes = testClasses
	votes, err := votes.Open(context.Background(), []string{path}, opt)
	require.NoError(t, err)
	return votes
}

// standard is a run in a folder of its own.
func standard(t *testing.T) Config {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "votes.csv"), voteRows(1, testQueries, testTeachers))
	return Config{
		Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool",
		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter},
		Votes:   open(t, path, votes.Options{}),
		Setting: aggregate.Setting{Mechanism: plan.GNMax},
	}
}

// with makes a setting of pairs of a name and a value.
func with(mechanism string, pairs ...any) aggregate.Setting {
	s := aggregate.Setting{Mechanism: mechanism}
	for i := 0; i < len(pairs); i += 2 {
		s = s.With(pairs[i].(string), pairs[i+1].(float64))
	}
	return s
}

func confidently(c Config, threshold float64, answers int) Config {
	c.Setting = with(plan.Confident, "threshold", threshold)
	if answers > 0 {
		c.Setting = c.Setting.With("answers", float64(answers))
	}
	return c
}

func release1(t *testing.T, c Config) Result {
	r, err := Run(context.Background(), c)
	require.NoError(t, err)
	return r
}

func read(t require.TestingT, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// expected returns the labels of a setting under a key, asked one by one.
func expected(t require.TestingT, c Config, s aggregate.Setting, key aggregate.Key) string {
	d, err := mechanisms.Find(s.Mechanism)
	require.NoError(t, err)
	m, err := d.New(s)
	require.NoError(t, err)
	book, err := ledger.Open("", ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5})
	require.NoError(t, err)
	r, err := book.Reserve(m.Event())
	require.NoError(t, err)
	hash := c.Votes.Hash()
	session, err := m.Start(r, key.DeriveBytes("votes", hash[:]))
	require.NoError(t, err)
	var b strings.Builder
	if c.Seed != nil {
		b.WriteString(seededHeading)
	} else {
		b.WriteString(heading)
	}
	for ballot, err := range c.Votes.Histograms(context.Background()) {
		require.NoError(t, err)
		a, err := session.Ask(uint64(ballot.Query), ballot.Histogram)
		if errors.Is(err, aggregate.ErrExhausted) {
			break
		}
		require.NoError(t, err)
		if a.Answered {
			fmt.Fprintf(&b, "%d,%d\n", ballot.Query, a.Label)
		} else {
			fmt.Fprintf(&b, "%d,\n", ballot.Query)
		}
	}
	return b.String()
}

func summary(t require.TestingT, path string) ledger.Summary {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	s, err := ledger.Verify(f, nil)
	require.NoError(t, err)
	return s
}

func TestLabelsAreThoseOfTheSession(t *testing.T) {
	for _, mechanism := range mechanisms.Names(plan.Plannable) {
		t.Run(mechanism, func(t *testing.T) {
			c := standard(t)
			c.Setting.Mechanism = mechanism
			if mechanism == plan.Confident {
				c = confidently(c, 15, 20)
			}
			seed := uint64(7)
			c.Seed = &seed
			r := release1(t, c)
			labels := read(t, c.Out)
			require.Equal(t, expected(t, c, r.Setting, aggregate.SeedKey(7)), labels)
			require.False(t, r.Releasable)
			require.True(t, r.Calibrated)
			require.Equal(t, r.Asked, strings.Count(labels, "\n")-1)
			require.Equal(t, r.Declined, strings.Count(labels, ",\n"))
			require.Equal(t, testQueries, r.Asked+r.NotAsked)
			require.Equal(t, r.Asked, r.Answered+r.Declined)
			require.LessOrEqual(t, r.Epsilon, 2.0)
			require.Equal(t, 2.0, r.Claim)
			require.Equal(t, ledger.SeededNoise, summary(t, c.Ledger).Config.Noise)
			if mechanism == plan.Confident {
				require.Equal(t, 20, r.Answered)
				require.Positive(t, r.NotAsked)
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
		})
	}
}

func TestTheKeyIsDestroyedAndWhatIsCompleteStays(t *testing.T) {
	c := standard(t)
	r := release1(t, c)
	require.True(t, r.Releasable)
	keys, err := filepath.Glob(c.Ledger + ".*.key")
	require.NoError(t, err)
	require.Empty(t, keys)
	info, err := os.Stat(release.IDFile(c.Ledger))
	require.NoError(t, err)
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

// Nothing about these runs may change what was answered.
func TestRefusals(t *testing.T) {
	seed := uint64(1)
	other := func(c Config, rows string, opt votes.Options) *votes.Source {
		path := filepath.Join(filepath.Dir(c.Ledger), "other.csv")
		if os.WriteFile(path, []byte(rows), 0o600) != nil {
			panic(path)
		}
		return open(t, path, opt)
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
		"one vote changed": {func(c *Config) { c.Votes = other(*c, changed, votes.Options{}) }, "other votes"},
		"more teachers": {func(c *Config) {
			c.Votes = other(*c, voteRows(1, testQueries, testTeachers+1), votes.Options{})
		}, "other votes"},
		"more queries": {func(c *Config) {
			c.Votes = other(*c, voteRows(1, testQueries+9, testTeachers), votes.Options{})
		}, "other votes"},
		"part of queries": {func(c *Config) { c.Votes = other(*c, rows, votes.Options{From: 5, To: 9}) }, "queries 0:60, not 5:9"},
		"overlap": {func(c *Config) {
			c.Votes = other(*c, voteRows(1, 2*testQueries, testTeachers), votes.Options{From: testQueries - 1})
		}, "queries 0:60, not 59:120"},
		"another pool":  {func(c *Config) { c.Pool = "sea" }, "pool pool, not sea"},
		"noise":         {func(c *Config) { c.Setting = c.Setting.With("sigma", 99) }, "not 99"},
		"mechanism":     {func(c *Config) { c.Setting.Mechanism = "lnmax" }, "mechanism gnmax, not lnmax"},
		"confident":     {func(c *Config) { *c = confidently(*c, 1, 1) }, "mechanism gnmax, not confident"},
		"a seed":        {func(c *Config) { c.Seed = &seed }, "noise is secret, not seeded"},
		"other budget":  {func(c *Config) { c.Expect.Epsilon = 3 }, "epsilon is 2, not 3"},
		"other delta":   {func(c *Config) { c.Expect.Delta = 1e-6 }, "delta is 1e-05"},
		"other unit":    {func(c *Config) { c.Expect.Unit = "user" }, "unit is record, not user"},
		"relation":      {func(c *Config) { c.Expect.Relation = accountant.ReplaceOne }, "relation is add_remove, not replace_one"},
		"mode":          {func(c *Config) { c.Expect.Mode = new(ledger.Mode) }, "mode is filter, not reserved"},
		"pool":          {func(c *Config) { c.Pool = strings.Repeat("x", 257) }, "too long"},
		"large delta":   {func(c *Config) { c.Ledger += "2"; c.Account.Delta = 0.04 }, "not below 1/25"},
		"out is ledger": {func(c *Config) { c.Out = c.Ledger }, "is the ledger"},
		"no folder":     {func(c *Config) { c.Out = filepath.Join(c.Out, "x", "y") }, "no folder"},
		"no id":         {func(c *Config) { require.NoError(t, os.Remove(release.IDFile(c.Ledger))) }, "is gone"},
		"in the way":    {func(c *Config) { c.Ledger += "2" }, "is there already"},
	} {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, complete %v", name, complete), func(t *testing.T) {
				run := standard(t)
				if name == "in the way" && !complete {
					write(t, run.Out, "mine\n")
				}
				stop := errors.New("stopped")
				_, err := Run(crash.With(context.Background(), func(step string) error {
					if step == "reserved" && !complete {
						return stop
					}
					return nil
				}), run)
				if complete {
					require.NoError(t, err)
				} else {
					require.Error(t, err)
				}
				c.change(&run)
				before := contents(t, filepath.Dir(run.Ledger))
				_, err = Run(context.Background(), run)
				var refused *Error
				require.ErrorAs(t, err, &refused)
				require.ErrorContains(t, err, c.says)
				require.Equal(t, name == "no id", refused.Check)
				require.Equal(t, before, contents(t, filepath.Dir(run.Ledger)), "nothing is written")
			})
		}
	}
}

// contents are all files of a folder.
func contents(t require.TestingT, dir string) map[string]string {
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		out[e.Name()] = read(t, filepath.Join(dir, e.Name()))
	}
	return out
}

func TestWithoutLabelsOrKeyNothingIsDrawnAgain(t *testing.T) {
	stop := errors.New("stopped")
	at := func(where string) func(string) error {
		return func(step string) error {
			if step == where {
				return stop
			}
			return nil
		}
	}
	removeKey := func(t *testing.T, c Config) {
		keys, err := filepath.Glob(c.Ledger + ".*.key")
		require.NoError(t, err)
		require.Len(t, keys, 1)
		require.NoError(t, os.Remove(keys[0]))
	}
	refuse := func(t *testing.T, c Config, check bool, says string) {
		before := read(t, c.Ledger)
		_, err := Run(context.Background(), c)
		var refused *Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, check, refused.Check)
		require.ErrorContains(t, err, says)
		require.Equal(t, before, read(t, c.Ledger))
	}
	t.Run("labels gone", func(t *testing.T) {
		c := standard(t)
		release1(t, c)
		require.NoError(t, os.Remove(c.Out))
		refuse(t, c, true, "is complete")
		require.NoFileExists(t, c.Out)
	})
	t.Run("labels edited", func(t *testing.T) {
		c := standard(t)
		release1(t, c)
		write(t, c.Out, read(t, c.Out)+"60,1\n")
		refuse(t, c, true, "is not what was released")
	})
	t.Run("labels edited before the key was destroyed", func(t *testing.T) {
		c := standard(t)
		_, err := Run(crash.With(context.Background(), at("named")), c)
		require.ErrorIs(t, err, stop)
		labels := read(t, c.Out)
		write(t, c.Out, "query,label\n")
		refuse(t, c, true, "move it away")
		require.NoError(t, os.Remove(c.Out))
		release1(t, c)
		require.Equal(t, labels, read(t, c.Out))
	})
	t.Run("key gone before the answers", func(t *testing.T) {
		c := standard(t)
		_, err := Run(crash.With(context.Background(), at("reserved")), c)
		require.ErrorIs(t, err, stop)
		removeKey(t, c)
		refuse(t, c, true, "key of the unfinished run is gone")
	})
	t.Run("key gone after the commit", func(t *testing.T) {
		c := standard(t)
		_, err := Run(crash.With(context.Background(), at("committed")), c)
		require.ErrorIs(t, err, stop)
		removeKey(t, c)
		refuse(t, c, true, "run that released it is complete")
	})
	t.Run("another key", func(t *testing.T) {
		c := standard(t)
		_, err := Run(crash.With(context.Background(), at("reserved")), c)
		require.ErrorIs(t, err, stop)
		keys, err := filepath.Glob(c.Ledger + ".*.key")
		require.NoError(t, err)
		key, err := aggregate.NewKey()
		require.NoError(t, err)
		require.NoError(t, keyfile.Write(keys[0], key))
		refuse(t, c, false, "is not the key of the unfinished run")
	})
	t.Run("seed of another number", func(t *testing.T) {
		c := standard(t)
		one, two := uint64(1), uint64(2)
		c.Seed = &one
		_, err := Run(crash.With(context.Background(), at("drawn")), c)
		require.ErrorIs(t, err, stop)
		c.Seed = &two
		refuse(t, c, false, "another seed")
	})
	t.Run("labels in the way of an unfinished run", func(t *testing.T) {
		c := standard(t)
		_, err := Run(crash.With(context.Background(), at("drawn")), c)
		require.ErrorIs(t, err, stop)
		write(t, c.Out, "query,label\n")
		refuse(t, c, false, "is there already")
		require.Equal(t, "query,label\n", read(t, c.Out))
	})
}

func TestOverBudgetWritesNothing(t *testing.T) {
	c := standard(t)
	c.Setting = c.Setting.With("sigma", 1)
	before := contents(t, filepath.Dir(c.Ledger))
	_, err := Run(context.Background(), c)
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	require.Equal(t, before, contents(t, filepath.Dir(c.Ledger)))
	c.Setting = c.Setting.With("sigma", 20)
	_, err = Run(context.Background(), c)
	var over *BudgetError
	require.ErrorAs(t, err, &over)
	fits := c
	fits.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: int(over.Queries)})
	fits.Ledger, fits.Out = c.Ledger+"3", c.Out+"3"
	require.EqualValues(t, over.Queries, release1(t, fits).Asked)
	fits.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: int(over.Queries) + 1})
	fits.Ledger, fits.Out = c.Ledger+"4", c.Out+"4"
	_, err = Run(context.Background(), fits)
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)

	// On a ledger that something else has charged.
	book, err := ledger.Open(c.Ledger, c.Account)
	require.NoError(t, err)
	_, err = book.Reserve(accountant.Gaussian{NoiseMultiplier: 4})
	require.NoError(t, err)
	require.NoError(t, book.Close())
	c.Setting = c.Setting.With("sigma", 1)
	_, err = Run(context.Background(), c) // gives the ledger its head and id
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	before = contents(t, filepath.Dir(c.Ledger))
	for _, sigma := range []float64{1, 24} { // 24 would do on a new ledger
		c.Setting = c.Setting.With("sigma", sigma)
		_, err = Run(context.Background(), c)
		require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	}
	require.Equal(t, before, contents(t, filepath.Dir(c.Ledger)))
	c.Ledger += "2"
	require.Equal(t, 24.0, release1(t, c).Setting.Values["sigma"])
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
	require.InDelta(t, 1/first.Setting.Values["sigma"]/first.Setting.Values["sigma"], 1/900.+1/rest.Setting.Values["sigma"]/rest.Setting.Values["sigma"], 1e-6, "Gaussian costs add up as 1/sigma^2")
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
	_, err := Run(context.Background(), c)
	require.ErrorContains(t, err, "takes no more")
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
	c := standard(t)
	var b strings.Builder
	b.WriteString("a,b,c\n")
	for q := range testQueries {
		p := []string{"0.01", "0.01", "0.01"}
		p[q%testClasses] = "0.98"
		b.WriteString(strings.Join(p, ",") + "\n")
	}
	c.Predictions = write(t, filepath.Join(filepath.Dir(c.Out), "predictions.csv"), b.String())
	c.Setting = with("interactive", "threshold", 100.0, "answers", 5.0, "confidence", 0.9)
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{From: 3})
	r := release1(t, c)
	require.Equal(t, testQueries-3, r.Answered, "the student is sure, and the teachers do not contradict")
	for q, line := range strings.Split(strings.TrimSpace(read(t, c.Out)), "\n")[1:] {
		require.Equal(t, fmt.Sprintf("%d,%d", q+3, (q+3)%testClasses), line)
	}
	require.True(t, release1(t, c).Complete)
	require.NoError(t, os.Remove(c.Out))
	_, err := Run(context.Background(), c)
	require.ErrorContains(t, err, "is not there, and the run that released it is complete")
	write(t, c.Predictions, strings.Replace(b.String(), "0.98", "0.9805", 1))
	_, err = Run(context.Background(), c)
	require.ErrorContains(t, err, "other predictions")

	for says, text := range map[string]string{
		"ends before query 10": strings.Join(strings.Split(b.String(), "\n")[:11], "\n"),
		"has 2 cells":          strings.Replace(b.String(), "0.01,0.98,0.01", "0.01,0.98", 2),
		"is no number":         strings.Replace(b.String(), "0.01,0.98,0.01", "0.01,0.98,x", 2),
		"must be in [0, 1]":    strings.Replace(b.String(), "0.01,0.98,0.01", "0.01,0.98,-1", 2),
	} {
		c.Ledger, c.Out = c.Ledger+"2", c.Out+"2"
		write(t, c.Predictions, text)
		_, err := Run(context.Background(), c)
		require.ErrorContains(t, err, says)
		require.NoFileExists(t, c.Out)
	}
}
