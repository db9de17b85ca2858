package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

var config = ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5}

func queries(n int64) accountant.Event {
	return accountant.Repeated{Event: accountant.GNMax{Sigma: 40}, Count: n}
}

func TestReserveRefusesBeforeSpending(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	t.Cleanup(func() { l.Close() })
	testkit.Must(l.Reserve(queries(100)))
	spent := testkit.Must(l.Epsilon())
	require.InDelta(t, 1.45, spent, 0.1)
	before := testkit.Must(os.ReadFile(path))

	_, err := l.Reserve(queries(500))
	require.ErrorIs(t, err, ledger.ErrBudgetExceeded)
	var over *ledger.BudgetError
	require.ErrorAs(t, err, &over)
	require.Greater(t, over.Epsilon, 2.0)
	require.Equal(t, spent, over.Spent)
	require.Greater(t, over.Asked, 2.0)
	require.Less(t, over.Asked, over.Epsilon)
	require.Greater(t, over.Left, over.Budget-over.Spent, "composition, not subtraction")
	require.Less(t, over.Left, over.Budget)

	require.Equal(t, before, testkit.Must(os.ReadFile(path)))
	require.Equal(t, spent, testkit.Must(l.Epsilon()))
}

func TestAReservationIsUsedOnceAndOnlyForItsEvent(t *testing.T) {
	r := testkit.Must(testkit.Must(ledger.New(config)).Reserve(queries(10)))
	require.ErrorIs(t, r.Begin(queries(11), ledger.Use{Secret: true}), ledger.ErrNotReserved)
	require.NoError(t, r.Begin(queries(10), ledger.Use{Secret: true}))
	require.ErrorIs(t, r.Begin(queries(10), ledger.Use{Secret: true}), ledger.ErrNotReserved)
	require.ErrorIs(t, (&ledger.Reservation{}).Begin(nil, ledger.Use{Secret: true}), ledger.ErrNotReserved)
	var none *ledger.Reservation
	require.ErrorIs(t, none.Begin(queries(1), ledger.Use{Secret: true}), ledger.ErrNotReserved)
}

func TestAResumedRunPaysNothingTwice(t *testing.T) {
	for _, mode := range []ledger.Mode{ledger.Reserved, ledger.Filter} {
		path := filepath.Join(t.TempDir(), "ledger.jsonl")
		run := config
		run.Run, run.Mode = "votes and key", mode
		open := func() *ledger.Ledger {
			return testkit.Must(ledger.Open(t.Context(), path, run, ledger.VerifyOptions{}))
		}
		l := open()
		testkit.Must(l.Reserve(queries(60)))
		spent, _ := l.Epsilon()
		require.NoError(t, l.Close())

		l = open()
		r := testkit.Must(l.Reserve(queries(60)))
		again, _ := l.Epsilon()
		require.Equal(t, spent, again)
		testkit.Must(l.Reserve(queries(50))) // a second, new one
		require.NoError(t, r.Begin(queries(60), ledger.Use{Secret: true}))
		require.NoError(t, l.Commit(r, []byte("labels")))
		more, _ := l.Epsilon()
		require.Greater(t, more, spent)
		require.NoError(t, l.Close())
		before := testkit.Must(os.ReadFile(path))

		l = open()
		require.ErrorContains(t, testkit.Err(l.Reserve(queries(61))), "resumed program")
		r = testkit.Must(l.Reserve(queries(60))) // after a wrong event the right one is still there
		require.NoError(t, r.Begin(queries(60), ledger.Use{Secret: true}))
		require.ErrorContains(t, l.Commit(r, []byte("other labels")), "second answer")
		require.NoError(t, l.Commit(r, []byte("labels")))
		require.NoError(t, l.Commit(r, []byte("labels")))
		require.NoError(t, l.Close())
		require.Equal(t, string(before), string(testkit.Must(os.ReadFile(path))), "a repeated run writes nothing")
	}

	// Without a run the same calls are new charges.
	path := filepath.Join(t.TempDir(), "fresh.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	testkit.Must(l.Reserve(queries(60)))
	spent, _ := l.Epsilon()
	require.NoError(t, l.Close())
	l = testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	testkit.Must(l.Reserve(queries(60)))
	total, _ := l.Epsilon()
	require.Greater(t, total, spent)
	require.NoError(t, l.Close())
}

// TestReservedModeIsSealedByItsFirstUse: a cost chosen after an answer was seen would choose the order
// after the fact.
func TestReservedModeIsSealedByItsFirstUse(t *testing.T) {
	use := map[string]func(l *ledger.Ledger, r *ledger.Reservation) error{
		"begin": func(_ *ledger.Ledger, r *ledger.Reservation) error {
			return r.Begin(queries(10), ledger.Use{Secret: true})
		},
		"commit": func(l *ledger.Ledger, r *ledger.Reservation) error { return l.Commit(r, nil) },
	}
	for name, use := range use {
		for _, path := range []string{"", filepath.Join(t.TempDir(), "ledger.jsonl")} {
			l, err := ledger.New(config)
			if path != "" {
				l, err = ledger.Open(t.Context(), path, config, ledger.VerifyOptions{})
			}
			require.NoError(t, err)
			first := testkit.Must(l.Reserve(queries(10)))
			second := testkit.Must(l.Reserve(queries(20))) // nothing was used yet
			require.NoError(t, use(l, first), name)
			require.ErrorIs(t, testkit.Err(l.Reserve(queries(1))), ledger.ErrSealed, name)
			require.ErrorIs(t, testkit.Err(l.Fits(t.Context(), queries(1))), ledger.ErrSealed, name)
			require.Zero(t, l.Left())
			require.NoError(t, second.Begin(queries(20), ledger.Use{Secret: true}), "what was reserved may still be used")
			require.NoError(t, l.Close())
			if path == "" {
				continue
			}
			l = testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
			require.ErrorIs(t, testkit.Err(l.Reserve(queries(1))), ledger.ErrSealed, "also for the next process")
			require.NoError(t, l.Close())
		}
	}
}

func TestOpenRefusesAnotherConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	require.NoError(t, testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{})).Close())
	for want, change := range map[string]func(*ledger.Config){
		"Epsilon is 2, opened with 3":                             func(c *ledger.Config) { c.Epsilon = 3 },
		"Delta is 1e-05, opened with 1e-06":                       func(c *ledger.Config) { c.Delta = 1e-6 },
		`Unit is "record", opened with "user"`:                    func(c *ledger.Config) { c.Unit = "user" },
		"Relation is add_remove, opened with replace_one":         func(c *ledger.Config) { c.Relation = accountant.ReplaceOne },
		`Run is "", opened with "x"`:                              func(c *ledger.Config) { c.Run = "x" },
		`Epsilon is 2, opened with 3; Run is "", opened with "x"`: func(c *ledger.Config) { c.Epsilon, c.Run = 3, "x" },
	} {
		other := config
		change(&other)
		_, err := ledger.Open(t.Context(), path, other, ledger.VerifyOptions{})
		require.ErrorIs(t, err, ledger.ErrOtherConfig)
		require.EqualError(t, err, "ledger: another configuration: "+want+" ("+path+")")
	}
	for name, c := range map[string]ledger.Config{
		"no unit":  {Relation: accountant.AddRemove, Epsilon: 1, Delta: 1e-5},
		"relation": {Unit: "record", Epsilon: 1, Delta: 1e-5},
		"epsilon":  {Unit: "record", Relation: accountant.AddRemove, Delta: 1e-5},
		"delta":    {Unit: "record", Relation: accountant.AddRemove, Epsilon: 1, Delta: 1},
	} {
		require.Error(t, testkit.Err(ledger.New(c)), name)
	}
}

