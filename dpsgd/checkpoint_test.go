package dpsgd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestAnInterruptedRunGoesOn checks that a run of any kind that is interrupted again and again ends with
// the bits of one that is not, and that its ledger ends with one charge.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	d, key := clouds(300, 4), rng.SeedKey(5)
	for name, cfg := range everyKind() {
		whole, want := trained(t, d, cfg, 5)
		dir := t.TempDir()
		cfg.Checkpoint, cfg.CheckpointEvery = filepath.Join(dir, "run.ckpt"), 4
		if cfg.TotalSteps() < 10 {
			cfg.CheckpointEvery = 2
		}
		book, steps := filepath.Join(dir, "run.jsonl"), 0
		for lives := 1; ; lives++ {
			require.Less(t, lives, 20)
			l, reservation := (*ledger.Ledger)(nil), reserve(t, cfg)
			if name == "momentum" { // one ledger file for all kinds
				var err error
				l, err = ledger.Open(t.Context(), book, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Run: "one"}, ledger.VerifyOptions{})
				require.NoError(t, err)
				reservation = testkit.Must(l.Reserve(cfg.Event()))
			}
			m := newSoftmax(4, 3)
			ctx, kill := context.WithCancel(t.Context())
			here := 0
			cfg.Observe = func(Metrics) {
				steps++
				if here++; here == cfg.CheckpointEvery+3 {
					kill()
				}
			}
			got, err := Train(ctx, m, d, cfg, reservation, key)
			kill()
			if l != nil {
				events := l.Schedule().Events
				require.NoError(t, l.Close())
				require.Equal(t, []accountant.Event{cfg.Event()}, events, "one charge")
			}
			if err == nil {
				require.Greater(t, lives, 1)
				require.Equal(t, whole.Parameters(), m.Parameters(), name)
				require.Equal(t, want, got, name)
				break
			}
			require.ErrorIs(t, err, context.Canceled, name)
		}
		require.Less(t, steps, 2*cfg.TotalSteps()+2, "most steps are not done again")
		info := testkit.Must(os.Stat(cfg.Checkpoint))
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

func TestACheckpointOfAnotherRunIsRefused(t *testing.T) {
	d, key := clouds(100, 3), rng.SeedKey(5)
	cfg := usual
	cfg.Steps, cfg.Checkpoint = 4, filepath.Join(t.TempDir(), "run.ckpt")
	trained(t, d, cfg, 5)
	file := testkit.Must(os.ReadFile(cfg.Checkpoint))
	try := func(data Data, cfg Config, key rng.Key) error {
		m := newSoftmax(3, 3)
		_, err := train(t.Context(), t, m, data, cfg, key)
		if errors.Is(err, ErrCheckpoint) {
			require.Equal(t, newSoftmax(3, 3).Parameters(), m.Parameters(), "nothing is changed")
		}
		return err
	}
	require.NoError(t, try(d, cfg, key), "a complete run repeats its result")
	other := cfg
	other.LearningRate = 2
	require.ErrorIs(t, try(d, other, key), ErrCheckpoint)
	require.ErrorIs(t, try(d, cfg, rng.SeedKey(6)), ErrCheckpoint)
	changed := clouds(100, 3)
	changed.Y[7] = (changed.Y[7] + 1) % 3
	require.ErrorIs(t, try(changed, cfg, key), ErrCheckpoint)
	for i := 0; i < len(file); i += 13 {
		bad := bytes.Clone(file)
		bad[i] ^= 4
		require.NoError(t, os.WriteFile(cfg.Checkpoint, bad, 0o600))
		require.ErrorIs(t, try(d, cfg, key), ErrCheckpoint, "byte %d", i)
	}
	for _, bad := range [][]byte{nil, file[:len(file)-1], append(bytes.Clone(file), 0)} {
		require.NoError(t, os.WriteFile(cfg.Checkpoint, bad, 0o600))
		require.ErrorIs(t, try(d, cfg, key), ErrCheckpoint)
	}
	cfg.Checkpoint = filepath.Join(t.TempDir(), "no such folder", "run.ckpt")
	require.ErrorContains(t, try(d, cfg, key), "checkpoint")
}

// TestACheckpointOfAnotherEntry is refused with the numbers of both entries.
func TestACheckpointOfAnotherEntry(t *testing.T) {
	d := clouds(30, 3)
	cfg := usual
	cfg.Steps, cfg.Checkpoint = 2, filepath.Join(t.TempDir(), "run.ckpt")
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5}))
	first := testkit.Must(l.Reserve(cfg.Event()))
	second := testkit.Must(l.Reserve(cfg.Event()))
	require.NoError(t, testkit.Err(Train(t.Context(), newSoftmax(3, 3), d, cfg, first, rng.SeedKey(5))))
	_, err := Train(t.Context(), newSoftmax(3, 3), d, cfg, second, rng.SeedKey(5))
	require.ErrorIs(t, err, ErrCheckpoint)
	require.ErrorContains(t, err, "entry 1 of the ledger, the reservation is entry 2")
}

// afterTwoSteps returns the trainer of a small run that writes its checkpoint to path.
func afterTwoSteps(t testing.TB, path string) *trainer {
	d, key := clouds(30, 3), rng.SeedKey(5)
	cfg := usual
	cfg.Steps, cfg.Workers, cfg.Checkpoint = 2, 1, path
	m := newSoftmax(3, 3)
	tr := trainerOf(t, m, d, cfg, 5)
	tr.release.key, tr.entry = key.DeriveBytes("dpsgd", fingerprint(cfg.identity(), m, d, 1)), 1
	tr.done, tr.counts = 2, Diagnostics{Sampled: 3}
	return tr
}

// TestAWrittenCheckpoint checks that testdata/run.ckpt is read, and written again byte for byte.
// UPDATE_GOLDEN=1 writes it: for a new format, or a run with another identity.
func TestAWrittenCheckpoint(t *testing.T) {
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, afterTwoSteps(t, filepath.Join("testdata", "run.ckpt")).save())
	}
	written := testkit.Must(os.ReadFile(filepath.Join("testdata", "run.ckpt")))
	path := filepath.Join(t.TempDir(), "run.ckpt")
	tr := afterTwoSteps(t, path)
	tr.done, tr.counts = 0, Diagnostics{}
	require.NoError(t, tr.read(bytes.NewReader(written)))
	require.Equal(t, Diagnostics{Sampled: 3}, tr.counts)
	require.NoError(t, tr.save())
	again := testkit.Must(os.ReadFile(path))
	require.Equal(t, written, again)
}

func FuzzCheckpoint(f *testing.F) {
	path := filepath.Join(f.TempDir(), "run.ckpt")
	require.NoError(f, afterTwoSteps(f, path).save())
	whole := testkit.Must(os.ReadFile(path))
	f.Add(whole)
	f.Add([]byte(checkpointMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := afterTwoSteps(t, path).read(bytes.NewReader(data))
		if !bytes.Equal(data, whole) && !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("accepted, or another error: %v", err)
		}
	})
}
