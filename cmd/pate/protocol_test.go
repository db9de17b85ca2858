package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/crash"
)

// releasing is a command that releases something under the protocol of package release.
type releasing struct {
	name string
	args func(n int) []string // of the n-th release, in the folder of the test
	book func(n int) string   // the ledger that it charges, or all of them as a pattern
	out  func(n int) string   // what leaves, likewise
}

// sharedLedger is the ledger of the commands that do not make one of their own.
const sharedLedger = "run.jsonl"

// releasingCommands returns every command that releases something.
func releasingCommands() []releasing {
	const counts = "--counts --teachers 100 --mechanism gnmax --ledger run.jsonl --epsilon 60"
	votes := func(n int) string { return fmt.Sprintf("votes%d.csv", n) }
	shared := func(int) string { return sharedLedger }
	out := func(ending string) func(int) string {
		return func(n int) string { return fmt.Sprintf("out%d%s", n, ending) }
	}
	return []releasing{
		{"label", func(n int) []string {
			return strings.Fields(fmt.Sprintf("label %s %s --sigma 30 --pool p%d --out out%d.csv", votes(n), counts, n, n))
		}, shared, out(".csv")},
		{"analyze release", func(n int) []string {
			return strings.Fields(fmt.Sprintf("analyze release %s %s --sigma 30 --order 10 --sigma-ss 4 --name r%d --out out%d.json", votes(n), counts, n, n))
		}, shared, out(".json")},
		{"dpsgd", func(n int) []string {
			return strings.Fields(fmt.Sprintf("dpsgd --data blobs.csv --label kind --delta 1e-5 --epsilon 60 --spend 2 --steps 12 --batch 32 --ledger run.jsonl --out out%d", n))
		}, shared, out("/models/[^.]*")},
		{"dpsgd by itself", func(n int) []string {
			return strings.Fields(fmt.Sprintf("dpsgd --data blobs.csv --label kind --delta 1e-5 --epsilon 2 --steps 12 --batch 32 --out out%d", n))
		}, out("/ledger/*.jsonl"), out("/models/[^.]*")},
		{"tune", func(n int) []string {
			return strings.Fields(fmt.Sprintf("tune --data blobs.csv --label kind --delta 1e-5 --epsilon 60 --spend 2 --steps 3 --learning-rate 0.5,1 --law geometric --runs 1.5 --ledger run.jsonl --out out%d", n))
		}, shared, out("/models/[^.]*")},
		{"compare", func(n int) []string {
			return strings.Fields(fmt.Sprintf("compare --data blobs.csv --label kind --delta 1e-5 --teachers 9 --methods pate/gnmax,dpsgd/linear --out out%d", n))
		}, out("/ledger/*.jsonl"), func(n int) string { return fmt.Sprintf("out%d/[ls]*abels-* out%d/models/[^.]*", n, n) }},
	}
}

// preparedFolder goes to a new folder with what the commands read.
func preparedFolder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	state, err := filepath.Abs("state")
	require.NoError(t, err)
	t.Setenv("XDG_STATE_HOME", state)
	rnd := rand.New(rand.NewPCG(3, 4))
	for n := range 4 {
		var votes strings.Builder
		for range 30 {
			most := 60 + rnd.IntN(35)
			other := rnd.IntN(101 - most)
			fmt.Fprintf(&votes, "%d,%d,%d\n", most, other, 100-most-other)
		}
		require.NoError(t, os.WriteFile(fmt.Sprintf("votes%d.csv", n), []byte(votes.String()), 0o600))
	}
	blobs(t, "blobs.csv", 120)
}

// command runs one in this process.
func command(ctx context.Context, args []string) (code int, said string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, strings.NewReader(""), &out, &errs)
	return code, errs.String()
}

// files returns the contents of all files that match one of the patterns, which are
// separated by blanks.
func files(t *testing.T, patterns string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range strings.Fields(patterns) {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			found[path] = string(text)
		}
	}
	return found
}

// verifyLedgers verifies the ledgers that match a pattern, and their heads.
func verifyLedgers(t *testing.T, pattern string) (entries, commits int64) {
	t.Helper()
	for path := range files(t, pattern) {
		s, err := verifyLedger(path)
		require.NoError(t, err)
		entries, commits = entries+s.Entries, commits+s.Commits
	}
	return entries, commits
}