func TestNonPrivateIsNeverAffordable(t *testing.T) {
	_, err := testkit.Must(ledger.New(config)).Reserve(accountant.NonPrivate{})
	require.True(t, errors.Is(err, ledger.ErrBudgetExceeded), err)
}

func TestOpenStopsWaiting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, testkit.Err(ledger.Open(ctx, path, config, ledger.VerifyOptions{})), context.DeadlineExceeded)
	require.NoError(t, l.Close())
	l = testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{})) // what came too late was given back
	require.NoError(t, l.Close())
}

func TestAnEventCannotBeChangedAfterItWasCharged(t *testing.T) {
	l := testkit.Must(ledger.New(config))
	list := []accountant.Event{queries(1)}
	event := accountant.Composed{Events: list}
	r := testkit.Must(l.Reserve(event))
	list[0] = queries(1_000_000)
	require.ErrorIs(t, r.Begin(event, ledger.Use{Secret: true}), ledger.ErrNotReserved)
	require.Equal(t, accountant.Composed{Events: []accountant.Event{queries(1)}}, r.Event())
	require.Equal(t, []accountant.Event{r.Event()}, l.Schedule().Events)
	require.NoError(t, r.Begin(accountant.Composed{Events: []accountant.Event{queries(1)}}, ledger.Use{Secret: true}))

	none, err := l.Reserve(accountant.Composed{})
	require.ErrorIs(t, err, ledger.ErrSealed)
	require.Nil(t, none)
	l = testkit.Must(ledger.New(config))
	none = testkit.Must(l.Reserve(accountant.Composed{}))
	require.Error(t, testkit.Err(l.Reserve(nil)))
	require.ErrorIs(t, none.Begin(nil, ledger.Use{Secret: true}), ledger.ErrNotReserved)
	require.NoError(t, none.Begin(accountant.Composed{}, ledger.Use{Secret: true}))
}

