package experiments

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// TestOtherVotesAreNotFree: a ledger entry stands for one set of answers. When the teachers changed behind
// its back, the run is refused, not answered anew.
func TestOtherVotesAreNotFree(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{GNMax}
	testkit.Must(Compare(context.Background(), cfg))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "private", "run-0")))
	cfg.Learner = training.BernoulliNB
	require.ErrorContains(t, testkit.Err(Compare(context.Background(), cfg)), "ledger")
}

// timeless drops what may differ between two runs of one key.
func timeless(r *Result) *Result {
	r.Seconds = 0
	for i := range r.Rows {
		r.Rows[i].Seconds = 0
	}
	return r
}

func TestAnInterruptedRunGoesOnAndRepeatsItself(t *testing.T) {
	few := func(dir string) Config { // questions to teachers and to neighbours, and training
		cfg := config(t, dir)
		cfg.Methods = []string{GNMax, ReverseKNN, DPSGD}
		return cfg
	}
	whole := testkit.Must(Compare(context.Background(), few(t.TempDir())))

	dir := t.TempDir()
	for _, stop := range []struct {
		stage string
		at    int
	}{{"dpsgd: ε 2", 40}, {"teachers", 17}} {
		ctx, cancel := context.WithCancel(context.Background())
		cfg := few(dir)
		cfg.Progress = func(p Progress) {
			if p.Stage == stop.stage && p.Done == stop.at {
				cancel()
			}
		}
		require.ErrorIs(t, testkit.Err(Compare(ctx, cfg)), context.Canceled)
		noHalfWrittenFiles(t, dir)
		cancel()
	}
	trained := testkit.Must(filepath.Glob(filepath.Join(dir, "private", "run-0", "teachers", "*")))
	require.GreaterOrEqual(t, len(trained), 17)
	before := modTimes(t, trained)
	again := testkit.Must(Compare(context.Background(), few(dir)))
	require.Equal(t, timeless(whole), timeless(again))
	require.Equal(t, before, modTimes(t, trained), "a teacher was trained twice")
}

func modTimes(t *testing.T, paths []string) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for _, p := range paths {
		info := testkit.Must(os.Stat(p))
		out[p] = info.ModTime().UnixNano()
	}
	return out
}

func noHalfWrittenFiles(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		require.NotContains(t, path, ".tmp")
		return err
	}))
}

func TestAChargeIsWrittenBeforeLabelsAndOnlyOnce(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{ConfidentGNMax}
	testkit.Must(Compare(context.Background(), cfg))
	path := filepath.Join(dir, "private", "ledger", "pate-confident-gnmax-0.jsonl")
	first := testkit.Must(os.ReadFile(path))
	require.Equal(t, 4, strings.Count(string(first), "\n"), "header, charge, seal, commit:\n%s", first)
	labels := testkit.Must(os.ReadFile(filepath.Join(dir, "private", "results", "seeded-labels-pate-confident-gnmax-0.csv")))
	require.Contains(t, string(labels), `,"b, c"`)

	testkit.Must(Compare(context.Background(), cfg))
	second := testkit.Must(os.ReadFile(path))
	require.Equal(t, string(first), string(second))
}

func TestSecretsAreReadableByTheOwnerAlone(t *testing.T) {
	dir := t.TempDir()
	cfg := config(t, dir)
	cfg.Methods = []string{GNMax}
	testkit.Must(Compare(context.Background(), cfg))
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "private"), func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info := testkit.Must(d.Info())
		require.Zero(t, info.Mode().Perm()&0o077, path)
		return nil
	}))
}

// asked is a session that answers nothing.
type asked struct{}

func (asked) Ask(uint64, aggregate.Histogram) (aggregate.Answer, error) {
	return aggregate.Answer{}, nil
}

func (asked) AskBatch(uint64, []aggregate.Histogram) ([]aggregate.Answer, error) { return nil, nil }

func (asked) Releasable() bool { return false }

// keyed is a mechanism that tells the key of its session.
type keyed struct{ key *rng.Key }

func (m keyed) Event() accountant.Event { return accountant.GNMax{Sigma: 100, Discrete: true} }

func (m keyed) Law(aggregate.Histogram) (aggregate.Law, error) { return aggregate.Law{}, nil }

func (m keyed) Start(_ *ledger.Reservation, key rng.Key) (aggregate.Session, error) {
	*m.key = key
	return asked{}, nil
}

// Noise is that of the votes: were it the same for two vote matrices under one key, the difference of two
// answers would be that of the counts, without noise.
func TestOtherVotesHaveOtherNoise(t *testing.T) {
	keyOf := func(vote, seed int, epsilon float64) rng.Key {
		cfg := testkit.Must(config(t, t.TempDir()).withDefaults())
		require.NoError(t, os.MkdirAll(filepath.Join(cfg.Dir, "private", "ledger"), 0o700))
		m := testkit.Must(votes.New(1, 3, 3))
		for teacher, label := range []int{0, 1, vote} {
			m.Set(0, teacher, label)
		}
		var key rng.Key
		v := votingPlan{Mechanism: keyed{&key}}
		at := point{Config: cfg, epsilon: epsilon}
		testkit.Must(at.release(t.Context(), v, poll{queries: []int{0}, rows: []int{0}, ensemble: &ensemble{votes: m}}, GNMax, seed))
		return key
	}
	require.Equal(t, keyOf(1, 0, 2), keyOf(1, 0, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(2, 0, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(1, 1, 2))
	require.NotEqual(t, keyOf(1, 0, 2), keyOf(1, 0, 4), "two budgets, one mechanism")
}
