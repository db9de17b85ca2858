package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// eachCommand visits all commands of this program that run.
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

// Of every flag it is known what it takes, and so what shells complete: shell.Complete says
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
	require.Empty(t, without, "say with shell.Complete and shell.CompleteArgs what these take: words, files or anything")
}

// A flag whose help lists its words is one of a closed set: those words are completed.
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
