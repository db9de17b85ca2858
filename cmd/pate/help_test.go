package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// Every help text fits a terminal of 80 columns, and every command that runs has a description,
// its usage and at least two examples.
func TestHelpFitsTheTerminalAndTeaches(t *testing.T) {
	var out bytes.Buffer
	root := newRootCommand(&shell.Globals{Stdout: &out, Stderr: &out})
	root.SetOut(&out)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Name() == "help" { // cobra's own
			return
		}
		out.Reset()
		require.NoError(t, cmd.Help())
		for _, line := range strings.Split(out.String(), "\n") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 80, "%s: %s", cmd.CommandPath(), line)
		}
		assert.NotEmpty(t, cmd.Short, cmd.CommandPath())
		if cmd.Runnable() && cmd != root {
			before, _, found := strings.Cut(out.String(), "\nExamples:\n")
			assert.True(t, found && strings.Contains(before, "\nUsage:\n"), "%s: usage, then examples", cmd.CommandPath())
			assert.GreaterOrEqual(t, strings.Count(cmd.Example, "pate "), 2, "%s needs two examples", cmd.CommandPath())
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

func TestVersionNamesTheBuild(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		text, _ := typed(t, shell.ExitDone, args...)
		require.True(t, strings.HasPrefix(text, "pate "), text)
	}
}
