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

func publishingModel(private, public, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--public", public, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--method", "dpsgd", "--size", "150", "--rows-per-unit", "4", "--epsilon", "8", "--out", out}, more)
}

func publishingNear(private, public, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--public", public, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--method", "nearest", "--size", "150", "--epsilon", "1.2", "--out", out}, more)
}

func publishingTexts(private, public, out string, more ...string) []string {
	return append(publishingNear(private, public, out, more...), "--text", "note")
}

func letters(n int, authors bool, more ...string) []byte {
	about := []string{"fever cough throat", "knee fracture ankle", "rash itching allergy"}
	text := "note\n"
	if authors {
		text = "note,who,kind\n"
	}
	for i := range n {
		words := strings.Fields(about[i%3])
		text += fmt.Sprintf("%s and %s since day %d of the visit", words[i/3%3], words[(i/3+1+i/9%2)%3], i%7+10)
		if authors {
			text += fmt.Sprintf(",author%d,%c", i, 'a'+i%3)
		}
		text += "\n"
	}
	return []byte(text + strings.Join(append(more, ""), "\n"))
}

func publishingDrawn(private, ranges, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--pool", "marginals", "--ranges", ranges, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--teachers", "24", "--learner", "softmax", "--min-accuracy", "0.6", "--epsilon", "20", "--out", out}, more)
}

func publishingTree(private, ranges, out string, more ...string) []string {
	return slices.Concat([]string{"publish", private, "--pool", "tree", "--ranges", ranges, "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
		"--size", "150", "--epsilon", "8", "--out", out}, more)
}

// publishedBy runs the command on a table and returns all that it shows, and the released
// labels as they are.
func publishedBy(t *testing.T, command func(private, public, out string, more ...string) []string, table []byte) (shown map[string]string, labels string) {
	t.Helper()
	dir := t.TempDir()
	private, public, out := filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv"), filepath.Join(dir, "out")
	require.NoError(t, os.WriteFile(private, table, 0o600))
	known := clearPublic()
	switch args := command(private, public, out); {
	case slices.Contains(args, "--ranges"):
		known = []byte(declared)
	case slices.Contains(args, "--text"):
		known = letters(24, false)
	}
	require.NoError(t, os.WriteFile(public, known, 0o600))
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

// Without public rows, along a tree: one more unit, whatever its rows are, moves no number of rows and no
// number that is released but those that are charged and what follows from them.
func TestPublishDrawsAlongATree(t *testing.T) {
	t.Parallel()
	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	want, _ := publishedBy(t, publishingTree, people(false))
	path := func(name string) string { return filepath.Join("out", name) }
	require.Regexp(t, `"epsilon": (7\.99|8)`, want["stdout"])
	require.Regexp(t, `"pairs": \[`, want["stdout"])
	require.Equal(t, 4, strings.Count(strings.Join(lines(want[path("ledger.jsonl")])[1:5], ""), `"reserve"`), "all before the first is drawn")
	require.Equal(t, "length,width,colour,kind", lines(want[path("table.csv")])[0])
	require.Contains(t, want[path("report.html")], "not good for any other question")
	mask := func(text string) string {
		text = regexp.MustCompile(`(?s)"pairs":.*?\],\s+"units"|"labels": \d+,|"kind":.*?"ledger_entry"|(?m:^paired: .*$)`).ReplaceAllString(text, "")
		return hexadecimal.ReplaceAllString(text, "#")
	}
	for _, name := range []string{"400 rows", "huge", "new class"} {
		got, _ := publishedBy(t, publishingTree, people(false, units("someone")[name]...))
		require.Len(t, got, len(want), name)
		for _, file := range []string{"pool.csv", "queries.csv", "labels.csv", "table.csv", "marginals.csv"} {
			require.Len(t, lines(got[path(file)]), len(lines(want[path(file)])), "%s: %s", name, file)
		}
		for _, file := range []string{"stdout", "stderr", path("ledger.jsonl")} {
			require.Equal(t, mask(want[file]), mask(got[file]), "%s: %s", name, file)
		}
	}
}

// One more unit moves one noisy count at each of its questions by one, whatever its rows are, under the same
// noise. Nothing else moves that is not a function of these counts.
func TestPublishNearestMovesTheVotesOfOneUnit(t *testing.T) {
	t.Parallel()
	oneUnitVotes(t, publishingNear, 2, people(false), func(rows ...string) []byte { return people(false, rows...) },
		map[string][]string{"ordinary": {"1.00,2.00,red,someone,a"}, "400 rows": units("someone")["400 rows"],
			"new class": units("someone")["new class"], "huge": units("someone")["huge"]})
}

func TestPublishTextsMovesTheVotesOfOneAuthor(t *testing.T) {
	t.Parallel()
	oneUnitVotes(t, publishingTexts, 7, letters(150, true), func(rows ...string) []byte { return letters(150, true, rows...) },
		oddTexts())
}

// oddTexts are rows of one more author.
func oddTexts() map[string][]string {
	const one = ",someone,a"
	return map[string][]string{"ordinary": {"fever and cough" + one}, "new words": {"fever quxquux zzyzx" + one}, "empty": {one}, "no word": {"?!" + one},
		"very long": {strings.Repeat("cough rash ", 40_000) + one}, "one word of 60,000 letters": {strings.Repeat("x", 60_000) + one},
		"no UTF-8": {"fever \xff\xfe" + one}, "new class": {"fever,someone,z"},
		"400 texts of one author": slices.Repeat([]string{"fever and knee quxquux zzyzx" + one, "rash since quxquux" + one}, 200)}
}

func oneUnitVotes(t *testing.T, command func(private, public, out string, more ...string) []string, votes int, table []byte,
	with func(rows ...string) []byte, neighbours map[string][]string) {
	t.Helper()
	want, labels := publishedBy(t, command, table)
	require.Contains(t, want["stderr"], fmt.Sprintf("every unit votes at the %d questions nearest to it", votes))
	half := bytes.Join(bytes.SplitAfter(table, []byte("\n"))[:76], nil)
	fewer, _ := publishedBy(t, command, half)
	require.Equal(t, want["stderr"], fewer["stderr"], "the plan follows from the number that was declared")
	mask := func(text string) string {
		return regexp.MustCompile(`(?s)"kind":.*?"ledger_entry"|<tr><th>student.*?</tr>`).ReplaceAllString(hexadecimal.ReplaceAllString(text, "#"), "")
	}
	for name, rows := range neighbours {
		got, now := publishedBy(t, command, with(rows...))
		before, after := strings.Split(labels, "\n"), strings.Split(now, "\n")
		require.Len(t, after, len(before), name)
		moved := 0
		for q, line := range before {
			cells, changed, here := strings.Split(line, ","), strings.Split(after[q], ","), 0
			for i := 2; i < len(cells); i++ {
				if cells[i] != changed[i] {
					require.Equal(t, 1, testkit.Must(strconv.Atoi(changed[i]))-testkit.Must(strconv.Atoi(cells[i])), "%s: a unit is one", name)
					here++
				}
			}
			require.LessOrEqual(t, here, 1, "%s: at each question a unit votes for one class", name)
			moved += here
		}
		require.Equal(t, votes, moved, name)
		for _, file := range []string{"stdout", "stderr", filepath.Join("out", "queries.csv"), filepath.Join("out", "ledger.jsonl"),
			filepath.Join("out", "report.html"), filepath.Join("out", "statement.html")} {
			require.Equal(t, mask(want[file]), mask(got[file]), "%s: %s", name, file)
		}
		require.Len(t, got, len(want), name)
	}
}
