package label

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

func open(t require.TestingT, path string, opt votes.Options) *votes.Source {
	opt.Classes = testClasses
	return testkit.Must(votes.Open(context.Background(), []string{path}, opt))
}

// beside opens votes that it writes beside the ledger of a run.
func beside(t require.TestingT, c Config, name, rows string, opt votes.Options) *votes.Source {
	return open(t, testkit.Write(t, filepath.Join(filepath.Dir(c.Ledger), name), rows), opt)
}

// standard is a run in a folder of its own.
func standard(t *testing.T) Config {
	dir := t.TempDir()
	testkit.Write(t, filepath.Join(dir, "votes.csv"), voteRows(1, testQueries, testTeachers))
	return testkit.Must(inFolder(dir))
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
	return testkit.Must(Run(context.Background(), c))
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
	return testkit.Must(filepath.Glob(c.Ledger + ".*.key"))
}

func read(t require.TestingT, path string) string {
	return string(testkit.Must(os.ReadFile(path)))
}

// expected returns the labels of a setting under a key, asked one by one.
func expected(t require.TestingT, c Config, s aggregate.Setting, key rng.Key) string {
	m := testkit.Must(testkit.Must(mechanisms.Find(s.Mechanism)).New(s))
	book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5}))
	hash := c.Votes.Hash()
	session := testkit.Must(m.Start(testkit.Must(book.Reserve(m.Event())), key.DeriveBytes("votes", hash[:])))
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
	return testkit.Must(ledger.Verify(f, ledger.VerifyOptions{}))
}

// contents are all files of a folder.
func contents(t require.TestingT, dir string) map[string]string {
	out := map[string]string{}
	for _, e := range testkit.Must(os.ReadDir(dir)) {
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
				require.NoError(b, testkit.Err(Run(context.Background(), Config{
					Ledger: filepath.Join(dir, "run.jsonl"), Out: filepath.Join(dir, "labels.csv"), Pool: "pool", Votes: source, Setting: s,
					Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e6, Delta: 1e-5, Mode: ledger.Filter},
				})))
				runs++
			}
			b.ReportMetric(float64(runs)*queries/b.Elapsed().Seconds(), "queries/s")
		})
	}
}

// Two runs on two ledgers write labels of one name at the same time: neither takes the other's file away,
// while it is written or after. Until they are committed, labels are their owner's alone.
func TestRunsOnTwoLedgersLeaveEachOtherAlone(t *testing.T) {
	first := standard(t)
	dir := filepath.Dir(first.Out)
	second := first
	second.Ledger += "2"
	var made Result
	require.ErrorContains(t, testkit.Err(Run(crash.With(context.Background(), func(step string) error {
		if step != "drawn" {
			return nil
		}
		writing := testkit.Must(filepath.Glob(filepath.Join(dir, ".labels.csv.*.tmp")))
		require.Len(t, writing, 1)
		info := testkit.Must(os.Stat(writing[0]))
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		prefix := second
		prefix.Out, prefix.Ledger = filepath.Join(dir, "labels"), prefix.Ledger+"3"
		release1(t, prefix)
		made = release1(t, second)
		require.FileExists(t, writing[0], "a live file")
		return nil
	}), first)), "exists already")
	info := testkit.Must(os.Stat(second.Out))
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	again := release1(t, second)
	require.True(t, again.Complete, "the labels of the second run are as it left them")
	require.Equal(t, made.Answered, again.Answered)

	require.NoError(t, os.Rename(first.Out, first.Out+".second"))
	require.True(t, release1(t, first).Resumed)
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(dir, ".labels*"))))
}

// What a run left when it was killed is removed when it goes on.
func TestKilledRunIsSweptByItself(t *testing.T) {
	c := standard(t)
	var left string
	require.Error(t, testkit.Err(Run(crash.With(context.Background(), func(step string) error {
		if step != "drawn" {
			return nil
		}
		writing := testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(c.Out), ".labels.csv.*.tmp")))
		require.Len(t, writing, 1)
		left = writing[0]
		return errCrash
	}), c)))
	testkit.Write(t, left, "half of the lab") // a process that is killed does not remove it
	release1(t, c)
	require.NoFileExists(t, left)
}

// What may not leave is marked in every form of the labels, and an array, which has no place for a mark, is
// refused: labels of a seed, and of a ledger that has waived a check, to which only runs that waive the same
// are charged.
func TestLabelsOfAWaivedRefusalAreMarked(t *testing.T) {
	seed := uint64(3)
	for _, waived := range [][]string{nil, {"duplicates"}} {
		for _, form := range []Form{CSV, JSONL, Parquet, NPY} {
			c := standard(t)
			c.Out = filepath.Join(t.TempDir(), "labels."+string(form))
			if c.Account.Waived = waived; waived == nil {
				c.Seed = &seed
			}
			if form == NPY {
				require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "a .npy file cannot be marked")
				require.NoFileExists(t, c.Ledger)
				continue
			}
			r := release1(t, c)
			require.False(t, r.Releasable)
			require.Equal(t, waived, r.Account.Waived)
			require.Contains(t, asCSV(t, read(t, c.Out)), heading(withheldColumn))
			require.Zero(t, testkit.Must(os.Stat(c.Out)).Mode().Perm()&0o077)
			require.True(t, release1(t, c).Complete, "and the labels are recognised")
			file := testkit.Must(os.Open(c.Out))
			defer file.Close()
			require.Equal(t, counts{r.Asked, r.Answered}, testkit.Must(countLabels(file, func(string, string) {})))
			if waived == nil {
				continue
			}
			before := read(t, c.Ledger)
			c.Account.Waived, c.Pool = nil, "another"
			require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "checks skipped by --force")
			require.Equal(t, before, read(t, c.Ledger))
		}
	}
	c := standard(t)
	require.True(t, release1(t, c).Releasable)
	require.True(t, strings.HasPrefix(read(t, c.Out), heading(labelColumn)))
	c.Account.Waived, c.Pool = []string{"duplicates"}, "another"
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "checks skipped by --force")
}

