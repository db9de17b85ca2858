package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// publishKills is how many processes TestPublishKilledAndItsPrivateHalf kills.
var publishKills = flag.Int("publish-kills", 9, "processes of pate publish that are killed, their private half kept, removed or put back from a copy")

// An older copy of the private half, from before the release, releases nothing again.
func TestAnOlderPrivateHalfReleasesNothing(t *testing.T) {
	for _, name := range []string{"publish", "publish marginals", "publish dpsgd"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			all := places(t, folderCommands(t, t.TempDir())[name])
			dir := t.TempDir()
			args, out := folderCommands(t, dir)[name], filepath.Join(dir, "out")
			crashAt(t, args, all[len(all)/2], 1, false)
			require.NoDirExists(t, filepath.Join(out, "public"), "what is published leaves at the end")
			require.NoError(t, os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(out, "private"))))
			typed(t, shell.ExitDone, args...)
			before := contents(t, filepath.Join(out, "public"))
			require.NotEmpty(t, before)
			putBack(t, out, filepath.Join(dir, "copy"))
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			_, errs := typed(t, shell.ExitCheckFailed, args...)
			require.Contains(t, errs, "was released")
			require.Equal(t, before, contents(t, filepath.Join(out, "public")))
		})
	}
}

// putBack puts a copy in the place of the private half.
func putBack(t *testing.T, out, from string) {
	t.Helper()
	private := filepath.Join(out, "private")
	require.NoError(t, os.RemoveAll(private))
	require.NoError(t, os.CopyFS(private, os.DirFS(from)))
	require.NoError(t, filepath.WalkDir(private, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		if err == nil {
			err = os.Chmod(path, 0o600)
		}
		return err
	}))
}

// Killed at any moment, and its private half kept, removed or put back from an older copy, the
// same command never changes a file that was published, and never publishes under a second
// budget: it ends with one release, or is refused.
func TestPublishKilledAndItsPrivateHalf(t *testing.T) {
	rnd := rand.New(rand.NewPCG(30, 5))
	names := []string{"publish", "publish marginals", "publish dpsgd"}
	took := map[string]time.Duration{}
	told := map[string]int{}
	for killed, round := 0, 0; killed < *publishKills; round++ {
		name, what := names[round%3], []string{"kept", "removed", "put back"}[round/3%3]
		t.Setenv("XDG_STATE_HOME", t.TempDir())
		dir := t.TempDir()
		args, out := folderCommands(t, dir)[name], filepath.Join(dir, "out")
		if took[name] == 0 {
			took[name] = ends(t, process(dir, args...))
			require.NoError(t, os.RemoveAll(out))
			t.Setenv("XDG_STATE_HOME", t.TempDir())
		}
		kill := func(longest float64) {
			cmd := process(dir, args...)
			require.NoError(t, cmd.Start())
			time.Sleep(time.Duration(rnd.Float64() * longest * float64(took[name])))
			require.NoError(t, cmd.Process.Kill())
			if cmd.Wait() != nil {
				killed++
			}
		}
		kill(1)
		if what == "put back" {
			require.NoError(t, os.MkdirAll(filepath.Join(out, "private"), 0o700))
			require.NoError(t, os.CopyFS(filepath.Join(dir, "copy"), os.DirFS(filepath.Join(out, "private"))))
			kill(2)
			putBack(t, out, filepath.Join(dir, "copy"))
		}
		if what == "removed" {
			require.NoError(t, os.RemoveAll(filepath.Join(out, "private")))
		}
		if round%2 == 1 {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
		}
		left := map[string]string{}
		public := filepath.Join(out, "public")
		if _, err := os.Stat(public); err == nil {
			left = contents(t, public)
			maps.DeleteFunc(left, func(path, _ string) bool { return filepath.Base(path)[0] == '.' }) // half written, under no name
		}
		code, said := command(t.Context(), args)
		now := map[string]string{}
		if _, err := os.Stat(public); err == nil {
			now = contents(t, public)
		}
		for path, text := range left {
			require.Equal(t, text, now[path], "%s, %s: %s was published and is another", name, what, path)
		}
		outcome := "refused"
		if code == shell.ExitDone {
			outcome = "went on"
			if len(left) > 0 {
				outcome = "repeated"
			}
			require.False(t, what == "removed" && len(left) > 0, "a second release")
			s, err := verifyLedger(filepath.Join(out, "private", "ledger.jsonl"))
			require.NoError(t, err)
			require.Equal(t, s.Entries, s.Commits)
			require.EqualValues(t, map[bool]int{true: 2, false: 1}[name == "publish marginals"], s.Commits, "one budget")
			typed(t, shell.ExitDone, "ledger", "verify", filepath.Join(public, "ledger.jsonl"))
		} else {
			require.Equal(t, shell.ExitCheckFailed, code, "%s, %s: %s", name, what, said)
			require.Len(t, now, len(left), "nothing leaves")
		}
		told[fmt.Sprintf("%s, %s, %s", name, what, outcome)]++
	}
	for _, line := range slices.Sorted(maps.Keys(told)) {
		t.Logf("%s: %d", line, told[line])
	}
}
