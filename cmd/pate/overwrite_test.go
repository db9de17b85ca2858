package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/learn/page"

	"github.com/pate-go/pate/internal/testkit"
)

var outputFlags = []string{"out", "export", "plot", "private-dir", "parts"}

// writers returns a command line for every command that writes files: the words that are names of
// files of writersFolder are its inputs.
func writers() map[string][]string {
	reading := " --label kind --unit who --class-names a,b,c --other-labels other"
	blobs := " --data blobs.csv --label kind --delta 1e-5 --out out"
	return map[string][]string{
		"publish": {
			"publish private.csv --public public.csv --teachers 24 --learner softmax --min-accuracy 0.6 --epsilon 60 --out out" + reading,
			"publish private.csv --public public.csv --method dpsgd --size 150 --rows-per-unit 4 --epsilon 8 --out out" + reading,
			"publish private.csv --public public.csv --method nearest --size 150 --epsilon 8 --out out" + reading,
			"publish private.csv --pool tree --ranges ranges.csv --size 150 --epsilon 8 --out out" + reading,
			"publish private.csv --pool marginals --ranges ranges.csv --teachers 24 --learner softmax --min-accuracy 0.6 --epsilon 20 --out out" + reading,
		},
		"dpsgd": {
			"dpsgd private.csv --public public.csv --size 150 --epsilon 2 --delta 1e-5 --steps 6 --out out" + reading,
			"dpsgd --epsilon 60 --spend 2 --steps 6 --batch 32 --ledger charged.jsonl" + blobs,
		},
		"dpsgd tune":            {"dpsgd tune --epsilon 60 --spend 2 --steps 3 --settings settings.json --law geometric --runs 1.5 --ledger charged.jsonl" + blobs},
		"compare":               {"compare --pool none --ranges blobs-ranges.csv --drop who --methods pknn/reverse,dpsgd/linear" + blobs},
		"label":                 {"label votes0.csv --counts --teachers 100 --mechanism gnmax --sigma 30 --epsilon 60 --ledger charged.jsonl --pool p --out new.csv"},
		"votes analyze release": {"votes analyze release votes0.csv --counts --teachers 100 --mechanism gnmax --sigma 30 --order 10 --sigma-ss 4 --ledger charged.jsonl --name n --out number.json"},
		"votes counts":          {"votes counts ballots.csv --classes 3 --out counts.csv"},
		"ledger statement":      {"ledger statement labelled.jsonl --labels labels.csv --about about.json --out page.html"},
		"ledger sign":           {"ledger sign labelled.jsonl --key key.pem --out signature"},
		"votes nearest":         {"votes nearest private.csv --public public.csv --votes 2 --questions 10 --silo a --salt salt.key --out a.counts" + reading},
		"serve":                 {"serve requests.jsonl --mechanism quota --private private.csv --public public.csv --size 150 --classes a,b,c --queries 8 --votes 3 --epsilon 60 --label kind --unit who --out out"},
		"votes check hash-ids":  {"votes check hash-ids ids.csv --salt salt.key --silo a --out ids.json"},
		"train": {
			"train private.csv --public public.csv --teachers 6 --learner softmax --out v.npy --private-dir secrets" + reading,
			"train private.csv --public public.csv --teachers 6 --learner softmax --shard 1/2 --out v.npy --private-dir secrets --parts parts" + reading,
		},
		"votes merge": {"votes merge part1 part2 --out merged.npy"},
		"account":     {"account events.json --plot figure.svg"},
		"student":     {"student public.csv --labels labelled.csv --label-column kind --class-names a,b,c,other --out new.model --export new.json"},
		"predict":     {"predict student.model public.csv --out predictions.csv", "predict blobs.model blobs.csv --out predictions.csv"},
		"learn":       {"learn --export course.html", "learn --export site"},
		"man":         {"man --out pages"},
	}
}

