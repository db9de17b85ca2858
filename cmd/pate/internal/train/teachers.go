package train

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/teachers/training"
)

// NewTeachers returns the command for teachers on many machines.
func NewTeachers(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "teachers",
		Short: "Train teachers on many machines, and merge their votes",
		Long: `Train parts of the teachers on as many machines as there are, and merge their votes
into the file that pate train writes on one machine, byte for byte.`,
		Args: shell.SuggestCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		Example: `  pate teachers train patients.csv --public survey.csv --label outcome \
      --class-names no,yes --teachers 200 --shard 3/40 --out votes.npy
  pate teachers merge votes.npy.parts --out votes.npy`,
	}
	cmd.AddCommand(newPart(g), newMerge(g))
	return cmd
}

// newPart returns pate train for a part.
func newPart(g *shell.Globals) *cobra.Command {
	f := &trainFlags{}
	cmd := &cobra.Command{
		Use:   "train PRIVATE --public PUBLIC --shard I/N --out VOTES",
		Short: "Train one part of the teachers",
		Long: `Train the I-th of N parts of the teachers as pate train does, and write their votes to
OUT.parts, under a name made of their content by a keyed hash. Run twice it trains
nothing the second time; stopped, the same command goes on. No part waits for another.

--shard auto/N takes I from JOB_COMPLETION_INDEX (an Indexed Job of Kubernetes) or
SLURM_ARRAY_TASK_ID (a job array of Slurm), both counted from 0.

All parts need one folder of secrets, OUT.private or --private-dir: shared, or, where
nothing is, a copy of its files run.key and salt on each machine, mode 0600. The first
part makes them.

With --silo NAME every part has private rows of its own, and a key of its own: the
part's teachers learn from these alone. --unit says whose a row is. The silos share
the salt alone (pate check hash-ids --new-salt makes one; it belongs in the folder of
secrets as salt), and pate teachers merge proves by hashes that no unit is in two.

Parts are as secret as the private rows.`,
		Example: `  pate teachers train patients.csv --public survey.csv --label outcome \
      --class-names no,yes --teachers 200 --shard auto/40 --out votes.npy
  pate teachers train ours.csv --public survey.csv --label outcome \
      --unit patient --class-names no,yes --teachers 40 --shard 7/40 \
      --silo st-mary --out votes.npy`,
		Args: shell.Wants(cobra.ExactArgs(1), func(cmd *cobra.Command, _ []string) []string { return shell.Unset(cmd, "public", "shard", "out") }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.shard == "" {
				return shell.UsageError("train", errors.New("missing: --shard I/N: which part this is; pate train trains all"))
			}
			return f.run(cmd, g, args[0])
		},
	}
	f.add(cmd)
	return cmd
}

// newMerge returns the command that puts parts together.
func newMerge(g *shell.Globals) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:   "merge PARTS... --out votes.npy",
		Short: "Put the votes of all parts of the teachers together",
		Long: `Put the votes of all parts together: the file of votes and the manifest that pate
train writes on one machine, byte for byte. PARTS are folders, files or patterns.

A part that is missing, a part that is there twice, and parts of other settings, other
public or private rows, another key, salt or version of the program are refused by
name, and nothing is written. Merging once more does nothing.

Of silos, which have rows of their own, the hashes of their units are compared: a unit
in two silos is refused (exit code 5). OUT.silos.json keeps the proof; pate check
--manifest OUT.silos.json reads it.

With the folder of secrets at hand the manifest is bound to the votes by a keyed hash.
Votes are as secret as the private rows.`,
		Example: `  pate teachers merge votes.npy.parts --out votes.npy
  pate teachers merge 'from-*/part-*.part' --out votes.npy --private-dir secrets`,
		Args: shell.Wants(cobra.MinimumNArgs(1), func(cmd *cobra.Command, _ []string) []string { return shell.Unset(cmd, "out") }),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" {
				return shell.UsageError("train", errors.New("missing: --out FILE: where the votes go"))
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
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "file of the votes (required)")
	flags.StringVar(&f.private, "private-dir", "", "folder of secrets of the job, if it is here (default: OUT.private)")
	shell.Complete(cmd, map[string]shell.Values{"out": shell.Files("npy"), "private-dir": shell.Folder()})
	shell.CompleteArgs(cmd, shell.Files("part"))
	shell.Without(cmd, "seed", "delta")
	return cmd
}
