package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
)

// published runs a command with a folder of results in a folder of its own, without a seed, and
// returns the command line and the folder of results.
func published(t *testing.T, name string) (args []string, out string) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	args = folderCommands(t, dir)[name]
	typed(t, shell.ExitDone, args...)
	return args, filepath.Join(dir, "out")
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	}))
	return found
}

// TestAReleaseWithoutItsPrivateHalfIsNotRepeated: a folder that shows a release has no second one when the private half
// is gone, and the state of this user with it: that would be a second budget. The command that a refusal names repeats
// the run, and after --destroy-private the same command finds all complete: it trains nothing, makes no secret and puts
// back what is missing of the public half.
func TestAReleaseWithoutItsPrivateHalfIsNotRepeated(t *testing.T) {
	for _, name := range []string{"publish", "publish nearest", "publish marginals", "publish tree", "publish dpsgd", "dpsgd", "tune", "compare", "compare neighbours"} {
		t.Run(name, func(t *testing.T) {
			args, out := published(t, name)
			public, private := filepath.Join(out, "public"), filepath.Join(out, "private")
			before := contents(t, public)
			require.NoError(t, os.Rename(private, filepath.Join(out, "away")))
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			_, errs := typed(t, shell.ExitCheckFailed, args...)
			require.Contains(t, errs, "was released")
			require.NoDirExists(t, private, "nothing is made")
			require.Equal(t, before, contents(t, public))
			require.NoError(t, os.Rename(filepath.Join(out, "away"), private))
			typed(t, shell.ExitDone, args...)
			require.Equal(t, before, contents(t, public))
			if args[0] != "publish" {
				return
			}
			_, errs = typed(t, shell.ExitInvalidInput, append(args, "--accept-differences")...)
			named := regexp.MustCompile("`pate (.*)`").FindStringSubmatch(errs)
			require.NotNil(t, named, errs)
			_, errs = typed(t, shell.ExitDone, strings.Fields(strings.ReplaceAll(named[1], "'", ""))...)
			require.Contains(t, errs, "nothing was trained")
			require.Equal(t, before, contents(t, public))
			destroy := append(args, "--destroy-private")
			typed(t, shell.ExitDone, destroy...)
			left := contents(t, private)
			for path := range left {
				name := filepath.ToSlash(strings.TrimPrefix(path, out))
				require.NotRegexp(t, `\.key$|salt|\.npy|teachers|checkpoint|plan\.json|model/`, name)
			}
			require.NoError(t, os.RemoveAll(public))
			for _, again := range [][]string{args, destroy} {
				_, errs = typed(t, shell.ExitDone, again...)
				require.Contains(t, errs, "nothing was trained")
				require.Equal(t, before, contents(t, public))
				require.Equal(t, left, contents(t, private))
			}
		})
	}
}

func TestPublishedFilesAreThoseThatWerePaidFor(t *testing.T) {
	for _, name := range []string{"publish", "publish nearest", "publish dpsgd"} {
		t.Run(name, func(t *testing.T) {
			args, out := published(t, name)
			keep := contents(t, out)
			restore := func() {
				for path, text := range keep {
					require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
				}
			}
			for file, change := range map[string]func(path string) error{
				"public/labels.csv":            func(path string) error { return os.WriteFile(path, []byte("query,label\n0,1\n"), 0o600) },
				"private/published/labels.csv": func(path string) error { return os.WriteFile(path, []byte("query,label\n0,1\n"), 0o600) },
				"private/ledger.jsonl":         os.Remove,
				"private/finished":             os.Remove,
			} {
				require.NoError(t, change(filepath.Join(out, filepath.FromSlash(file))))
				before := contents(t, filepath.Join(out, "public"))
				code, _, errs := execute(t, "", args...)
				require.NotEqual(t, shell.ExitDone, code, file)
				if file != "private/finished" { // whose key is gone too
					require.Equal(t, shell.ExitCheckFailed, code, "%s: %s", file, errs)
				}
				require.Equal(t, before, contents(t, filepath.Join(out, "public")), file)
				restore()
			}
			typed(t, shell.ExitDone, args...)
		})
	}
}

