package main

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/crash"

	"github.com/pate-go/pate/internal/testkit"
)

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
					if !strings.HasPrefix(f.Name(), "votes") && f.Name() != "blobs.csv" {
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
