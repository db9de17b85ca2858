package run_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// book is a ledger in a folder of its own, with a state folder of its own.
func book(t *testing.T) (run.File, *[]string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	warned := &[]string{}
	return run.File{
		Path: filepath.Join(dir, "run.jsonl"), Warn: func(text string) { *warned = append(*warned, text) },
		New: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter, Noise: ledger.SecretNoise},
	}, warned
}

// one is a release that writes a function of its key.
func one(f run.File, name string) run.Release {
	return run.Release{
		Run: name, Events: []accountant.Event{accountant.GNMax{Sigma: 100}},
		Key: run.Key{File: f.Path + "." + name + ".key"}, Out: run.Out{Path: f.Path + "-" + name, Tag: name, Mode: 0o644},
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			if err := r[0].Begin(r[0].Event(), ledger.Use{Secret: true}); err != nil {
				return err
			}
			text, err := run.KeyName(key)
			if err == nil {
				_, err = io.WriteString(out, text)
			}
			return err
		},
	}
}

func do(ctx context.Context, f run.File, r run.Release) (run.Done, error) {
	account, _, err := f.Look()
	if err != nil {
		return run.Done{}, err
	}
	b, err := f.Open(ctx, account)
	if err != nil {
		return run.Done{}, err
	}
	defer b.Close()
	return b.Release(ctx, r)
}

// Every step is on disk before the next: seen from outside at each place.
func TestTheOrder(t *testing.T) {
	f, warned := book(t)
	r := one(f, "a")
	on := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	has := func(what string) bool {
		text := testkit.Must(os.ReadFile(f.Path))
		return strings.Contains(string(text), what)
	}
	var seen []string
	ctx := crash.With(t.Context(), func(place string) error {
		seen = append(seen, place)
		at := len(seen)
		require.True(t, on(run.HeadFile(f.Path)), "since the ledger was made")
		require.True(t, on(run.IDFile(f.Path)))
		require.Equal(t, place != "done", on(r.Key.File), place)
		require.Equal(t, at >= 2, has(`"reserve":1`), place)
		require.Equal(t, at >= 4, has(`"commit":1`), place)
		head := testkit.Must(run.ReadHeads(f.Path))
		require.Equal(t, at >= 5, head.Beside.Lines == 4, place)
		require.Equal(t, at >= 6, on(r.Out.Path), place)
		return nil
	})
	done := testkit.Must(do(ctx, f, r))
	file := testkit.Must(os.ReadFile(r.Out.Path))
	require.Equal(t, run.Done{Entry: 1, SHA256: sha256.Sum256(file)}, done)
	require.Equal(t, []string{"key", "reserved", "drawn", "committed", "kept", "named", "done"}, seen)
	done = testkit.Must(do(t.Context(), f, r))
	require.Equal(t, run.Done{Recorded: true, Complete: true, Entry: 1, SHA256: sha256.Sum256(file)}, done)
	require.Empty(t, *warned)
}

func isError(t *testing.T, err error, says string) {
	t.Helper()
	var refused *fault.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, says)
	require.True(t, refused.Check)
}

// What others may have written or may know is not taken.
func TestFilesOfOthers(t *testing.T) {
	for _, mode := range []fs.FileMode{0o644, 0o660, 0o606} {
		f, _ := book(t)
		r := one(f, "a")
		stop := errors.New("stop")
		_, err := do(crash.With(t.Context(), func(place string) error {
			if place == "reserved" {
				return stop
			}
			return nil
		}), f, r)
		require.ErrorIs(t, err, stop)
		require.NoError(t, os.Chmod(r.Key.File, mode))
		require.ErrorContains(t, testkit.Err(do(t.Context(), f, r)), "not this user's alone")
		require.NoFileExists(t, r.Out.Path)
		require.NoError(t, os.Rename(r.Key.File, r.Key.File+".there"))
		require.NoError(t, os.Chmod(r.Key.File+".there", 0o600))
		require.NoError(t, os.Symlink(r.Key.File+".there", r.Key.File))
		require.ErrorContains(t, testkit.Err(do(t.Context(), f, r)), "no regular file")
		require.NoError(t, os.Rename(r.Key.File+".there", r.Key.File))
		testkit.Must(do(t.Context(), f, r))
	}
}

func TestWarnings(t *testing.T) {
	f, warned := book(t)
	testkit.Must(do(t.Context(), f, one(f, "a")))
	require.NoError(t, os.Chmod(f.Path, 0o644))
	testkit.Must(do(t.Context(), f, one(f, "b")))
	require.Len(t, *warned, 1)
	require.Contains(t, (*warned)[0], "others may read it")

	f, warned = book(t)
	require.NoError(t, os.WriteFile(os.Getenv("XDG_STATE_HOME"), nil, 0o600)) // no folder can be made there
	testkit.Must(do(t.Context(), f, one(f, "a")))
	require.NotEmpty(t, *warned)
	require.Contains(t, (*warned)[0], "is kept beside it only")
}

