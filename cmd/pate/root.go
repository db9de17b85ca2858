package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/internal/buildinfo"
	"github.com/pate-go/pate/internal/table"
)

// globals are the flags every command takes.
type globals struct {
	stdout, stderr io.Writer

	format  string
	seed    uint64
	seeded  bool // --seed was given
	delta   float64
	quiet   bool
	started bool // flags and arguments were understood; a later error is not a usage error
}

func newRootCommand(g *globals) *cobra.Command {
	root := &cobra.Command{
		Use:   "pate",
		Short: "Label public data with the knowledge in private data, privately",
		Long: `Label public data with the knowledge in private data, privately.

Teachers are trained on disjoint parts of the private data and vote on public
examples. The vote is noised, not the data, and where the teachers disagree the
tool declines to answer. DP-SGD stands beside it, under the same accountant.`,
		Example: `  pate compare                                    # both ways on MNIST
  pate dpsgd --data mnist --epsilon 2             # one model, by DP-SGD
  pate label votes.npy --classes 10 --mechanism gnmax --epsilon 2 \
      --ledger run.jsonl --out labels.csv         # votes in, labels out
  pate account events.json --delta 1e-5           # what did these cost?
  pate calibrate gnmax --queries 500 --epsilon 2  # what does a budget allow?`,
		Args:          suggestCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			g.seeded = cmd.Flags().Changed("seed")
			if !(g.delta > 0 && g.delta < 1) {
				return usageError("privacy", fmt.Errorf("--delta %v: must lie strictly between 0 and 1", g.delta))
			}
			g.started = true
			return nil
		},
	}
	flags := root.PersistentFlags()
	choiceVar(flags, &g.format, "format", "table", table.Formats(), "how results are printed")
	flags.Uint64Var(&g.seed, "seed", 0, "a seeded, reproducible experiment: its outputs are not releasable; without it noise is cryptographic")
	flags.Float64Var(&g.delta, "delta", 1e-5, "the delta of every (epsilon, delta) statement; refused if >= 1/n where n is known")
	flags.BoolVarP(&g.quiet, "quiet", "q", false, "no messages and no progress")
	useOwnHelp(root)
	useOwnHelpCommand(root)
	root.SetFlagErrorFunc(suggestFlag)
	root.Version = buildinfo.Read().String()
	root.SetVersionTemplate("pate {{.Version}}\n")
	root.AddCommand(newCompareCommand(g), newAccountCommand(g), newCalibrateCommand(g))
	root.AddCommand(newLawCommand(g), newExplainCommand(g), newPlanCommand(g))
	root.AddCommand(newCheckCommand(g))
	root.AddCommand(newAuditCommand(g))
	root.AddCommand(newAnalyzeCommand(g))
	root.AddCommand(newLabelCommand(g))
	root.AddCommand(newDPSGDCommand(g))
	root.AddCommand(newLedgerCommand(g), newStatementCommand(g))
	root.AddCommand(newVersionCommand(g))
	root.AddCommand(helpTopics()...)
	completeChoices(root)
	return root
}

// logf writes one message line to stderr unless --quiet.
func (g *globals) logf(format string, args ...any) {
	if !g.quiet {
		fmt.Fprintf(g.stderr, format+"\n", args...)
	}
}

// warn says, also with --quiet, what may be unsafe.
func (g *globals) warn(text string) { fmt.Fprintf(g.stderr, "pate: warning: %s\n", text) }

// parsedFormat is the validated --format.
func (g *globals) parsedFormat() table.Format {
	f, _ := table.ParseFormat(g.format) // checked before any command runs
	return f
}
