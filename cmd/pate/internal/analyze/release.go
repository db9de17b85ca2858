package analyze

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/run"
)

// releaseFlags are the flags of `pate votes analyze release`.
type releaseFlags struct {
	shell.VotesFlags
	analyzedFlags
	order, beta, sigmaSS, margin float64
	ledger, out, name            string
	epsilon                      float64
	unit                         string
}

func newAnalyzeReleaseCommand(g *shell.Globals) *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use: "release VOTES...",
		Args: shell.Wants(cobra.MinimumNArgs(1), func(cmd *cobra.Command, _ []string) []string {
			missing := append(f.Missing(cmd), shell.Unset(cmd, "mechanism", "ledger", "out")...)
			return append(missing, shell.UnsetBudget(cmd, f.ledger)...)
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return runAnalyzeRelease(cmd, g, f, args) },
	}
	f.Add(cmd)
	f.addMechanism(cmd)
	shell.Declare(cmd.Flags(), "release", shell.To{"order": &f.order, "beta": &f.beta, "sigma-ss": &f.sigmaSS, "margin": &f.margin,
		"ledger": &f.ledger, "out": &f.out, "name": &f.name, "epsilon": &f.epsilon, "unit": &f.unit})
	return cmd
}

// check refuses flags without a meaning before files are opened.
func (f *releaseFlags) check(cmd *cobra.Command) error {
	positive := func(name string, value float64) error {
		return shell.Refuse("privacy", shell.If(cmd.Flags().Changed(name) && !(value > 0), "--%s %v: must be above 0", name, value))
	}
	return cmp.Or(positive("order", f.order), positive("beta", f.beta), positive("sigma-ss", f.sigmaSS),
		positive("epsilon", f.epsilon),
		shell.Refuse("mechanisms", shell.If(f.Mechanism == "lnmax",
			"--mechanism lnmax: its smooth sensitivity is not known; gnmax and confident can be released")),
		shell.Refuse("ledger", shell.If(f.name == "", "--name is empty: it names the release on the ledger")))
}

// checkOut refuses an --out that would overwrite what the release is made from.
func (f *releaseFlags) checkOut(args []string) error {
	out := shell.Target{Flag: "--out", Path: f.out, Topic: "ledger"}
	keys, err := run.Keys(f.ledger)
	if err != nil {
		return err
	}
	return cmp.Or(
		out.CheckDistinct("the ledger", f.ledger),
		out.CheckDistinct("a file that belongs to the ledger", append(keys, run.IDFile(f.ledger), run.HeadFile(f.ledger))...),
		out.CheckDistinct("one of the votes files", shell.ExpandPaths(args)...),
	)
}

// file returns the ledger of the release.
func (f *releaseFlags) file(cmd *cobra.Command, g *shell.Globals, stated bool) run.File {
	file := run.File{
		Path: f.ledger, Warn: g.Warn,
		New: ledger.Config{Unit: f.unit, Relation: accountant.AddRemove, Epsilon: f.epsilon, Delta: g.Delta, Mode: ledger.Filter, Noise: g.Noise()},
	}
	file.Expect.Epsilon = f.epsilon
	if cmd.Flags().Changed("delta") {
		file.Expect.Delta = g.Delta
	}
	if cmd.Flags().Changed("unit") || stated {
		file.Expect.Unit = f.unit
	}
	return file
}

func runAnalyzeRelease(cmd *cobra.Command, g *shell.Globals, f releaseFlags, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	m, err := f.analysed(cmd)
	if err != nil {
		return err
	}
	if err := f.checkOut(args); err != nil {
		return err
	}
	stated, err := shell.StatedBeside(args)
	if err != nil {
		return err
	}
	if f.unit, err = stated.Settle(cmd, "unit", f.unit, stated.Unit); err != nil {
		return err
	}
	file := f.file(cmd, g, stated.Unit != "")
	account, _, err := shell.LedgerConfig(file)
	if err != nil {
		return err
	}
	defer f.Close()
	votes, err := f.Open(cmd.Context(), args)
	if err != nil {
		return err
	}
	if err := shell.CheckDelta(account.Delta, votes.Teachers(), "teachers"); err != nil {
		return err
	}
	if votes.Teachers() == 0 {
		return shell.Usagef("votes",
			"--teachers is required with --counts: the number of teachers is public and is not guessed from votes")
	}
	s, err := analysis.NewSanitizer(analysis.SanitizerConfig{
		Mechanism: m, Queries: votes.Queries(), Teachers: votes.Teachers(), Classes: votes.Classes(), Delta: account.Delta,
		Order: f.order, Beta: f.beta, Sigma: f.sigmaSS, Margin: f.margin,
	})
	if err != nil {
		return shell.UsageError("privacy", err)
	}
	r := releaseRun{globals: g, flags: f, file: file, sanitizer: s, votes: votes}
	report, err := r.run(cmd.Context(), onlyHistograms(cmd, votes))
	if err != nil {
		return err
	}
	return writeReleased(g, report)
}
