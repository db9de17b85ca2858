package tune

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/run"
)

// run carries out the command.
func (f *flags) run(cmd *cobra.Command, g *shell.Globals) error {
	if err := f.check(cmd); err != nil {
		return shell.UsageError("tune", err)
	}
	if !f.plan {
		if err := shell.CheckFolder(g, cmd, f.out); err != nil {
			return err
		}
	}
	task, err := f.data.Task()
	if err != nil {
		return err
	}
	shape := recipe.ShapeOf(task)
	if f.size > 0 {
		shape.Records = f.size
	}
	cfg := tuned.Config{
		Task: task, Records: f.size, Delta: g.Delta, Epsilon: f.epsilon, Unit: shell.UnitWord(f.unitName, f.data.Unit),
		Private: f.private(shape.Records), Every: f.constant, Workers: f.workers,
	}
	if f.ledger != "" {
		if cfg.Shared, err = f.shared(cmd, g, cfg.Unit, task.Waived()); err != nil {
			return err
		}
		cfg.Delta, cfg.Epsilon = cfg.Shared.Account.Delta, f.spend
	}
	if err := shell.CheckDelta(cfg.Delta, shape.Records, "private records"); err != nil {
		return err
	}
	aim := cfg.Epsilon
	if aim == 0 {
		aim = cfg.Shared.Account.Epsilon
	}
	cfg.Base = f.base(shape, aim)
	if cfg.Settings, err = f.settings.read(cmd, cfg.Base); err != nil {
		return err
	}
	runs := f.runs
	if runs == 0 {
		runs = float64(max(2, len(cfg.Settings)))
	}
	if cfg.Law, err = parseLaw(f.law, runs); err != nil {
		return shell.UsageError("tune", fmt.Errorf("--law %s, --runs %v: %w", f.law, runs, err))
	}
	if err := cfg.Validate(); err != nil {
		return explain(err)
	}
	if f.plan {
		return explain(printPlan(cmd.Context(), g, cfg, runs))
	}
	if !f.noCache {
		cfg.Cache = shell.FeatureCache(func(text string) { g.Logf("%s", text) })
	}
	if f.ledger != "" {
		begun, err := durable.Exists(results.Folder(f.out).Config())
		if err == nil && !begun {
			err = cfg.TryLedger(cmd.Context())
		}
		if err != nil {
			return explain(err)
		}
	}
	shell.ReadTaskAloud(g, task)
	shell.SayRecords(g, recipe.Config{Task: task, Records: f.size})
	return explain(f.runIn(cmd.Context(), g, cfg, f.command(cmd)))
}

// explain adds to an error what a person can do about it.
func explain(err error) error {
	switch {
	case errors.Is(err, tuned.ErrCostsDiffer):
		return shell.InputError(err, "every run must cost the same, since the ledger is charged before it is drawn which settings are run",
			"give settings with features that learn the same statistics", "tune")
	case errors.Is(err, recipe.ErrBudget):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err,
			Why: "no noise of the training brings the whole within the budget; nothing was spent",
			Fix: "raise --epsilon or --score-noise, or ask for fewer --runs", Topic: "tune"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err, Why: "all of a search is charged before its first run; nothing was spent",
			Fix: "leave --spend out to take what is left, or name another ledger", Topic: "tune"}
	case errors.Is(err, tuned.ErrConfig):
		return shell.UsageError("tune", err)
	}
	return shell.TrainingError(err)
}

// shared returns the ledger of --ledger.
func (f *flags) shared(cmd *cobra.Command, g *shell.Globals, unit string, waived []string) (*recipe.Shared, error) {
	epsilon := 0.0
	if cmd.Flags().Changed("epsilon") {
		epsilon = f.epsilon
	}
	shared, err := g.ModelLedger(cmd, "tune", f.ledger, f.mode, unit, epsilon, waived)
	if err == nil && shared.Account.Method() != accountant.ByRDP {
		return nil, shell.InputError(fmt.Errorf("%s claims by %s", f.ledger, shared.Account.Accountant),
			"a search is bounded by Rényi divergences alone", "name a ledger whose accountant is rdp", "ledger")
	}
	return shared, err
}

// runIn searches in the run's folder and prints the choice. The run is a function of the data, the command line, and
// the settings that a file holds.
func (f *flags) runIn(ctx context.Context, g *shell.Globals, cfg tuned.Config, command string) error {
	data, err := f.data.Where()
	if err != nil {
		return err
	}
	var result *tuned.Result
	return shell.FolderRun{
		Id: g.CommandLine("tune", data, command, cfg.Settings), Dir: f.out, Keep: true, Data: cfg.Task.Hash,
		Read: func() error { result, err = readResult(f.out); return err },
		Run: func(folder run.Folder) error {
			g.Logf("searching; how far it is would tell how many runs there are, and is not shown")
			cfg.Key, cfg.Dir = folder.Key, folder.Path
			result, err = tuned.Run(ctx, cfg)
			return err
		},
		Write: func() error { return writeResult(f.out, result) },
		Print: func() error {
			if err := printResult(g, result); err != nil || result.Chosen != nil {
				return err
			}
			return &shell.CommandError{Code: shell.ExitAllDeclined, What: errors.New("the number of runs was drawn as 0, and nothing was chosen"),
				Why: "the law allows for it, and the search is charged all the same", Fix: "a geometric law has one run at least", Topic: "tune"}
		},
	}.Do(ctx, g)
}
