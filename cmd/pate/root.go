package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/account"
	"github.com/pate-go/pate/cmd/pate/internal/analyze"
	"github.com/pate-go/pate/cmd/pate/internal/audit"
	"github.com/pate-go/pate/cmd/pate/internal/calibrate"
	"github.com/pate-go/pate/cmd/pate/internal/check"
	"github.com/pate-go/pate/cmd/pate/internal/compare"
	"github.com/pate-go/pate/cmd/pate/internal/counts"
	"github.com/pate-go/pate/cmd/pate/internal/data"
	"github.com/pate-go/pate/cmd/pate/internal/dpsgd"
	"github.com/pate-go/pate/cmd/pate/internal/explain"
	"github.com/pate-go/pate/cmd/pate/internal/label"
	"github.com/pate-go/pate/cmd/pate/internal/law"
	"github.com/pate-go/pate/cmd/pate/internal/learn"
	"github.com/pate-go/pate/cmd/pate/internal/ledgers"
	"github.com/pate-go/pate/cmd/pate/internal/man"
	"github.com/pate-go/pate/cmd/pate/internal/plan"
	"github.com/pate-go/pate/cmd/pate/internal/publish"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/cmd/pate/internal/sql"
	"github.com/pate-go/pate/cmd/pate/internal/statement"
	"github.com/pate-go/pate/cmd/pate/internal/student"
	"github.com/pate-go/pate/cmd/pate/internal/train"
	"github.com/pate-go/pate/cmd/pate/internal/tune"
	"github.com/pate-go/pate/internal/buildinfo"
)

func newRootCommand(g *shell.Globals) *cobra.Command {
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
		Args:          shell.SuggestCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() == cobra.ShellCompRequestCmd {
				shell.CompleteAll(cmd.Root())
			}
			g.Seeded = cmd.Flags().Changed("seed")
			if err := shell.CheckValues(cmd); err != nil {
				return err
			}
			if !(g.Delta > 0 && g.Delta < 1) {
				return shell.UsageError("privacy", fmt.Errorf("--delta %v: must lie strictly between 0 and 1", g.Delta))
			}
			g.Started = true
			g.WarnOfBudgets(cmd)
			return nil
		},
	}
	shell.UseOwnHelp(root)
	shell.UseOwnHelpCommand(root)
	root.SetFlagErrorFunc(shell.SuggestFlag)
	root.Version = buildinfo.Read().String()
	root.SetVersionTemplate("pate {{.Version}}\n")
	root.AddCommand(compare.New(g), account.New(g), calibrate.New(g))
	root.AddCommand(law.New(g), explain.New(g), learn.New(g), plan.New(g))
	root.AddCommand(train.New(g), train.NewTeachers(g), check.New(g))
	root.AddCommand(audit.New(g))
	root.AddCommand(analyze.New(g))
	root.AddCommand(label.New(g))
	root.AddCommand(dpsgd.New(g), tune.New(g))
	root.AddCommand(student.New(g), publish.New(g), data.New(g))
	root.AddCommand(ledgers.New(g), statement.New(g), counts.New(g), sql.New(g))
	root.AddCommand(newVersionCommand(g), man.New(g))
	addTopics(root)
	g.AddTo(root)
	return root
}

// addTopics adds the help topics. One that has the name of a command becomes a part of its
// help: of two with one name, which is found would be a matter of chance.
func addTopics(root *cobra.Command) {
	for _, topic := range helpTopics() {
		i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == topic.Name() })
		if i < 0 {
			root.AddCommand(topic)
			continue
		}
		root.Commands()[i].Long += "\n\n" + topic.Long
	}
}
