package label

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// stages are the steps of an uninterrupted run.
func stages(t *testing.T, c Config) []string {
	var all []string
	require.NoError(t, testkit.Err(Run(crash.With(context.Background(), func(step string) error {
		all = append(all, step)
		return nil
	}), c)))
	return all
}

// witness remembers what a run would release.
type witness struct {
	config Config
	labels string // once its key was seen
}

// learn computes the labels from the key, once it is charged.
func (w *witness) learn(t *testing.T) {
	c := w.config
	found := keys(t, c)
	require.LessOrEqual(t, len(found), 1)
	if len(found) == 0 || w.labels != "" {
		return
	}
	key, ok := testkit.Must2(keyfile.Read(found[0]))
	if !ok { // killed while it was destroyed
		return
	}
	require.NoError(t, testkit.Err(ledger.Verify(strings.NewReader(read(t, c.Ledger)), ledger.VerifyOptions{Entry: func(e ledger.Entry) error {
		var id identity
		is, settings := run.Kind(e.Run)
		require.Equal(t, kind, is)
		require.NoError(t, json.Unmarshal(settings, &id))
		w.labels = expected(t, c, id.setting().s, key)
		return nil
	}})))
}

// look checks the files after a crash: labels are there only if they were charged and committed, and they
// are those of the key that was first on disk.
func (w *witness) look(t *testing.T) {
	w.learn(t)
	c := w.config
	if text, err := os.ReadFile(c.Out); err == nil {
		if w.labels == "" { // killed too late to see the key
			w.labels = string(text)
		}
		require.Equal(t, w.labels, string(text), "no label differs from those of the run that was charged")
		s := summary(t, c.Ledger)
		require.EqualValues(t, 1, s.Entries, "charged once")
		require.EqualValues(t, 1, s.Commits, "and committed before the labels had their name")
	} else {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

var long = flag.Bool("long", false, "crash at all pairs of steps, not at a sample")

// After a crash at any step, and at any step of the run after it, the run ends with the labels of its first
// key, charged once, by any mechanism.
func TestCrashAtEveryStep(t *testing.T) {
	all := stages(t, standard(t))
	require.Equal(t, []string{"opened", "key", "reserved", "drawn", "committed", "kept", "named", "done"}, all)
	rnd := rand.New(rand.NewPCG(2, 2))
	for _, mechanism := range append(stableMechanisms, plan.Confident) {
		crashes := [][]string{all}
		for i := range all {
			for j := range all {
				if *long || mechanism == plan.Confident && rnd.IntN(4) == 0 {
					crashes = append(crashes, []string{all[i], all[j], all[i]})
				}
			}
		}
		for _, places := range crashes {
			t.Run(mechanism+" "+strings.Join(places, " "), func(t *testing.T) {
				w := witness{config: stably(t, mechanism)}
				if mechanism == plan.Confident {
					w.config = confidently(standard(t), 14, 30)
				}
				w.crash(t, places)
			})
		}
	}
}

// crash carries out a run that crashes at each of the places in turn, and then ends.
func (w *witness) crash(t *testing.T, places []string) {
	for _, place := range places {
		_, err := Run(crash.With(context.Background(), func(step string) error {
			if step == "reserved" {
				w.learn(t)
			}
			if step == place {
				return errCrash
			}
			return nil
		}), w.config)
		if err != nil {
			require.ErrorIs(t, err, errCrash)
		}
		w.look(t)
	}
	require.NoError(t, testkit.Err(Run(context.Background(), w.config)))
	w.look(t)
	require.Empty(t, keys(t, w.config))
	require.Empty(t, testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(w.config.Out), ".*"))))
}

func TestInterruptedInTheMiddle(t *testing.T) {
	c := standard(t)
	path := filepath.Join(filepath.Dir(c.Out), "long.csv")
	testkit.Write(t, path, voteRows(3, 3*batchQueries+100, 3))
	c.Votes = open(t, path, votes.Options{})
	w := witness{config: c}
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		c.Progress = func(done, total int) {
			require.Equal(t, c.Votes.Queries(), total)
			if done >= 2*batchQueries {
				cancel()
			}
		}
		require.ErrorIs(t, testkit.Err(Run(ctx, c)), context.Canceled)
		require.NoFileExists(t, c.Out)
		w.look(t)
		require.NotEmpty(t, w.labels)
	}
	c.Progress = nil
	require.True(t, release1(t, c).Resumed)
	w.look(t)
	require.Equal(t, w.labels, read(t, c.Out))
}

// A file of votes that changes while it is read releases nothing.
func TestVotesThatChangeMeanwhile(t *testing.T) {
	c := confidently(standard(t), -1000, 10) // the cap is met at once, and the file is read to its end
	path := filepath.Join(filepath.Dir(c.Out), "votes.csv")
	require.ErrorContains(t, testkit.Err(Run(crash.With(context.Background(), func(step string) error {
		if step == "reserved" {
			require.NoError(t, os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
		}
		return nil
	}), c)), "changed while it was in use")
	require.NoFileExists(t, c.Out)
	require.Zero(t, summary(t, c.Ledger).Commits)
}

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// Two processes at once: the second waits and finds the run complete.
func TestTwoAtOnce(t *testing.T) {
	c := standard(t)
	results, errs := make(chan Result, 2), make(chan error, 2)
	for range 2 {
		go func() {
			r, err := Run(context.Background(), c)
			results <- r
			errs <- err
		}()
	}
	require.NoError(t, <-errs)
	require.NoError(t, <-errs)
	require.NotEqual(t, (<-results).Complete, (<-results).Complete)
	require.EqualValues(t, 1, summary(t, c.Ledger).Entries)

	// While another has it, an interrupt ends the wait.
	book, err := ledger.Open(t.Context(), c.Ledger, c.Account, ledger.VerifyOptions{})
	if err != nil {
		require.ErrorIs(t, err, ledger.ErrOtherConfig) // its noise is secret
		account := c.Account
		account.Noise = ledger.SecretNoise
		book, err = ledger.Open(t.Context(), c.Ledger, account, ledger.VerifyOptions{})
	}
	require.NoError(t, err)
	defer book.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, testkit.Err(Run(ctx, c)), context.DeadlineExceeded)
}

