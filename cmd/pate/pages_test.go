package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// commandLines returns the command lines of pate in the fenced blocks of a page,
// Split into words. Comments, what follows a pipe and what is printed are left out.
func commandLines(page string) (lines [][]string) {
	fence, joined := false, ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fence = !fence
			continue
		}
		if !fence {
			continue
		}
		line = joined + strings.TrimPrefix(line, "$ ")
		if before, more := strings.CutSuffix(line, "\\"); more {
			joined = before
			continue
		}
		joined = ""
		command, ok := strings.CutPrefix(strings.TrimPrefix(line, "go run ./cmd/"), "pate ")
		if !ok {
			continue
		}
		command, _, _ = strings.Cut(command, " #")
		command, _, _ = strings.Cut(command, " |")
		command, _, _ = strings.Cut(command, " >")
		lines = append(lines, strings.Fields(strings.ReplaceAll(command, "'", "")))
	}
	return lines
}

// inlineCommands returns the commands within the sentences of a page, which may leave
// arguments out.
func inlineCommands(page string) (lines [][]string) {
	for _, span := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(page, -1) {
		if command, ok := strings.CutPrefix(strings.TrimPrefix(span[1], "go run ./cmd/"), "pate "); ok {
			lines = append(lines, strings.Fields(command))
		}
	}
	return lines
}

// parsed finds the command of a line and gives it the flags.
func parsed(words []string) (*cobra.Command, error) {
	root := newRootCommand(&shell.Globals{Stdout: io.Discard, Stderr: io.Discard})
	cmd, rest, err := root.Find(words)
	if err != nil {
		return nil, err
	}
	return cmd, cmd.ParseFlags(rest)
}

// TestPagesNameWhatThereIs: every command line on a page of the repository has a
// command that exists, flags that it takes and as many arguments as it wants.
func TestPagesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	checked := 0
	require.NoError(t, filepath.WalkDir(filepath.Join("..", ".."), func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" || e.Name() == "CHANGELOG.md": // which names what is gone
			return nil
		}
		text := testkit.Must(os.ReadFile(path))
		for _, words := range commandLines(string(text)) {
			if words[0] == "help" {
				continue
			}
			cmd, err := parsed(words)
			require.NoError(t, err, "%s: pate %s", path, strings.Join(words, " "))
			require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()), "%s: pate %s", path, strings.Join(words, " "))
			checked++
		}
		for _, words := range inlineCommands(string(text)) {
			if words[0] != "help" && words[0] != "..." {
				_, err := parsed(words)
				require.NoError(t, err, "%s: pate %s", path, strings.Join(words, " "))
			}
		}
		return nil
	}))
	require.Greater(t, checked, 40)
}
