package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
)

var errCrashed = errors.New("crashed")

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

var long = flag.Bool("long", false, "all cases of what tests take a sample of: places where a command is stopped, inputs that it would overwrite, ledgers put back, odd units")

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
				left := testkit.Must(os.ReadDir("."))
				for _, f := range left {
					if !strings.HasPrefix(f.Name(), "votes") && !strings.HasPrefix(f.Name(), "blobs") && !strings.HasPrefix(f.Name(), "silo") && !strings.HasPrefix(f.Name(), "requests") {
						require.NoError(t, os.RemoveAll(f.Name()))
					}
				}
			}
			met := map[string]int{}
			times := map[string]int{}
			for _, place := range all {
				times[place]++
			}
			for i, place := range all {
				if met[place]++; !*long && (met[place] > 1 && met[place] < times[place] || i%3 != 0) {
					continue
				}
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

// process returns the command as a process of its own, which is the binary of these tests:
// TestMain has put it into PATH under this name.
func process(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("pate", args...)
	cmd.Dir = dir
	return cmd
}

func ends(t *testing.T, cmd *exec.Cmd) time.Duration {
	t.Helper()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return time.Since(began)
}

// killEach kills processes at moments of chance within the time that a whole one takes, until
// so many were killed before their end, and calls after behind each of them. Every process
// that ends by itself halves the time for the next: that of a process which goes on with
// another's work, or of a machine that has become faster, is not known before. So the number
// is reached on every machine, in the end by kills right after the start.
func killEach(t *testing.T, number int, whole time.Duration, rnd *rand.Rand, start func(killed int) *exec.Cmd, after func()) {
	t.Helper()
	for killed := 0; killed < number; {
		cmd := start(killed)
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rnd.Float64() * float64(whole)))
		require.NoError(t, cmd.Process.Kill()) // no error either if it has just ended by itself
		if err := cmd.Wait(); err == nil {
			whole /= 2
		} else {
			if runtime.GOOS != "windows" { // where a killed process has code 1
				require.Equal(t, -1, cmd.ProcessState.ExitCode(), "it failed before it was killed")
			}
			killed++
		}
		after()
	}
}

var kills = flag.Int("kills", 2, "processes that TestKilledReleases kills of every command")

// killedCommands are those whose whole processes are killed: all that release, and those that make
// votes or publish, whose releases have their steps in packages run and publish.
func killedCommands(t *testing.T) []releasing {
	t.Helper()
	numbered := func(format string) func(int) string {
		return func(n int) string { return strings.ReplaceAll(format, "#", fmt.Sprint(n)) }
	}
	row := func(name, line, book, out string) releasing {
		return releasing{name, func(n int) []string { return strings.Fields(numbered(line)(n)) }, numbered(book), numbered(out)}
	}
	const (
		train   = " private.csv --public public.csv --label kind --unit who --class-names a,b,c --teachers 12 --learner booster --workers 1 --seed 3 --out v#.npy"
		results = "out#/private/results/"
		book    = "out#/private/ledger.jsonl"
	)
	publish := func(command func(private, public, out string, more ...string) []string, public string) string {
		return strings.Join(command("private.csv", public, "out#", "--seed", "3"), " ")
	}
	labels := results + "labels.csv " + results + "queries.csv " + results + "labelled.csv"
	return append(releasingCommands(),
		row("train", "train"+train, "none", "v#.npy"),
		row("teachers", "train --shard 1/2"+train, "none", "v#.npy.parts/*.part"),
		row("publish", publish(publishing, "public.csv"), book, labels),
		row("publish dpsgd", publish(publishingModel, "public.csv"), book, results+"labels.csv "+results+"student.model"),
		row("publish marginals", publish(publishingDrawn, "ranges.csv"), book, labels+" "+results+"marginals.csv "+results+"pool.csv"),
		row("publish tree", publish(publishingTree, "ranges.csv"), book, labels+" "+results+"marginals.csv "+results+"tree.csv "+results+"table.csv"))
}

// TestKilledReleases kills processes of every command, at moments of chance. The same command goes
// on: what had its name stays, all is charged once, and with a seed it ends with what an
// uninterrupted process made.
func TestKilledReleases(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 7))
	for _, c := range killedCommands(t) {
		t.Run(c.name, func(t *testing.T) {
			preparedFolder(t)
			dir := testkit.Must(os.Getwd())
			folderCommands(t, dir)
			took := ends(t, process("", c.args(0)...))
			want, wantEntries := files(t, c.out(0)), int64(0)
			if c.book(0) != c.book(1) {
				wantEntries, _ = verifyLedgers(t, c.book(0))
			}
			var left map[string]string
			killEach(t, *kills, took, rnd, func(int) *exec.Cmd { return process("", c.args(1)...) }, func() {
				now := files(t, c.out(1))
				for path, text := range left {
					require.Equal(t, text, now[path], "what had its name before")
				}
				if left = now; len(left) > 0 && c.book(1) != "none" {
					_, commits := verifyLedgers(t, c.book(1))
					require.Positive(t, commits)
				}
			})
			code, said := command(t.Context(), c.args(1))
			require.Equal(t, shell.ExitDone, code, said)
			now := files(t, c.out(1))
			for path, text := range left {
				require.Equal(t, text, now[path])
			}
			require.Len(t, now, len(want))
			if c.name == "teachers" { // parts have salts of their own, and wait for the others
				return
			}
			if slices.Contains(c.args(0), "--seed") {
				require.Equal(t, slices.Sorted(maps.Values(want)), slices.Sorted(maps.Values(now)))
			}
			entries, commits := verifyLedgers(t, c.book(1))
			require.Equal(t, entries, commits)
			if c.book(0) != c.book(1) {
				require.Equal(t, wantEntries, entries)
			}
			noLitter(t)
		})
	}
}
