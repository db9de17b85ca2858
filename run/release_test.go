package run_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

func one(f run.File, name string) run.Run {
	s := sampleOf(f, name)
	s.inputs = []byte(name)
	return s.Run
}

func do(ctx context.Context, r run.Run) (run.Done, error) {
	s, err := r.Open(ctx)
	if err != nil {
		return run.Done{}, err
	}
	defer s.Close()
	return s.Next(ctx)
}

func stopAt(t *testing.T, r run.Run, place string) {
	t.Helper()
	stop := errors.New("stop")
	require.ErrorIs(t, testkit.Err(do(crash.With(t.Context(), func(at string) error {
		if at == place {
			return stop
		}
		return nil
	}), r)), stop)
}

func TestTheOrder(t *testing.T) {
	f, warned := book(t)
	r := one(f, "a")
	out := r.Stages[0].Out
	on := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	has := func(what string) bool {
		return strings.Contains(string(testkit.Must(os.ReadFile(f.Path))), what)
	}
	var seen []string
	ctx := crash.With(t.Context(), func(place string) error {
		seen = append(seen, place)
		at := len(seen)
		require.True(t, on(run.HeadFile(f.Path)), "since the ledger was made")
		require.True(t, on(run.IDFile(f.Path)))
		require.Equal(t, place != "opened" && place != "done", len(testkit.Must(run.Keys(f.Path))) == 1, place)
		require.Equal(t, at >= 3, has(`"reserve":1`), place)
		require.Equal(t, at >= 5, has(`"commit":1`), place)
		require.Equal(t, at >= 6, testkit.Must(run.ReadHeads(f.Path)).Beside.Lines == 4, place)
		require.Equal(t, at >= 7, on(out), place)
		return nil
	})
	done := testkit.Must(do(ctx, r))
	file := testkit.Must(os.ReadFile(out))
	require.Equal(t, run.Done{Entry: 1, SHA256: sha256.Sum256(file)}, done)
	require.Equal(t, []string{"opened", "key", "reserved", "drawn", "committed", "kept", "named", "done"}, seen)
	done = testkit.Must(do(t.Context(), r))
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

func TestFilesOfOthers(t *testing.T) {
	for _, mode := range []fs.FileMode{0o644, 0o660, 0o606} {
		f, _ := book(t)
		r := one(f, "a")
		stopAt(t, r, "reserved")
		key := testkit.Must(run.Keys(f.Path))[0]
		require.NoError(t, os.Chmod(key, mode))
		require.ErrorContains(t, testkit.Err(do(t.Context(), r)), "not this user's alone")
		require.NoFileExists(t, r.Stages[0].Out)
		require.NoError(t, os.Rename(key, key+".there"))
		require.NoError(t, os.Chmod(key+".there", 0o600))
		require.NoError(t, os.Symlink(key+".there", key))
		require.ErrorContains(t, testkit.Err(do(t.Context(), r)), "no regular file")
		require.NoError(t, os.Rename(key+".there", key))
		testkit.Must(do(t.Context(), r))
	}
}

func TestWarnings(t *testing.T) {
	f, warned := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	require.NoError(t, os.Chmod(f.Path, 0o644))
	testkit.Must(do(t.Context(), one(f, "b")))
	require.Len(t, *warned, 1)
	require.Contains(t, (*warned)[0], "can be read by other users")

	f, warned = book(t)
	require.NoError(t, os.WriteFile(os.Getenv("XDG_STATE_HOME"), nil, 0o600)) // no folder can be made there
	testkit.Must(do(t.Context(), one(f, "a")))
	require.NotEmpty(t, *warned)
	require.Contains(t, (*warned)[0], "is kept only beside the ledger")
}

func TestNoRegularFile(t *testing.T) {
	f, _ := book(t)
	require.NoError(t, os.Mkdir(f.Path, 0o700))
	_, _, err := f.Look()
	require.ErrorContains(t, err, "is a folder")
}

func TestLost(t *testing.T) {
	for _, cut := range []string{"removed", "emptied", "in its header"} {
		f, _ := book(t)
		_, err := do(t.Context(), one(f, "a"))
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
		isError(t, err, "shows that it existed")
		_, err = f.Open(t.Context(), f.New) // somebody else made it meanwhile, or not
		if cut != "removed" {
			isError(t, err, "shows that it existed")
		}
	}
}

func TestASecondOutcomeDoesNotLeave(t *testing.T) {
	f, _ := book(t)
	r := one(f, "a")
	stopAt(t, r, "committed")
	r.Stages[0].Draw = func(r []*ledger.Reservation, _ rng.Key, out io.Writer) error {
		_, err := io.WriteString(out, "something else")
		return errors.Join(err, r[0].Begin(r[0].Event(), ledger.Use{Secret: true}))
	}
	require.ErrorContains(t, testkit.Err(do(t.Context(), r)), "a second answer")
	require.NoFileExists(t, r.Stages[0].Out)
}

func TestLedgersMadeAlike(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	other := f
	other.Path += "2"
	testkit.Must(do(t.Context(), one(other, "a")))
	require.NoError(t, os.WriteFile(f.Path, testkit.Must(os.ReadFile(other.Path)), 0o600))
	require.ErrorIs(t, testkit.Err(do(t.Context(), one(f, "b"))), ledger.ErrCorrupt)
}

func TestWhatBelongsToALedgerIsMissed(t *testing.T) {
	f, _ := book(t)
	_, err := do(t.Context(), one(f, "a"))
	require.NoError(t, err)
	older := testkit.Must(os.ReadFile(f.Path))
	olderHead := testkit.Must(os.ReadFile(run.HeadFile(f.Path)))
	testkit.Must(do(t.Context(), one(f, "b")))
	for _, path := range []string{run.HeadFile(f.Path), run.IDFile(f.Path)} {
		require.NoError(t, os.Rename(path, path+".away"))
		_, err = do(t.Context(), one(f, "c"))
		isError(t, err, path+" is missing")
		require.NoError(t, os.Rename(path+".away", path))
	}
	require.NoError(t, os.WriteFile(f.Path, older, 0o600))
	require.ErrorIs(t, testkit.Err(do(t.Context(), one(f, "c"))), ledger.ErrCorrupt)
	require.NoError(t, os.WriteFile(run.HeadFile(f.Path), olderHead, 0o600))
	require.ErrorIs(t, testkit.Err(do(t.Context(), one(f, "c"))), ledger.ErrCorrupt, "by the state folder")
	require.NoError(t, os.RemoveAll(os.Getenv("XDG_STATE_HOME")))
	testkit.Must(do(t.Context(), one(f, "c"))) // no file tells: the package comment says so
}

func TestASecondHeadThatIsMissingIsToldOnce(t *testing.T) {
	f, warned := book(t)
	require.NoError(t, testkit.Must(f.Open(t.Context(), f.New)).Close())
	require.NoError(t, os.RemoveAll(os.Getenv("XDG_STATE_HOME")))
	testkit.Must(do(t.Context(), one(f, "a")))
	require.Empty(t, *warned, "nothing had left")

	require.NoError(t, os.RemoveAll(os.Getenv("XDG_STATE_HOME"))) // as on another machine
	for _, name := range []string{"a", "b", "c"} {
		testkit.Must(do(t.Context(), one(f, name)))
		require.Len(t, *warned, 1)
	}
	require.Contains(t, (*warned)[0], "used on another machine")
	require.Contains(t, (*warned)[0], "older copy")
}

func TestTheStateFolderIsSwept(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	state := filepath.Join(os.Getenv("XDG_STATE_HOME"), "pate", "ledgers")
	kept := testkit.Must(os.ReadDir(state))
	require.Len(t, kept, 2, "a head and an index")
	for _, file := range kept {
		require.NoError(t, os.WriteFile(filepath.Join(state, "."+file.Name()+".17.tmp"), nil, 0o600))
	}
	testkit.Must(do(t.Context(), one(f, "b")))
	require.Len(t, testkit.Must(os.ReadDir(state)), 2)
}

func TestALinkToALedger(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	link := f
	link.Path = filepath.Join(filepath.Dir(f.Path), "link.jsonl")
	require.NoError(t, os.Symlink(filepath.Base(f.Path), link.Path))
	require.Positive(t, testkit.Must(run.ReadHeads(link.Path)).Beside.Lines)
	require.ErrorContains(t, testkit.Err(do(t.Context(), one(link, "b"))), "is a link to ")
	require.NoFileExists(t, run.HeadFile(link.Path))
}

func TestACorruptLedgerIsNamedOnce(t *testing.T) {
	f, _ := book(t)
	testkit.Must(do(t.Context(), one(f, "a")))
	require.NoError(t, os.WriteFile(f.Path, append(testkit.Must(os.ReadFile(f.Path)), "x\n"...), 0o600))
	_, err := f.Open(t.Context(), f.New)
	require.ErrorIs(t, err, ledger.ErrCorrupt)
	require.Equal(t, 1, strings.Count(err.Error(), f.Path), err)
}

// One file leaves, once: the second call finds it complete and draws nothing.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	check(os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")))

	type settings struct {
		Epsilon float64 `json:"epsilon"`
	}
	hash := sha256.Sum256([]byte("private rows"))
	once := run.Run{
		File: run.File{Path: filepath.Join(dir, "run.jsonl"), New: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1, Delta: 1e-5}},
		Kind: "mean", Units: run.Units{N: 1000, Noun: "records"},
		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
			s := settings{Epsilon: 0.5} // or what before.LeastNoise finds
			same, err := before.Find(hash[:], &s)
			if err != nil {
				return run.Plan{}, err
			}
			events := [][]accountant.Event{{accountant.PureDP{Epsilon: s.Epsilon}}}
			return run.Plan{Events: events, Settings: s, Inputs: hash[:], Same: same}, nil
		},
		Stages: []run.Stage{{
			Out: filepath.Join(dir, "mean.txt"),
			Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
				fmt.Println("drawn once") // by a mechanism that takes r[0] and key
				_, err := io.WriteString(out, "noisy\n")
				return err
			},
		}},
	}
	for range 2 {
		check(once.Do(ctx, func(s *run.Session, done []run.Done) error {
			fmt.Println("complete before:", done[0].Complete)
			return nil
		}))
	}
	// Output:
	// drawn once
	// complete before: false
	// complete before: true
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

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
	require.ErrorContains(t, testkit.Err(run.OpenFolder(context.Background(), dir, id, rng.NewKey)), "is missing")
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