func writersFolder(t *testing.T) {
	t.Helper()
	preparedFolder(t)
	dir := testkit.Must(os.Getwd())
	folderCommands(t, dir)
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	run := func(line string) { typed(t, shell.ExitDone, strings.Fields(line)...) }
	lines := writers()
	run(lines["publish"][0])
	require.NoError(t, os.Rename("out/public/labelled.csv", "labelled.csv"))
	require.NoError(t, os.Rename("out/public/student.model", "student.model"))
	require.NoError(t, os.RemoveAll("out"))
	run("dpsgd --data blobs.csv --label kind --delta 1e-5 --epsilon 2 --steps 6 --batch 32 --out out")
	require.NoError(t, os.Rename("out/public/models/epsilon-2-run-0.model", "blobs.model"))
	require.NoError(t, os.RemoveAll("out"))
	run("label votes0.csv --counts --teachers 100 --mechanism gnmax --sigma 30 --epsilon 60 --ledger labelled.jsonl --out labels.csv")
	run("label votes1.csv --counts --teachers 100 --mechanism gnmax --sigma 60 --epsilon 60 --mode filter --ledger charged.jsonl --out first.csv")
	for part := range 2 {
		run(strings.Replace(lines["train"][1], "--shard 1/2", fmt.Sprintf("--shard %d/2", part+1), 1))
	}
	parts := testkit.Must(filepath.Glob("parts/*"))
	require.Len(t, parts, 2)
	for i, path := range parts {
		require.NoError(t, os.Rename(path, fmt.Sprintf("part%d", i+1)))
	}
	for _, left := range []string{"parts", "secrets"} {
		require.NoError(t, os.RemoveAll(left))
	}
	write("blobs-ranges.csv", "length,-5.0..15.0\nwidth,-10.0..5.0\ncolour,red,blue\n")
	write("settings.json", `[{"learning_rate":0.5},{"learning_rate":1}]`)
	write("ballots.csv", strings.Repeat("0,1,2,0\n", 5))
	write("requests.jsonl", onlineRows)
	write("about.json", `{"controller":"somebody"}`)
	write("ids.csv", "a\nb\nc\n")
	run("votes check hash-ids --salt salt.key --new-salt")
	write("events.json", `{"relation":"add_remove","events":[{"type":"repeated","count":9,"event":{"type":"gaussian","noise_multiplier":4}}]}`)
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	der := testkit.Must(x509.MarshalPKCS8PrivateKey(key))
	write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

func copyFolder(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	require.NoError(t, filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		name := testkit.Must(filepath.Rel(from, path))
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		info := testkit.Must(e.Info())
		text := testkit.Must(os.ReadFile(path))
		return os.WriteFile(filepath.Join(to, name), text, info.Mode().Perm())
	}))
	t.Chdir(to)
	t.Setenv("XDG_STATE_HOME", filepath.Join(to, "state"))
	return to
}

// Whatever a command reads, no file that it writes is put in its place: not by its name, not by a
// link, and not where the file belongs to the folder that the command makes. A new command that
// writes files has no line above, and fails here.
func TestFoldersOverwriteNoInput(t *testing.T) {
	lines := writers()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if slices.Contains(outputFlags, f.Name) {
				name := strings.TrimPrefix(cmd.CommandPath(), "pate ")
				require.True(t, lines[name] != nil, "%s --%s is no part of this test", name, f.Name)
			}
		})
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(newRootCommand(&shell.Globals{}))
	writersFolder(t)
	from := testkit.Must(os.Getwd())
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		for i, line := range lines[name] {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) { tried += overwriteNothing(t, from, strings.Fields(line)) })
		}
	}
	t.Logf("%d tries", tried)
}

// overwriteNothing runs a command once to see what it writes, and then with each input in the
// place of each of these files.
func overwriteNothing(t *testing.T, from string, args []string) (tried int) {
	dir := copyFolder(t, from)
	before := contents(t, dir)
	var written []string
	switch {
	case args[0] != "learn":
		typed(t, shell.ExitDone, args...)
	case filepath.Ext(args[2]) == "": // the program of its pages takes long to compile
		written = []string{"site/index.html", "site/course.js"}
		for _, c := range page.Chapters() {
			written = append(written, filepath.Join("site", c.Name+".html"))
		}
	default:
		written = args[2:3]
	}
	for path := range contents(t, dir) {
		name := testkit.Must(filepath.Rel(dir, path))
		if _, was := before[path]; !was && !strings.HasPrefix(name, "state") {
			written = append(written, name)
		}
	}
	slices.Sort(written)
	require.NotEmpty(t, written)
	var inputs []int
	for i, word := range args {
		if _, is := before[filepath.Join(dir, word)]; is {
			inputs = append(inputs, i)
		}
	}
	if len(inputs) == 0 { // whatever is there, a ledger is kept
		args, inputs = append(slices.Clone(args), "charged.jsonl"), []int{len(args)}
		if !*long {
			written = written[:min(len(written), 4)]
		}
	}
	for n, name := range written {
		for k, i := range inputs {
			if !*long && (n%len(inputs) != k || n >= max(3, len(inputs))) && n != k {
				continue // some files in the place of one input, and each input once
			}
			for how, put := range map[string]func(from, to string) error{"moved": os.Rename, "hard link": os.Link, "link": func(from, to string) error { return os.Symlink(filepath.Join(mustGetwd(t), from), to) }} {
				if how != "moved" && tried > 9 { // each way is tried with the first names
					continue
				}
				copyFolder(t, from)
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
				if _, err := os.Lstat(name); err == nil {
					continue // what a command appends to, such as the head of a ledger
				}
				require.NoError(t, put(args[i], name))
				line := slices.Clone(args)
				if line[i] = name; i == len(args)-1 && args[i] == "charged.jsonl" && !slices.Contains(args[:i], "--ledger") {
					line = line[:i]
				}
				was := contents(t, ".")
				code, said := command(t.Context(), line)
				require.NotEqual(t, shell.ExitDone, code, "%s: %s as %s: %s", args, args[i], name, how)
				require.Contains(t, []int{shell.ExitInvalidInput, shell.ExitUsage, shell.ExitCheckFailed}, code, said)
				is := contents(t, ".")
				for path, text := range was {
					require.Equal(t, text, is[path], "%s: %s as %s (%s) changed %s\n%s", args, args[i], name, how, path, said)
				}
				tried++
			}
		}
	}
	return tried
}

func mustGetwd(t *testing.T) string {
	dir := testkit.Must(os.Getwd())
	return dir
}
