// Package man is the command pate man: the help of all commands as pages for man(1).
package man

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
)

// New returns the command. It is hidden: packages are built with it.
func New(*shell.Globals) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "man",
		Short: "The help of all commands as manual pages",
		Long: `Write a manual page for each command, pate-label.1, and for each topic of pate help,
pate-votes.7, into a folder. They say what --help says. man DIR/pate-label.1 shows one.`,
		Example: `  pate man --out man
  pate man --out /usr/local/share/man/man1`,
		Args:   shell.Wants(cobra.NoArgs, func(cmd *cobra.Command, _ []string) []string { return shell.Unset(cmd, "out") }),
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return shell.UsageError("", errors.New("--out DIR is needed: where the pages go"))
			}
			return writeAll(cmd.Root(), out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder of the pages (required)")
	shell.Complete(cmd, map[string]shell.Values{"out": shell.Folder()})
	shell.Without(cmd, "seed", "delta", "format")
	return cmd
}

// writeAll writes the page of a command and the pages of those below it.
func writeAll(cmd *cobra.Command, dir string) error {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, fileName(cmd))
	if err := (shell.Target{Flag: "--out", Path: path}).CheckReplaceable(); err != nil {
		return err
	}
	if err := durable.WriteBytes(path, 0o644, []byte(Page(cmd))); err != nil {
		return fmt.Errorf("man: %w", err)
	}
	for _, child := range cmd.Commands() {
		if child.Hidden {
			continue
		}
		if err := writeAll(child, dir); err != nil {
			return err
		}
	}
	return nil
}