// A ledger that is a pipe is refused and not waited for.
func TestNoRegularFile(t *testing.T) {
	f, _ := book(t)
	require.NoError(t, os.Mkdir(f.Path, 0o700))
	_, _, err := f.Look()
	require.ErrorContains(t, err, "is a folder")
}

func TestLost(t *testing.T) {
	for _, cut := range []string{"removed", "emptied", "in its header"} {
		f, _ := book(t)
		_, err := do(t.Context(), f, one(f, "a"))
		require.NoError(t, err)
		text := testkit.Must(os.ReadFile(f.Path))
		switch cut {
		case "removed":
			err = os.Remove(f.Path)
		case "emptied":
			err = os.Truncate(f.Path, 0)
		default:
			err = os.WriteFile(f.Path, text[:40], 0o600)
		}
		require.NoError(t, err)
		_, _, err = f.Look()
		isError(t, err, "shows that it was there")
		_, err = f.Open(t.Context(), f.New) // somebody else made it meanwhile, or not
		if cut != "removed" {
			isError(t, err, "shows that it was there")
		}
	}
}

// Over budget nothing is written: no key of a release that never is.
func TestOverBudget(t *testing.T) {
	f, _ := book(t)
	r := one(f, "a")
	r.Events = []accountant.Event{accountant.GNMax{Sigma: 0.1}}
	require.ErrorIs(t, testkit.Err(do(t.Context(), f, r)), ledger.ErrBudgetExceeded)
	require.NoFileExists(t, r.Key.File)
	require.NoFileExists(t, r.Out.Path)
}

// Another outcome for the same charge does not leave.
func TestASecondOutcomeDoesNotLeave(t *testing.T) {
	f, _ := book(t)
	r := one(f, "a")
	stop := errors.New("stop")
	_, err := do(crash.With(t.Context(), func(place string) error {
		if place == "committed" {
			return stop
		}
		return nil
	}), f, r)
	require.ErrorIs(t, err, stop)
	require.NoFileExists(t, r.Out.Path)
	key := testkit.Must(rng.NewKey())
	r.Key = run.Key{Given: key}
	require.ErrorContains(t, testkit.Err(do(t.Context(), f, r)), "a second answer")
	require.NoFileExists(t, r.Out.Path)
}

// The head of one ledger is not that of another which was made alike.
func TestLedgersMadeAlike(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), f, one(f, "a")))
	other := f
	other.Path += "2"
	testkit.Must(do(t.Context(), other, one(other, "a")))
	text := testkit.Must(os.ReadFile(other.Path))
	require.NoError(t, os.WriteFile(f.Path, text, 0o600))
	require.ErrorIs(t, testkit.Err(do(t.Context(), f, one(f, "b"))), ledger.ErrCorrupt)
}

// Without its head or its secret a ledger under which something was released is refused; an older copy is
// too, by the head beside it or by that in the state folder.
func TestWhatBelongsToALedgerIsMissed(t *testing.T) {
	f, _ := book(t)
	_, err := do(t.Context(), f, one(f, "a"))
	require.NoError(t, err)
	older := testkit.Must(os.ReadFile(f.Path))
	olderHead := testkit.Must(os.ReadFile(run.HeadFile(f.Path)))
	testkit.Must(do(t.Context(), f, one(f, "b")))
	for _, path := range []string{run.HeadFile(f.Path), run.IDFile(f.Path)} {
		require.NoError(t, os.Rename(path, path+".away"))
		_, err = do(t.Context(), f, one(f, "c"))
		isError(t, err, path+" is gone")
		require.NoError(t, os.Rename(path+".away", path))
	}
	require.NoError(t, os.WriteFile(f.Path, older, 0o600))
	require.ErrorIs(t, testkit.Err(do(t.Context(), f, one(f, "c"))), ledger.ErrCorrupt)
	require.NoError(t, os.WriteFile(run.HeadFile(f.Path), olderHead, 0o600))
	require.ErrorIs(t, testkit.Err(do(t.Context(), f, one(f, "c"))), ledger.ErrCorrupt, "by the state folder")
	require.NoError(t, os.RemoveAll(os.Getenv("XDG_STATE_HOME")))
	testkit.Must(do(t.Context(), f, one(f, "c"))) // no file tells: the package comment says so
}
