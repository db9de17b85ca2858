package label

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/silos"
	"github.com/pate-go/pate/run"
)

var flagsOfSilos = []string{"mechanism", "sigma", "silos-per-unit", "epsilon", "ledger", "out", "unit", "relation", "mode", "accountant",
	"seed", "delta", "format", "quiet"}

func (f *labelFlags) ofSilos() bool { return f.Mechanism == silos.Mechanism }

func (f *labelFlags) checkSilos(cmd *cobra.Command) error {
	var other string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(flagsOfSilos, flag.Name) {
			other = flag.Name
		}
	})
	given := cmd.Flags().Changed
	return shell.Refuse("mechanisms",
		shell.If(other != "", "--%s is not for --mechanism %s, which reads files of pate votes nearest", other, silos.Mechanism),
		shell.Positive(given("epsilon"), "epsilon", f.epsilon), shell.Positive(given("sigma"), "sigma", f.Value("sigma")),
		shell.If(given("silos-per-unit") && f.perUnit < 1, "--silos-per-unit %d: must be at least 1", f.perUnit),
		shell.If(f.relation != accountant.AddRemove.String(), "--relation %s: votes at the nearest questions need add_remove", f.relation),
		shell.If(f.mode == "filter" && given("mode") && f.accountant == "pld", "--accountant pld needs --mode reserved"),
		shell.If(!strings.EqualFold(filepath.Ext(f.out), ".csv"), "--out %s: must end in .csv, because noisy counts stand beside the labels", f.out))
}

func (f *labelFlags) runSilos(cmd *cobra.Command, g *shell.Globals, args []string) error {
	if err := f.checkSilos(cmd); err != nil {
		return err
	}
	paths, err := shell.Matches("VOTES", args)
	if err != nil {
		return err
	}
	sum, err := silos.Add(paths)
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	if cmd.Flags().Changed("unit") && f.unit != sum.Unit {
		return shell.Usagef("votes", "--unit %s: the silos cast votes of each %s", f.unit, sum.Unit)
	}
	f.unit, f.stated.Unit = sum.Unit, sum.Unit
	g.DefaultDelta(cmd.Flags().Changed, sum.Size, f.ledger)
	c, err := f.config(cmd, g, aggregate.Setting{Mechanism: silos.Mechanism})
	if err != nil {
		return err
	}
	file := run.File{Path: c.Ledger, New: c.Account, Expect: c.Expect, Warn: c.Warn}
	file.Expect.Relation = accountant.AddRemove
	if f.Value("sigma") == 0 && !cmd.Flags().Changed("mode") {
		if _, fresh, err := file.Look(); err == nil && fresh {
			file.New.Mode = ledger.Reserved // the noise spends the whole budget
		}
	}
	result, err := silos.Release(cmd.Context(), silos.Config{Sum: sum, SilosPerUnit: f.perUnit, Sigma: f.Value("sigma"),
		Ledger: file, Out: f.out, Seed: c.Seed})
	if err != nil {
		var over *ledger.BudgetError
		if errors.As(err, &over) {
			return &shell.CommandError{Code: shell.ExitOverBudget, What: over, Topic: "privacy", Why: "nothing was charged or written",
				Fix: "omit --sigma, or choose a ledger with more budget"}
		}
		return shell.FaultError(err, "votes")
	}
	f.tell(g, result)
	g.Logf("%s is %s", f.out, nearby.ForTraining)
	return writeReport(g, result, nil)
}