// predicted is a run of Interactive with a line of predictions for each query.
func predicted(t *testing.T) (c Config, lines []string) {
	c = standard(t)
	for q := range testQueries {
		p := []string{"0.01", "0.01", "0.01"}
		p[q%testClasses] = "0.98"
		lines = append(lines, strings.Join(p, ","))
	}
	c.Predictions = testkit.Write(t, filepath.Join(filepath.Dir(c.Out), "predictions.csv"), strings.Join(lines, "\n"))
	c.Setting = with("interactive", "threshold", 100.0, "answers", 5.0, "confidence", 0.9)
	return c, lines
}

// Predictions that cannot be used, on their last line even, cost nothing and leave nothing: the queries can
// still be answered.
func TestBadPredictionsAreFoundBeforeTheCharge(t *testing.T) {
	c, lines := predicted(t)
	last := strings.Join(lines[:testQueries-1], "\n") + "\n"
	good := strings.Join(lines, "\n")
	before := testkit.Must(os.ReadDir(filepath.Dir(c.Out)))
	for text, says := range map[string]string{
		last + "0.4,0.4,0.4":            "line 60 is not a prediction; aggregate: predicted probabilities add up to 1.2",
		last + "0.1,0.1,0.1":            "add up to 0.3",
		last + "NaN,0.5,0.5":            "line 60 is not a prediction",
		last + "1,Inf,0":                "line 60 is not a prediction",
		last + "1.5,-0.5,0":             "must be in [0, 1]",
		last + "0.5,x,0.5":              "line 60, cell 2 is not a number",
		last + "1,0":                    "line 60 has 2 cells",
		last + "1,0,0,0":                "line 60 has 4 cells",
		last:                            "ends before query 59",
		"a,b,c\n" + last:                "ends before query 59",
		"":                              "ends before query 0",
		good + "\n1,0,0\n":              "has 1 lines too many; the number of queries is 60",
		good + "\n\nx\n1,0,0":           "has 2 lines too many",
		"NA,0,1\n" + good:               "line 1, cell 1 is not a number",
		last + strings.Repeat("0", 3e6): "line 60 is too long",
	} {
		testkit.Write(t, c.Predictions, text)
		_, err := Run(context.Background(), c)
		testkit.ErrorAs[*fault.Error](t, err, says)
		require.ErrorContains(t, err, says)
		require.Len(t, testkit.Must(os.ReadDir(filepath.Dir(c.Out))), len(before), "%s: no ledger, key or labels", says)
	}
	testkit.Write(t, c.Predictions, "a,b,c\r\n"+strings.ReplaceAll(good, "\n", "\r\n")+"\r\n\r\n")
	require.Equal(t, testQueries, release1(t, c).Asked)
}

// A part of the votes has predictions for all of them.
func TestPredictionsOfPartOfTheVotesAreAllChecked(t *testing.T) {
	c, lines := predicted(t)
	lines[testQueries-1] = "1,1,1"
	testkit.Write(t, c.Predictions, strings.Join(lines, "\n"))
	c.Votes = open(t, filepath.Join(filepath.Dir(c.Out), "votes.csv"), votes.Options{To: 20})
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "line 60 is not a prediction")
	require.NoFileExists(t, c.Ledger)
}

func TestPredictionsFromAPipe(t *testing.T) {
	c, _ := predicted(t)
	c.Predictions = filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(c.Predictions, 0o600))
	require.ErrorContains(t, testkit.Err(Run(context.Background(), c)), "is not a regular file")
	require.NoFileExists(t, c.Ledger)
}

// Predictions that change between the check and the draws are not committed, and the run can be repeated
// with those it was charged for.
func TestPredictionsThatChangeAreNotCommitted(t *testing.T) {
	c, lines := predicted(t)
	seed := uint64(2) // secret noise would change an answer now and then
	c.Seed = &seed
	good := strings.Join(lines, "\n")
	require.ErrorContains(t, testkit.Err(Run(crash.With(context.Background(), func(step string) error {
		if step == "reserved" {
			testkit.Write(t, c.Predictions, strings.Replace(good, "0.98", "0.9805", 1))
		}
		return nil
	}), c)), "was changed while it was read")
	require.NoFileExists(t, c.Out)
	testkit.Write(t, c.Predictions, good)
	require.True(t, release1(t, c).Resumed)
	for q, line := range strings.Split(strings.TrimSpace(read(t, c.Out)), "\n")[1:] {
		require.Equal(t, fmt.Sprintf("%d,%d", q, q%testClasses), line)
	}
}

func FuzzPredictions(f *testing.F) {
	f.Add([]byte("a,b\n0.5,0.5\n1,0\n"))
	f.Add([]byte("0.5, 0.5\r\n1,0"))
	f.Add([]byte("NaN,1e400\n,\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := testkit.Must(openPredictions(testkit.Write(t, filepath.Join(t.TempDir(), "p.csv"), string(text)), 2))
		defer r.close()
		for q := range 5 {
			p, err := r.predictionOf(q)
			if err != nil {
				testkit.ErrorAs[*fault.Error](t, err)
				return
			}
			require.Len(t, p, 2)
		}
	})
}
