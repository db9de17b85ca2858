package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

func TestTyposAreAnsweredWithTheNearestWord(t *testing.T) {
	for line, want := range map[string]string{
		"lable v.npy":                    "did you mean label?",
		"conjure":                        `pate has no command "conjure"`,
		"label --clases 3 v.npy":         "did you mean --classes?",
		"ledger vrify":                   "did you mean verify?",
		"help lable":                     "did you mean label?",
		"help vots":                      "did you mean votes?",
		"account --format jsn x":         "did you mean json?",
		"compare x":                      `pate compare takes no argument, and ["x"] was given`,
		"ledger show a b":                "usage: pate ledger show LEDGER",
		"account":                        "usage: pate account",
		"label":                          "pate label --help",
		"analyze --mechanism gnmax --si": "pate analyze",
	} {
		t.Run(line, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(context.Background(), strings.Fields(line), strings.NewReader(""), &out, &errs)
			require.Equal(t, shell.ExitUsage, code)
			require.Empty(t, out.String())
			require.Contains(t, errs.String(), want)
			require.LessOrEqual(t, strings.Count(errs.String(), "\n"), 4)
		})
	}
}

func TestShellsCompleteValuesCommandsAndTopics(t *testing.T) {
	for line, want := range map[string]string{
		"__complete label --format ": "latex\n",
		"__complete help ":           "privacy\n",
		"__complete ledger ":         "verify\t",
	} {
		var out, errs bytes.Buffer
		require.Zero(t, run(context.Background(), append(strings.Fields(line), ""), strings.NewReader(""), &out, &errs))
		require.Contains(t, out.String(), want, line)
	}
}

func TestVersionNamesTheBuild(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		var out, errs bytes.Buffer
		require.Zero(t, run(context.Background(), args, strings.NewReader(""), &out, &errs), errs.String())
		require.True(t, strings.HasPrefix(out.String(), "pate "), out.String())
	}
}
