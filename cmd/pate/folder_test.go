package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// folderCommands returns every command with a folder of results, in a folder with its inputs, as
// command lines with DIR for the folder of the test.
func folderCommands(t *testing.T, dir string) map[string][]string {
	t.Helper()
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(in("private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(in("public.csv"), clearPublic(), 0o600))
	require.NoError(t, os.WriteFile(in("ranges.csv"), []byte(declared), 0o600))
	blobs(t, in("blobs.csv"), 120)
	table := []string{"--data", in("blobs.csv"), "--label", "kind", "--delta", "1e-5", "--out", in("out")}
	return map[string][]string{
		"publish":            publishing(in("private.csv"), in("public.csv"), in("out")),
		"publish marginals":  publishingDrawn(in("private.csv"), in("ranges.csv"), in("out")),
		"publish dpsgd":      publishingModel(in("private.csv"), in("public.csv"), in("out")),
		"dpsgd":              slices.Concat([]string{"dpsgd", "--epsilon", "2", "--steps", "12", "--batch", "32"}, table),
		"tune":               slices.Concat([]string{"tune", "--epsilon", "2", "--steps", "3", "--learning-rate", "0.5,1", "--law", "geometric", "--runs", "1.5"}, table),
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
				require.Contains(t, lines[len(lines)-1], filepath.Join(out, "private")+": keep it to yourself")
				halves := testkit.Must(os.ReadDir(out))
				if seeded {
					require.Len(t, halves, 1, "%v", halves)
					require.FileExists(t, filepath.Join(out, "private", "results", map[bool]string{true: "report.html", false: "results.json"}[name == "publish"]))
				} else {
					require.Len(t, halves, 2, "%v", halves)
					require.Contains(t, lines[len(lines)-2], filepath.Join(out, "public")+": may be published")
					published := publicFiles(t, filepath.Join(out, "public"), dir)
					require.Contains(t, published, map[string]string{"publish": "statement.html", "publish marginals": "marginals.csv", "publish dpsgd": "student.model",
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

// publicFiles returns the names of files that may be published.
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
