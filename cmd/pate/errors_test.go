package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

func wrongFiles(t *testing.T) {
	t.Helper()
	dates := testkit.Must(os.ReadFile("../../dataset/testdata/parquet/dates.parquet"))
	preparedFolder(t)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var votes strings.Builder
	for row := range 24 {
		cells := make([]string, 9)
		for teacher := range cells {
			vote := row % 3
			if (row*7+teacher*teacher*5)%11 < 2 {
				vote = (row + teacher) % 3
			}
			cells[teacher] = fmt.Sprint(vote)
		}
		votes.WriteString(strings.Join(cells, ",") + "\n")
	}
	write("votes.csv", votes.String())
	write("ragged.csv", "0,1,2\n0,1\n")
	write("page.html", "<!doctype html>\n<html><body>not found</body></html>\n")
	write("rows.parquet", "PAR1\x15\x04\x15\x00PAR1")
	write("dates.parquet", string(dates))
	write("days.parquet", string(dates))
	write("renamed.csv", "height,weight\n1,2\n3,5\n2,2\n")
	write("nounit.csv", "height,weight,who,kind\n1,2,u1,a\n3,5,,b\n")
	write("ids.txt", "a\nb\n")
	write("events.json", `{"relation":"add_remove","events":[{"type":"gnmax","sigma":40}]}`)
	write("broken.json", `{"relation":"add_remove","events":[{"type":"gnmax"}]}`)
	write("unknown.json", `{"relation":"add_remove","events":[{"type":"gnmx","sigma":40}]}`)
	write("about.json", `{"data_set":"visits","date":"2026-03-01"}`)
	write("wrong.json", `{"owner":"me"}`)
	pool := testkit.Must(os.ReadFile("blobs.csv"))
	write("pool.csv", string(pool)+"\n")
	require.NoError(t, os.Mkdir("folder", 0o700))
	label := func(name string, more ...string) {
		typed(t, shell.ExitDone, append([]string{"label", "votes.csv", "--classes", "3", "--mechanism", "gnmax", "--sigma", "4", "--epsilon", "12", "--force",
			"--ledger", name + ".jsonl", "--out", name + ".csv"}, more...)...)
	}
	label("run")
	label("visits", "--unit", "visit")
	require.NoError(t, os.Rename("run.csv", "labels.csv"))
	edit := func(from, old, new, to string) {
		text := testkit.Must(os.ReadFile(from))
		require.Contains(t, string(text), old)
		write(to, strings.Replace(string(text), old, new, 1))
	}
	edit("labels.csv", "\n7,", "\n8,", "changed.csv")
	edit("run.jsonl", `"sigma":4,`, `"sigma":5,`, "damaged.jsonl")
	typed(t, shell.ExitDone, "ledger", "statement", "run.jsonl", "--out", "good.html")
	typed(t, shell.ExitDone, "ledger", "statement", "visits.jsonl", "--out", "other.html")
	edit("good.html", "neighbours", "friends", "edited.html")
	write("damaged.model", "pate model 1\n"+strings.Repeat("\x00", 100))
}

var (
	hashes   = regexp.MustCompile(`[0-9a-f]{32,}`)
	builds   = regexp.MustCompile(`\(devel\)|v[0-9]+\.[0-9]+\.[0-9]+\S*`)
	rootHelp = regexp.MustCompile(`(?m)^pate --help$`)
)