// asCSV reads a file of labels in any form.
func asCSV(t *testing.T, raw string) string {
	return string(testkit.Must(io.ReadAll(testkit.Must(ReadCSV(strings.NewReader(raw))))))
}

// sample are votes on which a threshold of 25 declines the third query, and are clear on the others.
func sample(t *testing.T, opt votes.Options, cells ...string) *votes.Source {
	t.Helper()
	var b strings.Builder
	for _, c := range []string{cells[0], cells[2]} {
		b.WriteString(strings.Repeat(c+";", 29) + c + "\n")
	}
	b.WriteString(strings.Repeat(cells[0]+";"+cells[1]+";"+cells[2]+";", 9) + cells[0] + ";" + cells[1] + ";" + cells[2] + "\n")
	text := b.String()
	if opt.Counts {
		text = "30,0,0\n0,0,30\n10,10,10\n"
	}
	path := testkit.Write(t, filepath.Join(t.TempDir(), "v.csv"), text)
	return testkit.Must(votes.Open(context.Background(), []string{path}, opt))
}

// TestLabelsInEveryForm: the file says the same in each form; a run that crashed before it was committed
// makes the same bytes; one that is complete is found so by them, and by its counts.
func TestLabelsInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		opt   votes.Options
		cells []string
		want  string // CSV of all forms
		array string // of the array, if it differs
	}{
		"numbers": {votes.Options{Classes: 3}, []string{"0", "1", "2"}, "0,0\n1,2\n2,\n", ""},
		"from 1":  {votes.Options{Classes: 3, FirstClass: 1}, []string{"1", "2", "3"}, "0,1\n1,3\n2,\n", ""},
		"names": {votes.Options{ClassNames: []string{"flu", "a b", "Ü, <"}}, []string{"flu", "a b", "Ü, <"},
			"0,flu\n1,\"Ü, <\"\n2,\n", "0,0\n1,2\n2,\n"},
		"counts, named": {votes.Options{Counts: true, Teachers: 30, ClassNames: []string{"flu", "gout", "none"}}, []string{"", "", ""},
			"0,flu\n1,none\n2,\n", "0,0\n1,2\n2,\n"},
	} {
		for _, form := range []Form{CSV, JSONL, NPY, Parquet} {
			t.Run(name+" "+string(form), func(t *testing.T) {
				run := standard(t)
				run.Out = filepath.Join(filepath.Dir(run.Out), "labels."+string(form))
				run.Votes, run.Account.Epsilon = sample(t, c.opt, c.cells...), 1e6
				run.Setting = aggregate.Setting{Mechanism: "confident", Values: map[string]float64{"threshold": 25, "sigma1": 0.3, "sigma2": 0.3}}
				crashed(t, run, "drawn")
				require.NoFileExists(t, run.Out)
				made := release1(t, run)
				require.True(t, made.Resumed)
				require.Equal(t, []int{3, 2}, []int{made.Asked, made.Answered})
				want := c.want
				if form == NPY && c.array != "" {
					want = c.array
				}
				require.Equal(t, heading(labelColumn)+want, asCSV(t, read(t, run.Out)))
				again := release1(t, run)
				require.True(t, again.Complete)
				require.Equal(t, []int{3, 2}, []int{again.Asked, again.Answered})
				require.Equal(t, made.SHA256, again.SHA256)
			})
		}
	}
}

// FuzzReadCSV: what is read is refused or CSV of bounded size, whatever it is.
func FuzzReadCSV(f *testing.F) {
	var answers collected
	answers.add(0, 1, true)
	answers.add(1, 0, false)
	var file bytes.Buffer
	require.NoError(f, answers.writeNPY(&file, nil))
	f.Add(bytes.Clone(file.Bytes()))
	file.Reset()
	require.NoError(f, answers.writeParquet(&file, "label", []string{"a", "b"}))
	f.Add(bytes.Clone(file.Bytes()))
	f.Add([]byte("{\"query\":0,\"label\":\"a\"}\n{\"query\":1,\"label_not_releasable\":null}\n"))
	f.Add([]byte(heading(labelColumn) + "0,1\n"))
	f.Add(testkit.Must(os.ReadFile("../votes/testdata/parquet/words.parquet")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, err := ReadCSV(bytes.NewReader(raw))
		if err != nil {
			return
		}
		require.LessOrEqual(t, testkit.Must(io.Copy(io.Discard, text)), int64(maxLabels))
	})
}