// verifyLedger verifies one ledger, and its head. A file without a byte of which nothing
// else tells is that of a process which was killed between making it and its first line:
// it has no entries. With a head it is a ledger that was cut off.
func verifyLedger(path string) (ledger.Summary, error) {
	f, known, err := shell.OpenLedgerFile(path)
	if err != nil {
		return ledger.Summary{}, err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return ledger.Summary{}, err
	}
	_, noID := os.Stat(release.IDFile(path))
	if is.Size() == 0 && known.Beside == (ledger.Head{}) && noID != nil {
		return ledger.Summary{}, nil
	}
	return ledger.VerifyKept(f, known.Kept(ledger.Head{}), nil)
}

var errCrashed = errors.New("crashed")

// places returns where a command can be stopped, in order.
func places(t *testing.T, args []string) []string {
	var all []string
	code, said := command(crash.With(t.Context(), func(place string) error {
		all = append(all, place)
		return nil
	}), args)
	require.Equal(t, shell.ExitDone, code, said)
	return all
}

// crashAt runs a command that is stopped at a place, the k-th time that it comes there:
// by an error, or, as a process that is killed runs nothing more, by a panic.
func crashAt(t *testing.T, args []string, place string, k int, panics bool) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil && r != errCrashed {
			panic(r)
		}
	}()
	command(crash.With(t.Context(), func(here string) error {
		if here != place {
			return nil
		}
		if k--; k > 0 {
			return nil
		}
		if panics {
			panic(errCrashed)
		}
		return errCrashed
	}), args)
}

// TestEveryReleaseSurvivesACrashAtEveryStep: whatever has its name was charged and
// committed; repeating the command ends with it, at no further cost, and leaves neither
// keys nor temporary files. With a seed it ends with what an uninterrupted run releases.
func TestEveryReleaseSurvivesACrashAtEveryStep(t *testing.T) {
	for _, c := range releasingCommands() {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			seeded := func(n int) []string { return append(c.args(n), "--seed", "5") }
			all := places(t, seeded(0))
			want := slices.Sorted(maps.Values(files(t, c.out(0))))
			require.NotEmpty(t, want)
			entries, commits := verifyLedgers(t, c.book(0))
			require.Equal(t, entries, commits)
			clean := func() {
				left, err := os.ReadDir(".")
				require.NoError(t, err)
				for _, f := range left {
					if !strings.HasPrefix(f.Name(), "votes") && f.Name() != "blobs.csv" {
						require.NoError(t, os.RemoveAll(f.Name()))
					}
				}
			}
			met := map[string]int{}
			for i, place := range all {
				met[place]++
				clean()
				args := c.args(0)
				if i%2 == 0 {
					args = seeded(0)
				}
				crashAt(t, args, place, met[place], i%4 < 2)
				left := files(t, c.out(0))
				if _, commits := verifyLedgers(t, c.book(0)); len(left) > 0 {
					require.Positive(t, commits, "at %s", place)
				}
				crashAt(t, args, all[(3*i+1)%len(all)], 1, true)
				code, said := command(t.Context(), args)
				require.Equal(t, shell.ExitDone, code, "at %s: %s", place, said)
				now := files(t, c.out(0))
				for path, text := range left {
					require.Equal(t, text, now[path], "what had its name at %s", place)
				}
				if i%2 == 0 {
					require.Equal(t, want, slices.Sorted(maps.Values(now)), "at %s", place)
				}
				again, done := verifyLedgers(t, c.book(0))
				require.Equal(t, entries, again, "charged once, at %s", place)
				require.Equal(t, entries, done, "at %s", place)
				noLitter(t)
			}
			t.Logf("%d places", len(all))
		})
	}
}

