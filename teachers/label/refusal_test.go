package label

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// Nothing about these runs may change what was answered.
func TestRefusals(t *testing.T) {
	seed := uint64(1)
	other := func(c Config, rows string, opt votes.Options) *votes.Source {
		return open(t, write(t, filepath.Join(filepath.Dir(c.Ledger), "other.csv"), rows), opt)
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
		"no id":         {func(c *Config) { require.NoError(t, os.Remove(run.IDFile(c.Ledger))) }, "is gone"},
		"in the way":    {func(c *Config) { c.Ledger += "2" }, "is there already"},
	} {
		for _, complete := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, complete %v", name, complete), func(t *testing.T) {
				run := standard(t)
				if name == "in the way" && !complete {
					write(t, run.Out, "mine\n")
				}
				if complete {
					release1(t, run)
				} else {
					require.Error(t, testkit.Err(Run(stopAt("reserved"), run)))
				}
				c.change(&run)
				before := contents(t, filepath.Dir(run.Ledger))
				_, err := Run(context.Background(), run)
				var refused *fault.Error
				require.ErrorAs(t, err, &refused)
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
	otherLabels := func(t *testing.T, c *Config) { write(t, c.Out, "query,label\n") }
	for name, c := range map[string]struct {
		place  string // of the crash, "": the run is complete
		change func(*testing.T, *Config)
		check  bool
		says   string
	}{
		"labels gone":             {"", removeLabels, true, "is not there, and the run that released it is complete"},
		"labels edited":           {"", func(t *testing.T, c *Config) { write(t, c.Out, read(t, c.Out)+"60,1\n") }, true, "is not what was released"},
		"labels edited, key left": {"named", otherLabels, true, "move it away"},
		"key gone before answers": {"reserved", removeKey, true, "key of the unfinished run is gone"},
		"key gone after commit":   {"committed", removeKey, true, "run that released it is complete"},
		"another key": {"reserved", func(t *testing.T, c *Config) {
			key := testkit.Must(rng.NewKey())
			require.NoError(t, keyfile.Write(keys(t, *c)[0], key))
		}, false, "is not the key of the unfinished run"},
		"another seed":      {"drawn", func(_ *testing.T, c *Config) { c.Seed = &two }, false, "another seed"},
		"labels in the way": {"drawn", otherLabels, false, "is there already"},
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
			var refused *fault.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.check, refused.Check)
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
	var over *BudgetError
	require.ErrorAs(t, err, &over)
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
		"removed":        {nil, "is gone or cut off"},
		"emptied":        {func(string) string { return "" }, "is gone or cut off"},
		"in its header":  {func(s string) string { return first(s)[:40] }, "is gone or cut off"},
		"its newline":    {first, "is gone or cut off"},
		"after the head": {func(s string) string { return first(s) + "\n" }, "the file once had"},
		"the last line":  {func(s string) string { return s[:strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n")+1] }, "the file once had"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := standard(t)
			release1(t, asked)
			if c.left == nil {
				require.NoError(t, os.Remove(asked.Ledger))
			} else {
				write(t, asked.Ledger, c.left(read(t, asked.Ledger)))
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
		write(t, run.HeadFile(asked.Ledger), "7\n")
		require.ErrorContains(t, testkit.Err(Run(context.Background(), asked)), "is not the head of a ledger")
	})
}