func TestAnOlderPrivateHalfReleasesNothing(t *testing.T) {
	for _, name := range []string{"publish", "publish nearest", "publish marginals", "publish tree", "publish dpsgd"} {
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

// folderCommands returns every command with a folder of results, in a folder with its inputs, as
// command lines with DIR for the folder of the test.
func folderCommands(t *testing.T, dir string) map[string][]string {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(in("public.csv"), clearPublic(), 0o600))
	require.NoError(t, os.WriteFile(in("ranges.csv"), []byte(declared), 0o600))
	require.NoError(t, os.WriteFile(in("blobs.csv"), blobs(120), 0o600))
	table := []string{"--data", in("blobs.csv"), "--label", "kind", "--delta", "1e-5", "--out", in("out")}
	return map[string][]string{
		"publish":            publishing(in("private.csv"), in("public.csv"), in("out")),
		"publish nearest":    publishingNear(in("private.csv"), in("public.csv"), in("out")),
		"publish marginals":  publishingDrawn(in("private.csv"), in("ranges.csv"), in("out")),
		"publish tree":       publishingTree(in("private.csv"), in("ranges.csv"), in("out")),
		"publish dpsgd":      publishingModel(in("private.csv"), in("public.csv"), in("out")),
		"dpsgd":              slices.Concat([]string{"dpsgd", "--epsilon", "2", "--steps", "12", "--batch", "32"}, table),
		"tune":               slices.Concat([]string{"dpsgd", "tune", "--epsilon", "2", "--steps", "3", "--learning-rate", "0.5,1", "--law", "geometric", "--runs", "1.5"}, table),
		"compare":            slices.Concat([]string{"compare", "--teachers", "9", "--methods", "pate/gnmax,dpsgd/linear"}, table),
		"compare neighbours": slices.Concat([]string{"compare", "--methods", "pknn/reverse"}, table),
	}
}

// What may be published lies in one folder and is readable by all; it has neither a path of this
// machine nor a running time, and its files have one time. Everything else lies in the other,
// for its owner alone. Of a seeded run nothing may be published.
func TestWhatMayBePublishedLiesInOneFolder(t *testing.T) {
	for name := range folderCommands(t, t.TempDir()) {
		for _, seeded := range []bool{false, true} {
			if seeded && strings.Contains(name, " ") {
				continue // one of each command
			}
			t.Run(name, func(t *testing.T) {
				t.Setenv("XDG_STATE_HOME", t.TempDir())
				dir := t.TempDir()
				args := folderCommands(t, dir)[name]
				if seeded {
					args = append(args, "--seed", "3")
				}
				_, errs := typed(t, shell.ExitDone, args...)
				lines := strings.Split(strings.TrimSpace(errs), "\n")
				out := filepath.Join(dir, "out")
				require.Contains(t, lines[len(lines)-1], filepath.Join(out, "private")+": keep private")
				halves := testkit.Must(os.ReadDir(out))
				if seeded {
					require.Len(t, halves, 1, "%v", halves)
					require.FileExists(t, filepath.Join(out, "private", "results", map[bool]string{true: "report.html", false: "results.json"}[name == "publish"]))
				} else {
					require.Len(t, halves, 2, "%v", halves)
					require.Contains(t, lines[len(lines)-2], filepath.Join(out, "public")+": may be published")
					published := publicFiles(t, filepath.Join(out, "public"), dir)
					require.Contains(t, published, map[string]string{"publish": "statement.html", "publish nearest": "labelled.csv", "publish marginals": "marginals.csv", "publish tree": "table.csv", "publish dpsgd": "student.model",
						"dpsgd": "results.json", "tune": "models/tuned.model",
						"compare": "labels-pate-gnmax-0.csv", "compare neighbours": "report.html"}[name])
				}
				require.NoError(t, filepath.WalkDir(filepath.Join(out, "private"), func(path string, e fs.DirEntry, err error) error {
					require.NoError(t, err)
					info := testkit.Must(e.Info())
					require.Zero(t, info.Mode().Perm()&0o077, "%s: %v", path, info.Mode())
					return nil
				}))
			})
		}
	}
}

func publicFiles(t *testing.T, public, machine string) []string {
	t.Helper()
	var names []string
	var when time.Time
	require.NoError(t, filepath.WalkDir(public, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		info := testkit.Must(e.Info())
		if when.IsZero() {
			when = info.ModTime()
		}
		require.Equal(t, when, info.ModTime(), "%s: the difference is the time of work on private rows", path)
		if e.IsDir() {
			return nil
		}
		require.Equal(t, fs.FileMode(0o644), info.Mode().Perm(), path)
		text := testkit.Must(os.ReadFile(path))
		require.NotContains(t, string(text), machine, path)
		require.NotContains(t, string(text), `"seconds"`, path)
		require.NotContains(t, strings.ReplaceAll(string(text), `"releasable": false`, `"releasable":false`), `"releasable":false`, path)
		name, err := filepath.Rel(public, path)
		names = append(names, filepath.ToSlash(name))
		return err
	}))
	return names
}
