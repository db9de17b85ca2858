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
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
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
	votes := testkit.Must(votes.Open(context.Background(), []string{path}, opt))
	return votes
}

// standard is a run in a folder of its own.
func standard(t *testing.T) Config {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "votes.csv"), voteRows(1, testQueries, testTeachers))
	c := testkit.Must(inFolder(dir))
	return c
}

func inFolder(dir string) (Config, error) {
	votes, err := votes.Open(context.Background(), []string{filepath.Join(dir, "votes.csv")}, votes.Options{Classes: testClasses})
	return Config{
		Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool", Votes: votes,
		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter},
		Setting: aggregate.Setting{Mechanism: plan.GNMax},
	}, err
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
	r := testkit.Must(Run(context.Background(), c))
	return r
}

var errCrash = errors.New("crash")

// stopAt returns a context in which a run crashes at a step.
func stopAt(place string) context.Context {
	return crash.With(context.Background(), func(step string) error {
		if step == place {
			return errCrash
		}
		return nil
	})
}

// crashed carries out a run up to a step.
func crashed(t *testing.T, c Config, place string) {
	require.ErrorIs(t, testkit.Err(Run(stopAt(place), c)), errCrash)
}

// keys are the keys of unfinished runs of a ledger.
func keys(t *testing.T, c Config) []string {
	found := testkit.Must(filepath.Glob(c.Ledger + ".*.key"))
	return found
}

func read(t require.TestingT, path string) string {
	text := testkit.Must(os.ReadFile(path))
	return string(text)
}

// expected returns the labels of a setting under a key, asked one by one.
func expected(t require.TestingT, c Config, s aggregate.Setting, key rng.Key) string {
	d := testkit.Must(mechanisms.Find(s.Mechanism))
	m := testkit.Must(d.New(s))
	book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5}))
	r := testkit.Must(book.Reserve(m.Event()))
	hash := c.Votes.Hash()
	session := testkit.Must(m.Start(r, key.DeriveBytes("votes", hash[:])))
	var b strings.Builder
	column := labelColumn
	if c.Seed != nil {
		column = withheldColumn
	}
	b.WriteString(heading(column))
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
	f := testkit.Must(os.Open(path))
	defer f.Close()
	s := testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
	return s
}

// contents are all files of a folder.
func contents(t require.TestingT, dir string) map[string]string {
	out := map[string]string{}
	entries := testkit.Must(os.ReadDir(dir))
	for _, e := range entries {
		out[e.Name()] = read(t, filepath.Join(dir, e.Name()))
	}
	return out
}

// BenchmarkLabel labels the votes of 250 teachers, nine of ten of whom agree, by Run as a whole: votes in
// an NPY file, ledger, key, noise of the system's randomness, syncs and hash.
func BenchmarkLabel(b *testing.B) {
	const queries = 200_000
	matrix := testkit.Must(votes.New(queries, 250, 10))
	rnd := rand.New(rand.NewPCG(1, 2))
	for q := range queries {
		class := rnd.IntN(10)
		for t := range 250 {
			vote := class
			if rnd.IntN(10) == 0 {
				vote = rnd.IntN(10)
			}
			require.NoError(b, matrix.Set(q, t, vote))
		}
	}
	path := filepath.Join(b.TempDir(), "votes.npy")
	require.NoError(b, matrix.Save(path))
	for _, s := range []aggregate.Setting{
		with("gnmax", "sigma", 40.0),
		with("confident", "threshold", 200.0, "sigma1", 150.0, "sigma2", 40.0, "answers", float64(queries)),
		with("lnmax", "scale", 20.0), with("exponential", "scale", 20.0), with("permute-and-flip", "scale", 20.0),
	} {
		b.Run(s.Mechanism, func(b *testing.B) {
			runs := 0
			for b.Loop() {
				source := testkit.Must(votes.Open(context.Background(), []string{path}, votes.Options{Classes: 10}))
				dir := b.TempDir()
				_, err := Run(context.Background(), Config{
					Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool", Votes: source, Setting: s,
					Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e6, Delta: 1e-5, Mode: ledger.Filter},
				})
				require.NoError(b, err)
				runs++
			}
			b.ReportMetric(float64(runs)*queries/b.Elapsed().Seconds(), "queries/s")
		})
	}
}
