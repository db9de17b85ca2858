package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// Every help fits a terminal of 80 columns and has at most 60 lines; every command that runs has a
// description, its usage and two examples; and pate help COMMAND has every flag.
func TestHelpFitsTheTerminalAndTeaches(t *testing.T) {
	root := newRootCommand(&shell.Globals{})
	require.Equal(t, 24, strings.Count(shell.Help(root, false), "\n"), "a screen")
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