// TestEveryErrorSaysWhatWhyAndFix types the command lines in testdata/errors.txt, in a folder with the files of
// wrongFiles, and compares the messages. UPDATE_GOLDEN=1 rewrites them; to add a mistake is to add its line.
func TestEveryErrorSaysWhatWhyAndFix(t *testing.T) {
	golden := testkit.Must(filepath.Abs(filepath.Join("testdata", "errors.txt")))
	wrongFiles(t)
	here := testkit.Must(os.Getwd())
	t.Setenv("XDG_CACHE_HOME", filepath.Join(here, "cache"))
	t.Setenv("PATE_DATA", here)
	want := testkit.Must(os.ReadFile(golden))
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		line = strings.TrimSpace(line)
		if got.Len() == 0 {
			got.WriteString(line + "\n")
		}
		if strings.HasPrefix(line, "#") {
			fmt.Fprintf(&got, "\n%s\n", line)
		}
		line, provokes := strings.CutPrefix(line, "$ pate ")
		if !provokes {
			continue
		}
		args := strings.Fields(line)
		for i, arg := range args {
			if arg == "long" {
				args[i] = strings.Repeat("long", 80)
			}
		}
		var out, errs bytes.Buffer
		code := run(context.Background(), args, strings.NewReader(""), &out, &errs)
		if code == shell.ExitUsage || code == shell.ExitInvalidInput {
			assert.Empty(t, out.String(), line)
		}
		said := errs.String()
		said = hashes.ReplaceAllString(strings.ReplaceAll(said, here, "HERE"), "HASH")
		said = builds.ReplaceAllString(strings.ReplaceAll(said, args[len(args)-1], strings.Fields(line)[len(args)-1]), "BUILD")
		fmt.Fprintf(&got, "\n$ pate %s\nexit %d\n%s", line, code, said)
		assert.NotZero(t, code, line)
		assert.NotContains(t, said, "strconv.", line)
		assert.NotContains(t, said, "durable:", line)
		assert.NotContains(t, said, ".tmp", line)
		if !strings.HasPrefix(line, "lable") && !strings.HasPrefix(line, "conjure") && !strings.HasPrefix(line, "help") {
			assert.False(t, rootHelp.MatchString(said), "%s: the help of the root says nothing about it", line)
		}
		if lines := strings.Count(said, "\n"); assert.LessOrEqual(t, lines, 8, line) && !strings.Contains(line, "verify run.jsonl --") {
			assert.GreaterOrEqual(t, lines, 2, "%s: says neither why nor what to do", line)
		}
	}
	left := testkit.Must(filepath.Glob("new*"))
	require.Empty(t, left, "what is refused leaves nothing")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o644))
		return
	}
	before, after := strings.Split(string(want), "\n$ "), strings.Split(got.String(), "\n$ ")
	require.Equal(t, len(before), len(after), "UPDATE_GOLDEN=1 rewrites testdata/errors.txt; read the difference")
	for i := range before {
		require.Equal(t, before[i], after[i], "UPDATE_GOLDEN=1 rewrites testdata/errors.txt; read the difference")
	}
}

// TestNoNameReachesTheTerminalRaw: names of files and flags hold whatever their maker put into them. A terminal
// would obey some of it, and lines of a name would pass for lines of the program.
func TestNoNameReachesTheTerminalRaw(t *testing.T) {
	wrongFiles(t)
	const hostile = "\x1b[2J\r\u202e\npate: warning: all is well"
	ledger, labels := hostile+".jsonl", hostile+".csv"
	for from, to := range map[string]string{"run.jsonl": ledger, "labels.csv": labels} {
		text := testkit.Must(os.ReadFile(from))
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	classes := "--class-names=b,a" + hostile
	for name, args := range map[string][]string{
		"votes":             {"label", hostile + ".npy", "--classes", "3", "--epsilon", "2", "--ledger", "new.jsonl", "--out", "new.csv"},
		"votes without end": {"label", hostile, "--classes", "3", "--epsilon", "2", "--ledger", "new.jsonl", "--out", "new.csv"},
		"flag":              {"label", "--" + hostile},
		"command":           {hostile},
		"topic":             {"help", hostile},
		"ledger":            {"verify", ledger},
		"labels":            {"verify", "run.jsonl", "--labels", labels},
		"statement":         {"ledger", "statement", ledger},
		"page":              {"ledger", "statement", "run.jsonl", "--out", "folder/" + hostile + ".html"},
		"student":           {"predict", hostile, "votes.csv"},
		"names of votes":    {"votes", "check", "votes.csv", classes},
		"names of rows":     {"dpsgd", "--data", "blobs.csv", "--label", "kind", classes, "--plan"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := run(context.Background(), args, strings.NewReader(""), &out, &out)
			said := "\n" + out.String()
			require.NotContains(t, said, "\x1b")
			require.NotContains(t, said, "\r")
			require.NotContains(t, said, "\u202e")
			require.NotContains(t, said, "\npate: warning: all is well")
			require.Contains(t, []int{shell.ExitDone, shell.ExitFailure, shell.ExitUsage, shell.ExitInvalidInput, shell.ExitCheckFailed}, code)
		})
	}
}
