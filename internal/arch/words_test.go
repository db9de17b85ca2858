package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// patterns are turns of phrase that hide the subject of a sentence, with the largest number of each in
// comments of Go files. A bound only falls: lower it when a comment is rewritten.
var patterns = map[string]int{
	`(says?|tells?|knows)`: 20,
	`(that|those) of`:      15,
	`of (it|them)`:         20,
	`what (is|was|it)`:     25,
}

// retired are phrases that do not come back in Go files, pages and printed errors, with the phrase of the
// field and the files that may still have them.
var retired = []struct {
	phrase, instead string
	except          []string
}{
	{"held back", "held-out", []string{"internal/student/published/model.go", "student/crossvalidate.go"}},
	{"goes on where", "resumes", nil},
	{"went on where", "resumed", nil},
	{"next door", "neighbouring", nil},
	{"writes over", "overwrites", nil},
	{"written over", "overwritten", nil},
	{"privacy loss distributions claim", "the claim is by privacy loss distributions", nil},
	{"whoever", "a noun", []string{"accountant/statement/words.go", "cmd/pate/internal/check/check.go",
		"cmd/pate/internal/dpsgd/output.go", "cmd/pate/internal/dpsgd/tune_output.go", "experiments/report/words.go",
		"teachers/votes/layout.go", "cmd/pate/testdata/errors.txt"}},
	{"who has", "a noun", []string{"accountant/statement/statement.go", "accountant/statement/words.go",
		"beam/poll/tally.go", "experiments/report/advice.go"}},
	{"put back", "restored", []string{"run/book.go", "run/doc.go", "teachers/label/doc.go"}},
	{"told apart", "distinguished", nil},
	{"tells apart", "distinguishes", nil},
	{"tell apart", "distinguish", []string{"accountant/risk.go"}},
	{"by heart", "overfit", nil},
	{"for ever", "permanently", nil},
	{"is told", "is reported", []string{"accountant/calibrate_search.go", "cmd/pate/internal/label/label.go",
		"internal/teachers/manifest/check.go"}},
	{"are told", "are reported", nil},
	{"is said", "is stated", []string{"cmd/pate/internal/check/check.go", "cmd/pate/internal/shell/training.go"}},
	{"are said", "are stated", nil},
	{"mended", "fixed", []string{"accountant/ledger/verify.go"}},
	{"speaks of", "describes", []string{"internal/accountant/bayes/figure.go"}},
	{"a run that is there", "an existing run", nil},
	{"words are told", "text is written", nil},
	{"twice the same", "identical", nil},
	{"in vain", "without effect", nil},
}

func TestWordsOfTheField(t *testing.T) {
	root := filepath.Join("..", "..")
	counts, texts := map[string]int{}, pages(t)
	texts[filepath.Join(root, "cmd", "pate", "testdata", "errors.txt")] = ""
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			texts[path] = ""
		}
		return err
	}))
	comment, space := regexp.MustCompile(`(?m)^\s*//(.*)$`), regexp.MustCompile(`[\s/]+`)
	expressions := map[string]*regexp.Regexp{}
	for p := range patterns {
		expressions[p] = regexp.MustCompile(`\b` + p + `\b`)
	}
	for path := range texts {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		text := strings.ToLower(string(raw))
		if strings.HasSuffix(path, ".go") {
			for i, line := range strings.Split(strings.ReplaceAll(string(raw), "\t", "    "), "\n") {
				if n := utf8.RuneCountInString(line); n > 150 || n > 110 && strings.HasPrefix(strings.TrimSpace(line), "//") {
					t.Errorf("%s:%d has %d columns: at most 110 in comments, 150 in code", path, i+1, n)
				}
			}
			var comments strings.Builder
			for _, m := range comment.FindAllStringSubmatch(text, -1) {
				comments.WriteString(m[1] + " ")
			}
			for p, re := range expressions {
				counts[p] += len(re.FindAllString(comments.String(), -1))
			}
		}
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		flat := " " + space.ReplaceAllString(text, " ") + " "
		for _, r := range retired {
			if strings.Contains(flat, " "+r.phrase+" ") && !slices.Contains(r.except, filepath.ToSlash(name)) {
				t.Errorf("%s has %q: write %q", name, r.phrase, r.instead)
			}
		}
	}
	for p, most := range patterns {
		require.LessOrEqual(t, counts[p], most, p)
	}
}

func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	}))
	return found
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func anchors(page string) map[string]bool {
	names := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(page, ""), -1) {
		name := dropped.ReplaceAllString(strings.ToLower(h[1]), "")
		names[strings.ReplaceAll(strings.TrimSpace(name), " ", "-")] = true
	}
	return names
}

// TestLinks: a link in a page that is no address leads to a file that is there, and to
// a heading that it has.
func TestLinks(t *testing.T) {
	all, links := pages(t), 0
	require.Greater(t, len(all), 10)
	for path, text := range all {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(file))
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", path, m[1])
			if anchor != "" && filepath.Ext(target) == ".md" {
				require.True(t, anchors(all[target])[anchor], "%s links to %s, and %s has no such heading", path, m[1], target)
			}
		}
	}
	require.Greater(t, links, 20)
}
