package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
)

// Every help fits a terminal of 80 columns and has at most 60 lines; every command that runs has a
// description, its usage and two examples; and pate help COMMAND has every flag.
func TestHelpFitsTheTerminalAndTeaches(t *testing.T) {
	root := newRootCommand(&shell.Globals{})
	require.LessOrEqual(t, strings.Count(shell.Help(root, false), "\n"), 24, "a screen")
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		short, full := shell.Help(cmd, false), shell.Help(cmd, true)
		for line := range strings.Lines(short + full) {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 81, "%s: %s", cmd.CommandPath(), line)
		}
		assert.NotEmpty(t, cmd.Short, cmd.CommandPath())
		if cmd.Runnable() && cmd != root {
			assert.LessOrEqual(t, strings.Count(short, "\n"), 60, cmd.CommandPath())
			before, _, found := strings.Cut(short, "\nExamples:\n")
			assert.True(t, found && strings.Contains(before, "\nUsage:\n"), "%s: usage, then examples", cmd.CommandPath())
			assert.GreaterOrEqual(t, strings.Count(cmd.Example, "pate "), 2, "%s needs two examples", cmd.CommandPath())
			assert.NotContains(t, full, "{{", cmd.CommandPath())
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				assert.Contains(t, full, " --"+f.Name, cmd.CommandPath())
				if f.Name != "help" {
					assert.Contains(t, short, " --"+f.Name, cmd.CommandPath())
				}
			})
		}
		names := map[string]bool{}
		for _, child := range cmd.Commands() {
			assert.False(t, names[child.Name()], "%s %s twice", cmd.CommandPath(), child.Name())
			names[child.Name()] = true
			walk(child)
		}
	}
	walk(root)
}

func TestEveryCommandAndTopicHasAManualPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	var out, errs bytes.Buffer
	require.Zero(t, run(context.Background(), []string{"man", "--out", dir}, strings.NewReader(""), &out, &errs), errs.String())
	root := newRootCommand(&shell.Globals{Stdout: &out, Stderr: &errs})
	root.InitDefaultCompletionCmd()
	pages := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		found := testkit.Must(filepath.Glob(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".[17]")))
		require.Len(t, found, 1, cmd.CommandPath())
		pages++
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
	require.Greater(t, pages, 30)
	require.FileExists(t, filepath.Join(dir, "pate-privacy.7"))
	label := testkit.Must(os.ReadFile(filepath.Join(dir, "pate-label.1")))
	require.Contains(t, string(label), `\-\-ledger`)
	if groff, err := exec.LookPath("groff"); err == nil {
		pages := testkit.Must(filepath.Glob(filepath.Join(dir, "*")))
		said, err := exec.Command(groff, append([]string{"-K", "utf8", "-man", "-ww", "-z"}, pages...)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
}

func eachCommand(visit func(cmd *cobra.Command)) {
	var out bytes.Buffer
	root := newRootCommand(&shell.Globals{Stdout: &out, Stderr: &out})
	shell.CompleteAll(root)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Runnable() {
			visit(cmd)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(root)
}

// Of every flag it is known what it takes, and so what shells complete: shell.Values say
// it for texts, and the type of numbers does.
func TestEveryFlagCompletes(t *testing.T) {
	var without []string
	eachCommand(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			_, completes := cmd.GetFlagCompletionFunc(f.Name)
			if f.Name != "help" && f.Name != "version" && (!shell.Declared(f) || f.Value.Type() != "bool" && !completes) {
				without = append(without, cmd.CommandPath()+" --"+f.Name)
			}
		})
		if _, arguments, takes := strings.Cut(cmd.Use, " "); takes && cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
			without = append(without, cmd.CommandPath()+" "+arguments)
		}
	})
	require.Empty(t, without, "say with shell.Values and shell.CompleteArgs what these take: words, files or anything")
}

func TestListedWordsAreCompleted(t *testing.T) {
	listed := regexp.MustCompile(`([a-z_-]+)\|([a-z_|-]+)`)
	seen := 0
	eachCommand(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			words := listed.FindString(f.Usage)
			if words == "" {
				return
			}
			seen++
			complete, found := cmd.GetFlagCompletionFunc(f.Name)
			require.True(t, found, "%s --%s", cmd.CommandPath(), f.Name)
			got, _ := complete(cmd, nil, "")
			for _, word := range strings.Split(words, "|") {
				assert.Contains(t, got, word, "%s --%s", cmd.CommandPath(), f.Name)
			}
		})
	})
	require.Greater(t, seen, 20)
}
