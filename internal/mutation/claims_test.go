package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClaimsNameWhatThereIs: every test, mutation and file that docs/claims.md names
// is there.
func TestClaimsNameWhatThereIs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "claims.md"))
	require.NoError(t, err)
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests[name[1]] = true
		}
		return err
	}))
	list, err := all()
	require.NoError(t, err)
	ids, groups := map[string]bool{}, map[string]bool{}
	for _, m := range list {
		group, _, _ := strings.Cut(m.id, "/")
		ids[m.id], groups[group] = true, true
	}
	named := map[string]int{}
	for line := range strings.Lines(string(page)) {
		folder := "" // of the file named last in the line
		for _, span := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
			word := span[1]
			group, _, slash := strings.Cut(word, "/")
			switch {
			case strings.HasPrefix(word, "Test"):
				require.True(t, tests[word], "there is no %s", word)
				named["tests"]++
			case strings.HasSuffix(word, ".go"):
				if filepath.Dir(word) == "." {
					word = folder + "/" + word
				}
				folder = filepath.ToSlash(filepath.Dir(word))
				require.FileExists(t, filepath.Join(root, filepath.FromSlash(word)))
				named["files"]++
			case slash && !strings.ContainsAny(word, " "):
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(word))); err == nil {
					continue // a package
				}
				require.True(t, groups[group], "%s is neither a package nor a mutation", word)
				require.True(t, ids[word], "there is no mutation %s", word)
				named["mutations"]++
			}
		}
	}
	require.Greater(t, named["tests"], 60)
	require.Greater(t, named["mutations"], 60)
	require.Greater(t, named["files"], 30)
}
