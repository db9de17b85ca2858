package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
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

// publishingModel is the same with one private model.
func publishingModel(private, public, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--public", public, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--method", "dpsgd", "--size", "150", "--rows-per-unit", "4", "--epsilon", "8", "--out", out}, more)
}

// publishingDrawn is the same without public rows, on a budget of a hundred queries or so.
func publishingDrawn(private, ranges, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--pool", "marginals", "--ranges", ranges, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--teachers", "24", "--learner", "softmax", "--min-accuracy", "0.6", "--epsilon", "20", "--out", out}, more)
}

// publishedBy runs the command on a table and returns all that it shows, and the released
// labels as they are.
func publishedBy(t *testing.T, command func(private, public, out string, more ...string) []string, table []byte) (shown map[string]string, labels string) {
	t.Helper()
	dir := t.TempDir()
	private, public, out := filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(private, table, 0o600))
	require.NoError(t, os.WriteFile(public, clearPublic(), 0o600))
	if slices.Contains(command(private, public, out), "--ranges") {
		require.NoError(t, os.WriteFile(public, []byte(declared), 0o600))
	}
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), command(private, public, out, "--seed", "3", "--format", "json"), strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, shell.ExitDone, code, "%s", &stderr)
	here := func(text []byte) string { return strings.ReplaceAll(string(text), dir, "DIR") }
	shown = map[string]string{"stdout": here(stdout.Bytes()), "stderr": here(stderr.Bytes())}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		name := testkit.Must(filepath.Rel(dir, path))
		switch {
		case e.IsDir() || name == "private.csv":
			return nil
		case strings.HasPrefix(name, filepath.Join("out", "private", "results")): // of a seeded run
			name = filepath.Join("out", filepath.Base(name))
		case strings.HasPrefix(name, filepath.Join("out", "private")): // their names and sizes alone
			info := testkit.Must(e.Info())
			if filepath.Ext(name) != ".json" && !strings.HasPrefix(filepath.Base(name), "lock") {
				require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
			}
			shown[name] = "secret"
			return nil
		}
		text := testkit.Must(os.ReadFile(path))
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
	t.Parallel()
	others := units("someone")
	want, labels := publishedBy(t, publishing, people(false, "1.00,2.00,red,someone,a"))
	require.Contains(t, want["stdout"], `"labels": 12`)
	require.Contains(t, want["stdout"], `"epsilon": 59.99`)
	require.NotContains(t, want[filepath.Join("out", "student.model")], `"releasable":true`)
	equal := 0
	for name, table := range map[string][]byte{"removed": people(false), "new class": people(false, others["new class"]...), "400 rows": people(false, others["400 rows"]...)} {
		got, changed := publishedBy(t, publishing, table)
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
		require.Equal(t, want[filepath.Join("out", "queries.csv")], got[filepath.Join("out", "queries.csv")], name)
		require.Len(t, got, len(want), name)
	}
	require.Positive(t, equal, "no neighbour has the same labels: this shows less than it could")
}

// Without public rows: one more unit moves one noisy count of every column by one, under the
// same noise, and no other number that is released but labels and what follows from both.
func TestPublishDrawsThePoolFromCountsAlone(t *testing.T) {
	t.Parallel()
	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	of := func(table []byte) map[string]string {
		shown, _ := publishedBy(t, publishingDrawn, table)
		return shown
	}
	want := of(people(false))
	require.Contains(t, want["stdout"], `"pool": "marginals"`)
	require.Regexp(t, `"epsilon": (19\.99|20)`, want["stdout"])
	path := func(name string) string { return filepath.Join("out", name) }
	ledger := lines(want[path("ledger.jsonl")])
	require.Contains(t, ledger[1]+ledger[2], `"reserve"`)
	require.Equal(t, 2, strings.Count(ledger[1]+ledger[2], `"reserve"`), "both before the first is drawn")
	for name, rows := range map[string][]string{"ordinary": {"1.00,2.00,red,someone,a"}, "huge": units("someone")["huge"], "400 rows": units("someone")["400 rows"], "new category": units("someone")["new category"]} {
		if !*long && name != "new category" && name != "400 rows" {
			continue
		}
		got := of(people(false, rows...))
		require.Len(t, got, len(want), name)
		columns, moved := map[string]int{}, 0
		before, after := lines(want[path("marginals.csv")]), lines(got[path("marginals.csv")])
		require.Len(t, after, len(before), name)
		for i, line := range before {
			if line == after[i] {
				continue
			}
			cells, now := strings.Split(line, ","), strings.Split(after[i], ",")
			require.Equal(t, cells[:2], now[:2], name)
			a := testkit.Must(strconv.Atoi(cells[2]))
			b := testkit.Must(strconv.Atoi(now[2]))
			require.Equal(t, 1, b-a, "%s: a unit is one, of however many rows", name)
			columns[cells[0]]++
			moved++
		}
		require.Equal(t, moved, len(columns), "%s: of each column one count", name)
		require.Equal(t, map[bool]int{true: 2, false: 3}[name == "new category"], moved, name)
		for _, file := range []string{"pool.csv", "queries.csv", "labels.csv"} { // no number of rows tells of a unit
			require.Len(t, lines(got[path(file)]), len(lines(want[path(file)])), "%s: %s", name, file)
		}
		mask := func(text string) string {
			return whatFollows.ReplaceAllString(hexadecimal.ReplaceAllString(text, "#"), "")
		}
		for _, file := range []string{"stdout", path("ledger.jsonl")} {
			require.Equal(t, mask(want[file]), mask(got[file]), "%s: %s", name, file)
		}
	}
}
