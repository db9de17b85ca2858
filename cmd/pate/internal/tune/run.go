package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/experiments"
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
		Task: task, Records: f.size, Delta: g.Delta, Epsilon: f.epsilon, Unit: f.unitWord(),
		Private: f.private(shape.Records), Every: f.constant, Workers: f.workers,
	}
	fresh := false
	if f.ledger != "" {
		if cfg.Shared, fresh, err = f.shared(cmd, g, task.Waived()); err != nil {
			return err
		}
		cfg.Delta, cfg.Epsilon = cfg.Shared.Account.Delta, f.spend
	}
	if !(cfg.Delta < 1/float64(shape.Records)) {
		return shell.InputError(fmt.Errorf("delta %g is not below 1/%d", cfg.Delta, shape.Records),
			"a delta of one over the number of private records allows giving one of them away whole",
			fmt.Sprintf("use --delta %.0e or less", 0.1/float64(shape.Records)), "privacy")
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
			err = cfg.TryLedger(cmd.Context(), fresh)
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
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err, Why: "no noise of the training brings the whole within the budget; nothing was spent",
			Fix: "raise --epsilon or --score-noise, or ask for fewer --runs", Topic: "tune"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err, Why: "all of a search is charged before its first run; nothing was spent",
			Fix: "leave --spend out to take what is left, or name another ledger", Topic: "tune"}
	case errors.Is(err, tuned.ErrConfig):
		return shell.UsageError("tune", err)
	case errors.Is(err, tuned.ErrOtherRun):
		return shell.InputError(err, "its key, ledger and searches belong to that run; mixing the two would spend unseen",
			"choose another --out, or repeat that command", "tune")
	}
	return shell.TrainingError(err)
}

// shared returns the ledger of --ledger.
func (f *flags) shared(cmd *cobra.Command, g *shell.Globals, waived []string) (shared *recipe.Shared, fresh bool, err error) {
	var mode ledger.Mode
	if err := mode.UnmarshalText([]byte(f.mode)); err != nil {
		return nil, false, shell.UsageError("tune", fmt.Errorf("--mode %q: must be filter or reserved", f.mode))
	}
	made := ledger.Config{Unit: f.unitWord(), Relation: accountant.AddRemove, Delta: g.Delta, Mode: mode, Noise: g.Noise(), Waived: waived}
	given := cmd.Flags().Changed
	if given("epsilon") {
		made.Epsilon = f.epsilon
	}
	file := run.File{Path: f.ledger, New: made, Warn: g.Warn}
	file.Expect.Epsilon = made.Epsilon
	if given("delta") {
		file.Expect.Delta = g.Delta
	}
	if given("mode") {
		file.Expect.Mode = &mode
	}
	account, fresh, err := shell.LedgerConfig(file)
	switch {
	case err != nil:
		return nil, false, err
	case account.Unit != f.unitWord():
		return nil, false, shell.InputError(fmt.Errorf("%s is for one %s, and this model for one %s", f.ledger, account.Unit, f.unitWord()),
			"a unit has one row here, or a column that names it", "name the column with --unit, and what it is called with --unit-name", "ledger")
	case account.Relation != accountant.AddRemove:
		return nil, false, shell.InputError(fmt.Errorf("%s is for relation %v", f.ledger, account.Relation),
			"DP-SGD is accounted for records added or removed alone", "name another ledger", "ledger")
	case account.Method() != accountant.ByRDP:
		return nil, false, shell.InputError(fmt.Errorf("%s claims by %s", f.ledger, account.Accountant),
			"a search is bounded by Rényi divergences alone", "name a ledger whose accountant is rdp", "ledger")
	}
	return &recipe.Shared{File: file, Account: account}, fresh, nil
}

// identity says what the run is a function of: the command line, and the settings that a
// file holds.
func (f *flags) identity(g *shell.Globals, cfg tuned.Config, command string) (run.Identity, error) {
	data, err := f.data.Where()
	if err != nil {
		return run.Identity{}, err
	}
	settings, err := json.Marshal(cfg.Settings)
	if err != nil {
		return run.Identity{}, err
	}
	id := experiments.Identity{
		Schema: "pate.tune.run/1", Data: data, Split: f.data.Split, Epsilon: cfg.Epsilon, Delta: cfg.Delta, Seeds: 1, Features: f.features,
		Methods: []string{command, string(settings)}, Quick: f.data.Quick, Command: command,
	}
	if g.Seeded {
		id.Seed = fmt.Sprint(g.Seed)
	}
	return id.Run(), nil
}

// runIn searches in the run's folder and prints what was chosen.
func (f *flags) runIn(ctx context.Context, g *shell.Globals, cfg tuned.Config, command string) error {
	id, err := f.identity(g, cfg, command)
	if err != nil {
		return err
	}
	var result *tuned.Result
	return shell.FolderRun{
		Id: id, Dir: f.out, Keep: true, Data: cfg.Task.Hash,
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
