package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// TestNoNameReachesTheTerminalRaw: names of files and flags hold whatever their maker put into them. A terminal
// would obey some of it, and lines of a name would pass for lines of the program.
func TestNoNameReachesTheTerminalRaw(t *testing.T) {
	wrongFiles(t)
	const hostile = "\x1b[2J\r\u202e\npate: warning: all is well"
	ledger, labels := hostile+".jsonl", hostile+".csv"
	for from, to := range map[string]string{"run.jsonl": ledger, "labels.csv": labels} {
		text := testkit.Must(os.ReadFile(from))
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	classes := "--class-names=b,a" + hostile
	for name, args := range map[string][]string{
		"votes":             {"label", hostile + ".npy", "--classes", "3", "--epsilon", "2", "--ledger", "new.jsonl", "--out", "new.csv"},
		"votes without end": {"label", hostile, "--classes", "3", "--epsilon", "2", "--ledger", "new.jsonl", "--out", "new.csv"},
		"flag":              {"label", "--" + hostile},
		"command":           {hostile},
		"topic":             {"help", hostile},
		"ledger":            {"ledger", "verify", ledger},
		"labels":            {"ledger", "verify", "run.jsonl", "--labels", labels},
		"statement":         {"ledger", "statement", ledger},
		"page":              {"ledger", "statement", "run.jsonl", "--out", "folder/" + hostile + ".html"},
		"student":           {"predict", hostile, "votes.csv"},
		"names of votes":    {"votes", "check", "votes.csv", classes},
		"names of rows":     {"dpsgd", "--data", "blobs.csv", "--label", "kind", classes, "--plan"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := run(context.Background(), args, strings.NewReader(""), &out, &out)
			said := "\n" + out.String()
			require.NotContains(t, said, "\x1b")
			require.NotContains(t, said, "\r")
			require.NotContains(t, said, "\u202e")
			require.NotContains(t, said, "\npate: warning: all is well")
			require.Contains(t, []int{shell.ExitDone, shell.ExitFailure, shell.ExitUsage, shell.ExitInvalidInput, shell.ExitCheckFailed}, code)
		})
	}
}