// noLitter checks that there are neither temporary files nor keys of complete releases.
func noLitter(t *testing.T) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(path string, f fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".tmp") || strings.HasSuffix(path, "checkpoint") || strings.HasSuffix(path, ".key") && filepath.Base(path) != "run.key" {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

// TestKilledReleases kills processes of every command, at moments of chance.
func TestKilledReleases(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "pate"))) // the name under which the test binary is the command
	rnd := rand.New(rand.NewPCG(1, 7))
	for _, c := range releasingCommands() {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			took := time.Hour
			for n := range 2 {
				started := time.Now()
				whole := exec.Command(filepath.Join(bin, "pate"), c.args(n)...)
				require.NoError(t, whole.Run())
				took = min(took, time.Since(started))
			}
			kills, tries := 0, 0
			for n := 2; n < 4; n++ {
				var left map[string]string
				for range 8 {
					cmd := exec.Command(filepath.Join(bin, "pate"), c.args(n)...)
					require.NoError(t, cmd.Start())
					time.Sleep(time.Duration(rnd.Int64N(int64(took))))
					require.NoError(t, cmd.Process.Kill()) // no error either if it has just ended by itself
					tries++
					if cmd.Wait() != nil {
						kills++
					}
					now := files(t, c.out(n))
					for path, text := range left {
						require.Equal(t, text, now[path], "what had its name before")
					}
					if left = now; len(left) > 0 {
						_, commits := verifyLedgers(t, c.book(n))
						require.Positive(t, commits)
					}
				}
				code, said := command(t.Context(), c.args(n))
				require.Equal(t, shell.ExitDone, code, said)
				for path, text := range left {
					require.Equal(t, text, files(t, c.out(n))[path])
				}
				entries, commits := verifyLedgers(t, c.book(n))
				require.Equal(t, entries, commits)
				noLitter(t)
			}
			t.Logf("%d of %d processes killed before their end", kills, tries)
			require.Positive(t, kills, "the test has become too tame")
		})
	}
}

// TestALedgerThatNeverBegan: a process that is killed between making the file of a ledger
// and its first line leaves an empty file. The command goes on from there, beside what was
// released under other ledgers; but not where a head tells that the file had lines.
func TestALedgerThatNeverBegan(t *testing.T) {
	for _, c := range releasingCommands() {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			before := 1 // ledgers, of which the last is empty
			if c.name == "compare" {
				before = 2 // the first has charged what is released
			}
			crashAt(t, c.args(0), "key", before, true)
			left, books := files(t, c.out(0)), files(t, c.book(0))
			require.Len(t, left, before-1)
			require.Len(t, books, before)
			empty := ""
			for path := range books {
				if s, err := verifyLedger(path); err == nil && s.Entries == 0 {
					empty = path
				}
			}
			require.NoError(t, os.Truncate(empty, 0))
			_, err := verifyLedger(empty)
			require.ErrorIs(t, err, ledger.ErrCorrupt)
			code, said := command(t.Context(), c.args(0))
			require.Equal(t, shell.ExitCheckFailed, code, said)

			beside, err := filepath.Glob(empty + ".*") // made after the first line: head, id, key
			require.NoError(t, err)
			for _, path := range beside {
				require.NoError(t, os.Remove(path))
			}
			verifyLedgers(t, c.book(0))
			code, said = command(t.Context(), c.args(0))
			require.Equal(t, shell.ExitDone, code, said)
			now := files(t, c.out(0))
			require.NotEmpty(t, now)
			for path, text := range left {
				require.Equal(t, text, now[path])
			}
			entries, commits := verifyLedgers(t, c.book(0))
			require.Positive(t, entries)
			require.Equal(t, entries, commits)
			noLitter(t)
		})
	}
}

// TestAPlanForALedgerThatNeverBegan: a command that plans looks into the ledger first.
func TestAPlanForALedgerThatNeverBegan(t *testing.T) {
	preparedFolder(t)
	require.NoError(t, os.WriteFile(sharedLedger, nil, 0o600))
	code, said := command(t.Context(), strings.Fields("label votes0.csv --counts --teachers 100 --ledger run.jsonl --epsilon 60 --yes --out labels.csv"))
	require.Equal(t, shell.ExitDone, code, said)
	entries, commits := verifyLedgers(t, sharedLedger)
	require.Positive(t, entries)
	require.Equal(t, entries, commits)
}

// copies is what is kept of a ledger at one time: by what it is, the contents.
type copies map[string]string

// keptFiles are the files that tell how far a ledger has come.
func keptFiles(t *testing.T) map[string]string {
	t.Helper()
	marks, err := filepath.Glob("state/pate/ledgers/*.head")
	require.NoError(t, err)
	require.Len(t, marks, 1)
	return map[string]string{"ledger": "run.jsonl", "head": "run.jsonl.head", "id": "run.jsonl.id", "mark": marks[0]}
}

func takeCopies(t *testing.T) copies {
	t.Helper()
	c := copies{}
	for what, path := range keptFiles(t) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		c[what] = string(text)
	}
	return c
}

// condition is what became of each of these files: "older", "missing" or "present".
type condition struct{ ledger, head, id, mark string }

