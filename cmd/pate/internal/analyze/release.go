package analyze

import (
	"cmp"
	"errors"
	"fmt"

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
	flags := cmd.Flags()
	flags.Float64Var(&f.order, "order", 0, "Rényi order of the cost (default: the best if the votes save four fifths of the worst case)")
	flags.Float64Var(&f.beta, "beta", 0, "smoothness of the sensitivity (default 1/(3 order))")
	flags.Float64Var(&f.sigmaSS, "sigma-ss", 0, "standard deviation of the noise, in smooth sensitivities (default: the release costs a "+
		"tenth of the worst case of the queries)")
	flags.Float64Var(&f.margin, "margin", 2, "added so that the number is seldom too low, in standard deviations of the noise")
	flags.StringVar(&f.ledger, "ledger", "", "ledger that charged the answers (required)")
	flags.StringVar(&f.out, "out", "", "JSON file for what is released (required)")
	flags.StringVar(&f.name, "name", "release", "names this release on the ledger")
	flags.Float64Var(&f.epsilon, "epsilon", 0, "the budget of the ledger (required if it is new)")
	flags.StringVar(&f.unit, "unit", "record", "what one teacher alone has seen; record, user, ...: of a new ledger")
	shell.Complete(cmd, map[string]shell.Values{
		"ledger": shell.Files("jsonl"), "out": shell.Files("json"), "name": shell.Anything(), "unit": shell.Suggested("record", "patient", "user"),
	})
	return cmd
}

// check refuses flags without a meaning before files are opened.
func (f *releaseFlags) check(cmd *cobra.Command) error {
	for _, flag := range []struct {
		name  string
		value float64
	}{{"order", f.order}, {"beta", f.beta}, {"sigma-ss", f.sigmaSS}, {"epsilon", f.epsilon}} {
		if cmd.Flags().Changed(flag.name) && !(flag.value > 0) {
			return shell.UsageError("privacy", fmt.Errorf("--%s %v: must be above 0", flag.name, flag.value))
		}
	}
	switch {
	case f.Mechanism == "lnmax":
		return shell.UsageError("mechanisms", errors.New("--mechanism lnmax: its smooth sensitivity is not known; gnmax and confident can "+
			"be released"))
	case f.name == "":
		return shell.UsageError("ledger", errors.New("--name is empty: it names the release on the ledger"))
	}
	return nil
}

// target returns the released file.
func (f *releaseFlags) target() shell.Target {
	return shell.Target{Flag: "--out", Path: f.out, Topic: "ledger"}
}

// checkOut refuses an --out that would overwrite what the release is made from.
func (f *releaseFlags) checkOut(args []string) error {
	out := f.target()
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
		return shell.UsageError("votes", errors.New("--teachers is required with --counts: the number of teachers is public and is not "+
			"guessed from votes"))
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