func TestBeginRefusesWhatTheLedgerDoesNotStandFor(t *testing.T) {
	event := accountant.GNMax{Sigma: 40}
	for name, c := range map[string]struct {
		relation accountant.Relation
		noise    ledger.Noise
		use      ledger.Use
		says     string
	}{
		"either, secret":           {accountant.AddRemove, ledger.SecretNoise, ledger.Use{Secret: true}, ""},
		"the same":                 {accountant.ReplaceOne, ledger.SecretNoise, ledger.Use{Relation: accountant.ReplaceOne, Secret: true}, ""},
		"add_remove only":          {accountant.ReplaceOne, ledger.SecretNoise, ledger.Use{Relation: accountant.AddRemove, Secret: true}, "only for relation add_remove, not for replace_one"},
		"replace_one only":         {accountant.AddRemove, "", ledger.Use{Relation: accountant.ReplaceOne}, "only for relation replace_one"},
		"seed, secret ledger":      {accountant.AddRemove, ledger.SecretNoise, ledger.Use{}, "from a seed"},
		"seed, seeded ledger":      {accountant.AddRemove, ledger.SeededNoise, ledger.Use{}, ""},
		"secret, seeded ledger":    {accountant.AddRemove, ledger.SeededNoise, ledger.Use{Secret: true}, ""},
		"seed, ledger of no claim": {accountant.AddRemove, "", ledger.Use{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: c.relation, Epsilon: 2, Delta: 1e-5, Noise: c.noise}))
			r := testkit.Must(l.Reserve(event))
			require.Equal(t, c.relation, r.Relation())
			err := r.Begin(event, c.use)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ledger.ErrUnfit)
			require.ErrorContains(t, err, c.says)
			testkit.Must(l.Reserve(event)) // not sealed
			require.NoError(t, r.Begin(event, ledger.Use{Relation: c.relation, Secret: true}), "not used up")
		})
	}
}

func TestAFileThatLostItsName(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"renamed": func(t *testing.T, path string) { require.NoError(t, os.Rename(path, path+".old")) },
		"replaced": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path+".new", testkit.Must(os.ReadFile(path)), 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.jsonl")
			cfg := config
			cfg.Mode = ledger.Filter
			l := testkit.Must(ledger.Open(t.Context(), path, cfg, ledger.VerifyOptions{}))
			defer l.Close()
			r := testkit.Must(l.Reserve(queries(1)))
			lose(t, path)
			require.ErrorIs(t, l.Commit(r, []byte("labels")), ledger.ErrBroken)
			require.ErrorIs(t, testkit.Err(l.Reserve(queries(1))), ledger.ErrBroken)
			require.ErrorIs(t, r.Begin(queries(1), ledger.Use{Secret: true}), ledger.ErrBroken)
			if name == "renamed" { // nothing was written under the old name
				f := testkit.Must(os.Open(path + ".old"))
				defer f.Close()
				s := testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
				require.EqualValues(t, 1, s.Entries)
				require.Zero(t, s.Commits)
			}
		})
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := ledger.Open(t.Context(), dir, config, ledger.VerifyOptions{})
	require.ErrorContains(t, err, "no regular file")
	info := testkit.Must(os.Stat(dir))

	path := filepath.Join(dir, "ledger.jsonl")
	l := testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	require.NoError(t, l.Close())
	made := testkit.Must(os.Stat(path))
	require.Equal(t, os.FileMode(0o600), made.Mode().Perm())
	require.NoError(t, os.Chmod(path, 0o640))
	l = testkit.Must(ledger.Open(t.Context(), path, config, ledger.VerifyOptions{}))
	require.NoError(t, l.Close())
	made = testkit.Must(os.Stat(path))
	require.Equal(t, os.FileMode(0o640), made.Mode().Perm(), "what somebody allowed stays allowed")
	require.Equal(t, info.Mode(), testkit.Must(os.Stat(dir)).Mode())
}

// A budget that PATE and DP-SGD share. The second cost is chosen after the first answers were seen, so the
// ledger is a filter.
func Example_sharedBudget() {
	budget, err := ledger.New(ledger.Config{ // a path keeps it on disk
		Unit: "patient", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer budget.Close()
	r, err := budget.Reserve(accountant.Repeated{Event: accountant.GNMax{Sigma: 60, Discrete: true}, Count: 150})
	if err != nil {
		log.Fatal(err)
	}
	// Start the mechanism with r, and before its labels leave:
	if err := budget.Commit(r, []byte("labels")); err != nil {
		log.Fatal(err)
	}

	spent, err := budget.Epsilon()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("let through %.2f, left %.2f\n", spent, budget.Left().Epsilon)
	steps := func(noise float64) accountant.Event {
		return accountant.Repeated{Count: 500, Event: accountant.PoissonSampled{Probability: 0.02, Event: accountant.Gaussian{NoiseMultiplier: noise}}}
	}
	noise, err := budget.LeastNoise(context.Background(), func(noise float64) (accountant.Event, error) { return steps(noise), nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("500 steps need noise %.3f\n", noise)
	_, err = budget.Reserve(steps(noise / 2))
	fmt.Println(errors.Is(err, ledger.ErrBudgetExceeded))
	// Output:
	// let through 1.32, left 1.53
	// 500 steps need noise 1.472
	// true
}