// conditions returns all of them. The id never changes: an older one is the same.
func conditions() []condition {
	var all []condition
	three := []string{"older", "missing", "present"}
	for _, l := range three {
		for _, h := range three {
			for _, id := range three[1:] {
				for _, mark := range three {
					all = append(all, condition{l, h, id, mark})
				}
			}
		}
	}
	return all
}

func (c condition) put(t *testing.T, paths map[string]string, older, newer copies) {
	t.Helper()
	for what, is := range map[string]string{"ledger": c.ledger, "head": c.head, "id": c.id, "mark": c.mark} {
		switch is {
		case "missing":
			if err := os.Remove(paths[what]); err != nil {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		case "older":
			require.NoError(t, os.WriteFile(paths[what], []byte(older[what]), 0o600))
		default:
			require.NoError(t, os.WriteFile(paths[what], []byte(newer[what]), 0o600))
		}
	}
}

// harmless reports whether a release under this condition is none that was charged to
// lines that are lost: all lines are there.
func (c condition) harmless() bool { return c.ledger == "present" }

// undetectable reports whether no file that is left tells that the ledger is not the
// newest: all of them were put back together, or all were removed.
func (c condition) undetectable() bool {
	switch c.ledger {
	case "older":
		return c.head == "older" && c.id == "present" && c.mark != "present"
	case "missing":
		return c.head == "missing" && c.id == "missing"
	}
	return false
}

// refused reports whether a command that releases must refuse it.
func (c condition) refused() bool {
	if c.harmless() {
		return c.head == "missing" || c.id == "missing"
	}
	return !c.undetectable()
}

// TestRollback: under every combination of ledger, head, id and second head that are put
// back, missing or present, nothing is released that lines which are lost have charged,
// but where no file can tell; and `ledger verify` and `statement` find what can be found.
func TestRollback(t *testing.T) {
	for i, c := range releasingCommands()[:3] {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			var at [2]copies
			for n := range at {
				code, said := command(t.Context(), c.args(n))
				require.Equal(t, shell.ExitDone, code, said)
				at[n] = takeCopies(t)
			}
			paths := keptFiles(t)
			refused, silent := 0, 0
			for _, is := range conditions() {
				is.put(t, paths, at[0], at[1])
				if i == 0 { // what they compare with a head are lines, whoever charged them
					readers(t, is)
				}
				code, said := command(t.Context(), c.args(2))
				if is.refused() {
					require.Equal(t, shell.ExitCheckFailed, code, "%+v: %s", is, said)
					require.Empty(t, files(t, c.out(2)), "%+v", is)
					require.NotContains(t, said, "restore the file from a copy")
					refused++
				} else {
					require.Equal(t, shell.ExitDone, code, "%+v: %s", is, said)
					require.NotEmpty(t, files(t, c.out(2)), "%+v", is)
				}
				if is.undetectable() {
					silent++
				}
				clearRelease(t, paths)
			}
			t.Logf("of %d combinations %d are refused; in %d no file tells", len(conditions()), refused, silent)
			require.Equal(t, 54, refused+silent+6) // in 6 all lines are there, and a head
		})
	}
}

// readers checks what commands say that only read the ledger.
func readers(t *testing.T, is condition) {
	t.Helper()
	want := shell.ExitDone
	switch {
	case is.ledger == "missing":
		want = shell.ExitInvalidInput
	case is.ledger == "older" && (is.head == "present" || is.mark == "present"):
		want = shell.ExitCheckFailed
	}
	for _, args := range [][]string{{"ledger", "verify", "run.jsonl"}, {"ledger", "show", "run.jsonl"}, {"statement", "run.jsonl"}} {
		code, said := command(t.Context(), args)
		require.Equal(t, want, code, "%v %+v: %s", args, is, said)
	}
}

// clearRelease removes what a release under one condition left.
func clearRelease(t *testing.T, paths map[string]string) {
	t.Helper()
	left, err := filepath.Glob("out2*")
	require.NoError(t, err)
	keys, err := filepath.Glob("run.jsonl*")
	require.NoError(t, err)
	marks, err := filepath.Glob("state/pate/ledgers/*")
	require.NoError(t, err)
	for _, path := range append(append(left, keys...), marks...) {
		require.NoError(t, os.RemoveAll(path))
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(paths["mark"]), 0o700))
}

