package arch_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages returns the Markdown files of the repository, by path from here.
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

// anchors returns what a link can point at inside a page, as GitHub names it.
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
