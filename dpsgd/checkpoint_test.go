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
	"github.com/pate-go/pate/rng"
)

// TestAnInterruptedRunGoesOn checks, for all ways to draw batches, that a run that is
// interrupted again and again ends with the bits of one that is not, and that its ledger
// ends with one charge.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	goesOn(t, usual)
	turns := usual
	turns.Sampling = cycle(5)
	goesOn(t, turns)
	for _, s := range []Sampling{allocate(6, 2), bins(6)} { // checkpoints fall within epochs
		cfg := usual
		cfg.SamplingProbability, cfg.Sampling = 0, s
		goesOn(t, cfg)
	}
}

func goesOn(t *testing.T, cfg Config) {
	d, key := clouds(400, 5), rng.SeedKey(5)
	whole, want := trained(t, d, cfg, key)

	dir := t.TempDir()
	cfg.Checkpoint, cfg.CheckpointEvery = filepath.Join(dir, "run.ckpt"), 4
	book := filepath.Join(dir, "run.jsonl")
	var got Result
	var model *Softmax
	steps := 0
	for lives := 1; ; lives++ {
		require.Less(t, lives, 20)
		l, err := ledger.Open(t.Context(), book, ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Run: "one"}, ledger.VerifyOptions{})
		require.NoError(t, err)
		r, err := l.Reserve(cfg.Event())
		require.NoError(t, err)
		model, err = NewSoftmax(d.X.Cols, 3)
		require.NoError(t, err)
		ctx, kill := context.WithCancel(context.Background())
		here := 0
		cfg.Observe = func(Metrics) {
			steps++
			if here++; here == 7 {
				kill()
			}
		}
		got, err = Train(ctx, model, d, cfg, r, key)
		kill()
		events := l.Schedule().Events
		require.NoError(t, l.Close())
		require.Equal(t, []accountant.Event{cfg.Event()}, events, "one charge")
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, whole.Parameters(), model.Parameters())
	require.Equal(t, want, got)
	require.Less(t, steps, 2*cfg.Steps, "most steps are not done again")
	info, err := os.Stat(cfg.Checkpoint)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestACheckpointOfAnotherRunIsRefused(t *testing.T) {
	d, key := clouds(100, 3), rng.SeedKey(5)
	cfg := usual
	cfg.Steps, cfg.Checkpoint = 4, filepath.Join(t.TempDir(), "run.ckpt")
	trained(t, d, cfg, key)
	file, err := os.ReadFile(cfg.Checkpoint)
	require.NoError(t, err)
	try := func(data Data, cfg Config, key rng.Key) error {
		m, err := NewSoftmax(data.X.Cols, 3)
		require.NoError(t, err)
		before := append([]float32(nil), m.Parameters()...)
		_, err = Train(context.Background(), m, data, cfg, reserve(t, cfg), key)
		if errors.Is(err, ErrCheckpoint) {
			require.Equal(t, before, m.Parameters(), "nothing is changed")
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
	cfg.CheckpointEvery = -1
	require.ErrorContains(t, cfg.Validate(), "CheckpointEvery")
}

// TestACheckpointOfAnotherEntry is refused with the numbers of both entries.
func TestACheckpointOfAnotherEntry(t *testing.T) {
	d := clouds(30, 3)
	cfg := usual
	cfg.Steps, cfg.Checkpoint = 2, filepath.Join(t.TempDir(), "run.ckpt")
	l, err := ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5})
	require.NoError(t, err)
	var reservations []*ledger.Reservation
	for range 2 {
		r, err := l.Reserve(cfg.Event())
		require.NoError(t, err)
		reservations = append(reservations, r)
	}
	train := func() error {
		r := reservations[0]
		reservations = reservations[1:]
		m, err := NewSoftmax(3, 3)
		require.NoError(t, err)
		_, err = Train(context.Background(), m, d, cfg, r, rng.SeedKey(5))
		return err
	}
	require.NoError(t, train())
	err = train()
	require.ErrorIs(t, err, ErrCheckpoint)
	require.ErrorContains(t, err, "entry 1 of the ledger, the reservation is entry 2")
}

// afterTwoSteps returns the trainer of a small run that writes its checkpoint to path.
func afterTwoSteps(t testing.TB, path string) *trainer {
	d, key := clouds(30, 3), rng.SeedKey(5)
	cfg := usual
	cfg.Steps, cfg.Workers, cfg.Checkpoint = 2, 1, path
	m, err := NewSoftmax(3, 3)
	require.NoError(t, err)
	tr, err := newTrainer(m, d, cfg)
	require.NoError(t, err)
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
	written, err := os.ReadFile(filepath.Join("testdata", "run.ckpt"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "run.ckpt")
	tr := afterTwoSteps(t, path)
	tr.done, tr.counts = 0, Diagnostics{}
	require.NoError(t, tr.read(bytes.NewReader(written)))
	require.Equal(t, Diagnostics{Sampled: 3}, tr.counts)
	require.NoError(t, tr.save())
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, written, again)
}

func FuzzCheckpoint(f *testing.F) {
	path := filepath.Join(f.TempDir(), "run.ckpt")
	require.NoError(f, afterTwoSteps(f, path).save())
	whole, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(whole)
	f.Add([]byte(checkpointMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := afterTwoSteps(t, path).read(bytes.NewReader(data))
		if !bytes.Equal(data, whole) && !errors.Is(err, ErrCheckpoint) {
			t.Fatalf("accepted, or another error: %v", err)
		}
	})
}
