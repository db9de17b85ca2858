package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func TestAFolderKeepsItsKeyAndRefusesAnotherRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	id := run.Identity{Kind: "compare", Settings: map[string]any{"epsilon": 2}, Command: "pate compare"}
	first := testkit.Must(run.OpenFolder(context.Background(), dir, id, rng.NewKey))
	require.True(t, first.Key.Releasable())

	waiting, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := run.OpenFolder(waiting, dir, id, rng.NewKey)
	require.ErrorIs(t, err, context.DeadlineExceeded, "two processes in one folder")
	first.Close()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "private", ".run.key.1.tmp"), nil, 0o600))

	id.Command = "pate compare --out elsewhere" // how it was typed does not matter
	again := testkit.Must(run.OpenFolder(context.Background(), dir, id, func() (rng.Key, error) { return rng.Key{}, errors.New("must not be asked") }))
	require.Equal(t, first.Key.Derive("x").Stream().Uint64(), again.Key.Derive("x").Stream().Uint64())

	require.NoFileExists(t, filepath.Join(dir, "private", ".run.key.1.tmp"))
	again.Close()

	other := id
	other.Settings = map[string]any{"epsilon": 3}
	_, err = run.OpenFolder(context.Background(), dir, other, rng.NewKey)
	require.ErrorIs(t, err, run.ErrOtherRun)
	require.ErrorContains(t, err, "pate compare")

	require.NoError(t, os.Remove(filepath.Join(dir, "private", "run.key")))
	require.ErrorContains(t, testkit.Err(run.OpenFolder(context.Background(), dir, id, rng.NewKey)), "lost its key")
}

func TestAFolderWithoutAKeyIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := run.OpenFolder(context.Background(), dir, run.Identity{}, func() (rng.Key, error) { return rng.Key{}, errors.New("no entropy") })
	require.ErrorContains(t, err, "no entropy")
	require.NoFileExists(t, filepath.Join(dir, "private", "config.json"))
}

func TestAFinishedFolderHasNoKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	id := run.Identity{Kind: "compare", Settings: map[string]any{"epsilon": 2}}
	refuse := func() (rng.Key, error) { return rng.Key{}, errors.New("must not be asked") }
	f := testkit.Must(run.OpenFolder(context.Background(), dir, id, rng.NewKey))
	key := testkit.Must(os.ReadFile(filepath.Join(dir, "private", "run.key")))
	require.NoError(t, f.Finish([32]byte{1}))
	require.NoError(t, f.Finish([32]byte{2}), "a second time does nothing")
	for data, want := range map[[32]byte]bool{{1}: true, {2}: false} {
		require.Equal(t, want, f.CheckMadeOf(data, "it") == nil)
	}
	f.Close()
	for _, when := range []string{"finished", "finished, with the key left by a kill in between"} {
		f := testkit.Must(run.OpenFolder(context.Background(), dir, id, refuse))
		require.True(t, f.Finished, when)
		require.True(t, f.Key.IsZero(), when)
		require.NoFileExists(t, filepath.Join(dir, "private", "run.key"))
		f.Close()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "private", "run.key"), key, 0o600))
	}

	seeded := filepath.Join(t.TempDir(), "seeded")
	f = testkit.Must(run.OpenFolder(context.Background(), seeded, id, func() (rng.Key, error) { return rng.SeedKey(1), nil }))
	require.NoError(t, f.Finish([32]byte{1}))
	require.False(t, f.Finished, "a seed is no secret, and the run can be repeated")
	require.FileExists(t, filepath.Join(seeded, "private", "run.key"))
	f.Close()
}
