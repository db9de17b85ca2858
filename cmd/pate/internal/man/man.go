// Package man is the command `pate man`, which writes the help of all commands as pages for man(1).
package man

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/durable"
)

func New(*shell.Globals) *cobra.Command {
	var out string
	cmd := shell.Command("man", "seed delta format", shell.Needs(cobra.NoArgs, "out"), func(cmd *cobra.Command, _ []string) error {
		return writeAll(cmd.Root(), out)
	})
	cmd.Hidden = true
	shell.Declare(cmd.Flags(), "man", shell.To{"out": &out})
	return cmd
}

// writeAll writes pages for a command and all subcommands. Pages have no date, so the same source gives the
// same bytes.
func writeAll(cmd *cobra.Command, dir string) error {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	section := "1"
	if cmd.IsAdditionalHelpTopicCommand() {
		section = "7"
	}
	path := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+"."+section)
	if err := (shell.Target{Flag: "--out", Path: path}).CheckReplaceable(); err != nil {
		return err
	}
	for _, child := range cmd.Commands() {
		if child.Hidden {
			continue
		}
		if err := writeAll(child, dir); err != nil {
			return err
		}
	}
	var page bytes.Buffer
	toMarkdown(cmd)
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: section, Source: "pate " + buildinfo.Read().Version, Date: &time.Time{}},
		&page); err != nil {
		return fmt.Errorf("man: %w", err)
	}
	return durable.WriteBytes(path, 0o644, bytes.Replace(page.Bytes(), []byte("Jan 0001"), nil, 1))
}

func toMarkdown(cmd *cobra.Command) {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "`", "\\`").Replace
	paragraphs := strings.Split(strings.Trim(cmd.Long+"\n\n"+shell.Details(cmd), "\n"), "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") {
			paragraphs[i] = "    " + strings.ReplaceAll(p, "\n", "\n    ")
		} else {
			paragraphs[i] = escape(p)
		}
	}
	cmd.Long, cmd.Short, cmd.DisableAutoGenTag = strings.Join(paragraphs, "\n\n"), escape(cmd.Short), true
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { f.Usage = escape(f.Usage) })
}
