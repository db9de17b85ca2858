package train

import (
	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/teachers/training"
)

// NewMerge returns `pate votes merge`: votes of teachers from many machines.
func NewMerge(g *shell.Globals) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:  "merge PARTS... --out votes.npy",
		Args: shell.Needs(cobra.MinimumNArgs(1), "out"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" {
				return shell.Usagef("train", "missing: --out FILE: where the votes go")
			}
			out := shell.Target{Flag: "--out", Path: f.out, Topic: "train"}
			if err := out.CheckDistinct("one of the parts", shell.ExpandPaths(args)...); err != nil {
				return err
			}
			if err := out.CheckWritable(); err != nil {
				return err
			}
			r, err := training.Merge(cmd.Context(), training.Merging{Parts: args, Out: f.out, Secrets: f.private})
			if err != nil {
				return shell.FaultError(err, "data")
			}
			return f.print(g, r)
		},
	}
	shell.Declare(cmd.Flags(), "votes merge", shell.To{"out": &f.out, "private-dir": &f.private})
	shell.CompleteArgs(cmd, shell.Files("part"))
	shell.Without(cmd, "seed", "delta")
	return cmd
}
