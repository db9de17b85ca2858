package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// publishing is `pate publish` on the table of people, with a budget that answers some
// queries of the public rows.
func publishing(private, public, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--public", public, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--teachers", "24", "--learner", "softmax", "--min-accuracy", "0.6", "--epsilon", "60", "--out", out}, more)
}

// clearPublic are twelve public rows close to the middles of the three classes, on which
// teachers agree.
func clearPublic() []byte {
	text := "length,width,colour\n"
	for i := range 12 {
		text += fmt.Sprintf("%.2f,%.2f,%s\n", 4*float64(i%3)+[]float64{-1.5, -.5, .5, 1.5}[i/3], -3*float64(i%3%2)+[]float64{1, -1.5, 1.5, -1}[i/3], []string{"red", "blue"}[i%2])
	}
	return []byte(text)
}

// publishedBy runs the command on a table and returns all that it shows, and the released
// labels as they are.
func publishedBy(t *testing.T, table []byte) (shown map[string]string, labels string) {
	t.Helper()
	dir := t.TempDir()
	private, public, out := filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(private, table, 0o600))
	require.NoError(t, os.WriteFile(public, clearPublic(), 0o600))
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), publishing(private, public, out, "--seed", "3", "--format", "json"), strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, shell.ExitDone, code, "%s", &stderr)
	here := func(text []byte) string { return strings.ReplaceAll(string(text), dir, "DIR") }
	shown = map[string]string{"stdout": here(stdout.Bytes()), "stderr": here(stderr.Bytes())}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		name, err := filepath.Rel(dir, path)
		require.NoError(t, err)
		switch {
		case e.IsDir() || name == "private.csv":
			return nil
		case strings.HasPrefix(name, filepath.Join("out", "private")): // their names and sizes alone
			info, err := e.Info()
			require.NoError(t, err)
			if !e.IsDir() && filepath.Ext(name) != ".json" && !strings.HasPrefix(filepath.Base(name), "lock") {
				require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
			}
			shown[name] = "secret"
			return nil
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		shown[name] = here(text)
		return nil
	}))
	return shown, shown[filepath.Join("out", "labels.csv")]
}

// whatFollows are the parts of what publish shows that follow from the released labels.
var whatFollows = regexp.MustCompile(`(?s)"labels": \d+,.*?"ledger_entry"|<tr><th>labels released.*?</table>|labels: \d+ of|(?m:^(\d+),[a-z0-9]*$)`)

// Adding, removing or replacing one private unit changes the released labels and what
// follows from them: nothing else that publish shows, and no name of a file. Where the
// labels are the same all is the same, but for hashes under secret keys.
func TestPublishReleasesLabelsAlone(t *testing.T) {
	others := units("someone")
	want, labels := publishedBy(t, people(false, "1.00,2.00,red,someone,a"))
	require.Contains(t, want["stdout"], `"labels": 12`)
	require.Contains(t, want["stdout"], `"epsilon": 59.99`)
	require.NotContains(t, want[filepath.Join("out", "student.model")], `"releasable":true`)
	equal := 0
	for name, table := range map[string][]byte{"removed": people(false), "new class": people(false, others["new class"]...), "forty rows": people(false, others["forty rows"]...)} {
		got, changed := publishedBy(t, table)
		mask := func(text string) string { return hexadecimal.ReplaceAllString(text, "#") }
		if changed == labels {
			equal++
		} else {
			mask = func(text string) string {
				return whatFollows.ReplaceAllString(hexadecimal.ReplaceAllString(text, "#"), "$1")
			}
		}
		for file, text := range want {
			if changed != labels && (strings.HasSuffix(file, "student.model") || strings.HasSuffix(file, "labelled.csv")) {
				continue
			}
			require.Equal(t, mask(text), mask(got[file]), "%s: %s", name, file)
		}
		require.Len(t, got, len(want), name)
	}
	require.Positive(t, equal, "no neighbour has the same labels: this shows less than it could")
}

// Killed at any moment, the same command ends with the same labels and one charge, and no
// secret lies outside the folder of secrets.
func TestPublishSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	pate := filepath.Join(dir, "pate")
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, pate))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "public.csv"), clearPublic(), 0o600))
	start := func(out string) *exec.Cmd {
		cmd := exec.Command(pate, publishing("private.csv", "public.csv", out, "--seed", "3")...)
		cmd.Dir = dir
		return cmd
	}
	began := time.Now()
	text, err := start("want").CombinedOutput()
	require.NoError(t, err, "%s", text)
	whole := time.Since(began)
	files := func(out string) map[string]string {
		found := map[string]string{}
		require.NoError(t, filepath.WalkDir(filepath.Join(dir, out), func(path string, e fs.DirEntry, err error) error {
			require.NoError(t, err)
			if e.IsDir() {
				if e.Name() == "private" {
					return filepath.SkipDir
				}
				return nil
			}
			text, err := os.ReadFile(path)
			found[e.Name()] = string(text)
			return err
		}))
		return found
	}
	want := files("want")
	require.Len(t, want, 7)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 4 { // kills of one run that goes on
		cmd := start("got")
		require.NoError(t, cmd.Start())
		time.Sleep(time.Duration(rnd.Float64() * float64(whole)))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		for name := range files("got") {
			known := want[strings.SplitN(strings.TrimPrefix(name, "."), ".tmp", 2)[0]]
			require.NotEmpty(t, known, "%s: what a kill leaves is one of what is published, or a part of it", name)
		}
	}
	text, err = start("got").CombinedOutput()
	require.NoError(t, err, "%s", text)
	got := files("got")
	for _, name := range []string{"labels.csv", "queries.csv", "labelled.csv"} {
		require.Equal(t, want[name], got[name], name)
	}
	require.Len(t, got, len(want))
	require.Equal(t, 1, strings.Count(got["ledger.jsonl"], `"reserve"`))
	require.Equal(t, 1, strings.Count(got["ledger.jsonl"], `"commit"`))
}
