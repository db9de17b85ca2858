package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

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
	require.Contains(t, string(label), `\fB--ledger\fP`)
	if groff, err := exec.LookPath("groff"); err == nil {
		pages := testkit.Must(filepath.Glob(filepath.Join(dir, "*")))
		said, err := exec.Command(groff, append([]string{"-K", "utf8", "-man", "-ww", "-z"}, pages...)...).CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
}