// TestRollbackOfARunsOwnLedger: the ledger of a run, put back or removed with its head or
// without, is refused, or the run ends with what it had released: its noise comes from the
// key that is beside it until the run is complete.
func TestRollbackOfARunsOwnLedger(t *testing.T) {
	for _, c := range releasingCommands() {
		if c.book(0) == sharedLedger {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			one := func() string {
				paths := slices.Sorted(maps.Keys(files(t, c.book(0))))
				require.Len(t, paths, 1, "of the first method")
				return paths[0]
			}
			read := func() copies {
				text, err := os.ReadFile(one())
				require.NoError(t, err)
				head, err := os.ReadFile(one() + ".head")
				require.NoError(t, err)
				return copies{"ledger": string(text), "head": string(head)}
			}
			put := func(path, is, older, newer string) {
				switch is {
				case "missing":
					require.NoError(t, os.Remove(path))
				case "older":
					require.NoError(t, os.WriteFile(path, []byte(older), 0o600))
				default:
					require.NoError(t, os.WriteFile(path, []byte(newer), 0o600))
				}
			}
			refused, same := 0, 0
			for _, l := range []string{"older", "missing", "present"} {
				for _, h := range []string{"older", "missing", "present"} {
					require.NoError(t, os.RemoveAll("out0"))
					crashAt(t, c.args(0), "reserved", 1, true)
					older := read()
					crashAt(t, c.args(0), "named", 1, true)
					newer, path := read(), one()
					left := files(t, c.out(0))
					require.Len(t, left, 1)
					put(path, l, older["ledger"], newer["ledger"])
					put(path+".head", h, older["head"], newer["head"])
					code, said := command(t.Context(), c.args(0))
					if code != shell.ExitDone {
						require.NotContains(t, []int{shell.ExitFailure, shell.ExitUsage}, code, said)
						refused++
						continue
					}
					now := files(t, c.out(0))
					for path, text := range left {
						require.Equal(t, text, now[path], "ledger %s, head %s", l, h)
					}
					same++
				}
			}
			t.Logf("of 9 combinations %d are refused, %d end with the same", refused, same)
			require.Positive(t, refused)
			require.Positive(t, same)
		})
	}
}

// TestANewLedgerInThePlaceOfAnother: where all files of a ledger were removed a new one
// begins with the whole budget, and not in silence.
func TestANewLedgerInThePlaceOfAnother(t *testing.T) {
	preparedFolder(t)
	for n, c := range releasingCommands()[:3] {
		_, said := command(t.Context(), c.args(0))
		require.Equal(t, n > 0, strings.Contains(said, "another ledger was charged under this name"), said)
		all, err := filepath.Glob("run.jsonl*")
		require.NoError(t, err)
		for _, path := range append(all, c.out(0)) {
			require.NoError(t, os.RemoveAll(path))
		}
	}
}

// TestALedgerOfAnEarlierVersionIsAdopted: without a head it is refused until somebody says
// that it is the newest copy; an older copy of one whose head is known never is.
func TestALedgerOfAnEarlierVersionIsAdopted(t *testing.T) {
	preparedFolder(t)
	c := releasingCommands()[0]
	code, said := command(t.Context(), c.args(0))
	require.Equal(t, shell.ExitDone, code, said)
	older := takeCopies(t)
	code, said = command(t.Context(), c.args(1))
	require.Equal(t, shell.ExitDone, code, said)
	require.NoError(t, os.Remove("run.jsonl.head"))
	code, said = command(t.Context(), c.args(2))
	require.Equal(t, shell.ExitCheckFailed, code)
	require.Contains(t, said, "pate ledger adopt run.jsonl")

	newer, err := os.ReadFile("run.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("run.jsonl", []byte(older["ledger"]), 0o600))
	code, said = command(t.Context(), []string{"ledger", "adopt", "run.jsonl"})
	require.Equal(t, shell.ExitCheckFailed, code, said)
	require.NoError(t, os.WriteFile("run.jsonl", newer, 0o600))
	code, said = command(t.Context(), []string{"ledger", "adopt", "run.jsonl"})
	require.Equal(t, shell.ExitDone, code, said)
	code, said = command(t.Context(), c.args(2))
	require.Equal(t, shell.ExitDone, code, said)
	stdout, _ := typed(t, shell.ExitDone, "ledger", "verify", "run.jsonl")
	require.Contains(t, stdout, "was taken for the newest copy")
}
