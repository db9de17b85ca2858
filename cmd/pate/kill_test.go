package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// process returns the command as a process of its own, which is the binary of these tests:
// TestMain has put it into PATH under this name.
func process(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("pate", args...)
	cmd.Dir = dir
	return cmd
}

// ends runs a process to its end and returns how long it took.
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
		row("publish marginals", publish(publishingDrawn, "ranges.csv"), book, labels+" "+results+"marginals.csv "+results+"pool.csv"))
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
