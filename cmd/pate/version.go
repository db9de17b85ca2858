package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/table"
)

func newVersionCommand(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:  "version",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			info := buildinfo.Read()
			if g.ParsedFormat() == table.JSON {
				return shell.WriteJSON(g.Stdout, struct {
					Schema string `json:"schema"`
					buildinfo.Info
				}{"pate.version/1", info})
			}
			_, err := fmt.Fprintf(g.Stdout, "pate %s\n%s %s\n", info, info.Go, info.Platform)
			return err
		},
	}
	shell.Without(cmd, "seed", "delta")
	return cmd
}
