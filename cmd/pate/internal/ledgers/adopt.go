package ledgers

import (
	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/run"
)

func newLedgerAdopt(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "adopt LEDGER",
		Short: "Take a ledger without a head for its newest copy",
		Long: `Take a ledger without a head for its newest copy, on your word.

LEDGER.head says how far a ledger had come when something last left. Without it
nothing shows that the file is not an older copy, under which outcomes that were
released would be released a second time, so commands that release refuse it. Ledgers
that versions before kept no head for, and those whose head was lost, are taken up
again here: if, and only if, this file is the newest copy, with all that was ever
charged to it.

The ledger records it, in a line of its own; its head is kept from there on. A ledger
of which a later head is known is refused, with exit code 5.`,
		Example: `  pate ledger verify run.jsonl
  pate ledger adopt run.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file, _, err := shell.OpenLedgerFile(args[0]); err != nil {
				return err
			} else if err := file.Close(); err != nil {
				return err
			}
			if err := run.Adopt(cmd.Context(), args[0], g.Warn); err != nil {
				return shell.FaultError(err, "ledger")
			}
			g.Logf("the head of %s is kept in %s", args[0], run.HeadFile(args[0]))
			return nil
		},
	}
	takesLedger(cmd)
	shell.Without(cmd, "seed", "delta", "format")
	return cmd
}
