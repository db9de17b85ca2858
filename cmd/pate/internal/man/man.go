// Package man is the command `pate man`, which writes the help of all commands as pages for man(1).
package man

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

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

func writeAll(cmd *cobra.Command, dir string) error {
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	section := "1"
	if cmd.IsAdditionalHelpTopicCommand() {
		section = "7"
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	path := filepath.Join(dir, name+"."+section)
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
	var page strings.Builder
	fmt.Fprintf(&page, ".TH %s %s \"\" \"pate %s\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n", strings.ToUpper(name), section,
		buildinfo.Read().Version, name, roff(cmd.Short))
	for line := range strings.Lines(shell.Help(cmd, true)) {
		page.WriteString(`\&` + roff(line)) // no line starts with a dot
	}
	return durable.WriteBytes(path, 0o644, []byte(page.String()))
}

var roff = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace
