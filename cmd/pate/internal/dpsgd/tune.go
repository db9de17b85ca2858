package dpsgd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/tuned"
	"github.com/pate-go/pate/run"
)

type tuneFlags struct {
	modelFlags
	settings                                     settingFlags
	law, score                                   string
	steps                                        int
	epsilon, runs, batch, scoreShare, scoreNoise float64
	constant                                     time.Duration
	plan                                         bool
}

func newTune(g *shell.Globals) *cobra.Command {
	f := tuneFlags{settings: newSettingFlags()}
	cmd := shell.Command("tune", "", noStudents, func(cmd *cobra.Command, _ []string) error { return f.run(cmd, g) })
	f.add(cmd.Flags())
	to := shell.To{"epsilon": &f.epsilon, "law": &f.law, "runs": &f.runs, "steps": &f.steps, "batch": &f.batch,
		"settings": &f.settings.file, "score": &f.score, "score-share": &f.scoreShare, "score-noise": &f.scoreNoise,
		"constant-time": &f.constant, "plan": &f.plan}
	for i := range f.settings.lists {
		to[f.settings.lists[i].flag] = &f.settings.lists[i].values
	}
	shell.Declare(cmd.Flags(), "dpsgd tune", to)
	return cmd
}

const tuneTopic = "dpsgd tune"

func noStudents(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || args[0] != "student" {
		return cobra.NoArgs(cmd, args)
	}
	return &shell.CommandError{Code: shell.ExitUsage, What: errors.New("pate dpsgd tune does not tune students"),
		Why: "choosing a student by released labels costs nothing; scoring a student on private rows would be another release",
		Fix: "use pate student PUBLIC --labels LABELS --out MODEL, which compares kinds of students by cross-validation", Topic: tuneTopic}
}

func (f *tuneFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	positive := func(name string, x float64) error { return shell.Positive(given(name), name, x) }
	if err := errors.Join(positive("epsilon", f.epsilon), positive("runs", f.runs), positive("batch", f.batch), positive("spend", f.spend),
		positive("score-share", f.scoreShare), positive("score-noise", f.scoreNoise), positive("steps", float64(f.steps)),
		positive("constant-time", f.constant.Seconds())); err != nil {
		return err
	}
	if err := shell.CheckUnits(given, f.size, 1); err != nil {
		return err
	}
	return cmp.Or(
		shell.If(f.score != "private" && (given("score-share") || given("score-noise")),
			"--score-share and --score-noise need --score private; scores on public rows need no noise"),
		shell.If(f.ledger == "" && (given("spend") || given("mode")),
			"--spend and --mode need --ledger; if there is no ledger, --epsilon is the cost of the search"),
		shell.If(f.plan && f.ledger != "", "--plan reads no ledger: give the budget of the search as --epsilon"),
		shell.If(f.plan && f.out != "", "--plan writes nothing: omit --out"),
		shell.If(!f.plan && f.out == "", "--out is required, because a model that costs budget must be saved; only --plan needs no --out"),
	)
}

func (f *tuneFlags) base(s recipe.Shape, epsilon float64) recipe.Recipe {
	r := recipe.Default(s, f.features, f.model, epsilon)
	shell.Put(f.steps > 0, &r.Train.Steps, f.steps)
	shell.Put(f.batch > 0, &r.Train.SamplingProbability, math.Min(1, f.batch/float64(s.Records)))
	return r
}

func (f *tuneFlags) private(records int) *tuned.Private {
	if f.score != "private" {
		return nil
	}
	p := tuned.DefaultPrivate(records)
	if f.scoreShare != 0 {
		p = tuned.DefaultPrivate(int(float64(records) * f.scoreShare / p.Share))
		p.Share = f.scoreShare
	}
	shell.Put(f.scoreNoise != 0, &p.Sigma, f.scoreNoise)
	return p
}

func (f *tuneFlags) names() []string {
	return slices.Concat(slices.Insert(f.data.Names(), 3, "unit-name"), []string{"size", "epsilon", "delta", "law", "runs", "features",
		"model", "steps", "batch"},
		f.settings.names(), []string{"score", "score-share", "score-noise", "constant-time", "ledger", "mode", "spend", "seed"})
}

func (f *tuneFlags) command(cmd *cobra.Command) string {
	return shell.Repeats(cmd, []string{"pate dpsgd tune"}, f.names(), shell.Given, nil)
}

func (f *tuneFlags) run(cmd *cobra.Command, g *shell.Globals) error {
	if err := f.check(cmd); err != nil {
		return shell.UsageError(tuneTopic, err)
	}
	if !f.plan {
		if err := shell.CheckFolder(g, cmd, f.out); err != nil {
			return err
		}
	}
	if err := f.data.DeltaGate(g, cmd, "private records", f.size); err != nil {
		return err
	}
	task, err := f.data.Task(g)
	if err != nil {
		return err
	}
	shape := recipe.ShapeOf(task)
	shell.Put(f.size > 0, &shape.Records, f.size)
	g.DefaultDelta(cmd.Flags().Changed, shape.Records, f.ledger)
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
		return shell.UsageError(tuneTopic, fmt.Errorf("--law %s: %w", f.law, err))
	}
	if err := cfg.Validate(); err != nil {
		return tuneError(err)
	}
	if f.plan {
		return tuneError(printPlan(cmd.Context(), g, cfg, runs))
	}
	cfg.Cache = f.cache(g)
	if f.ledger != "" {
		if err := shell.Fits(cmd.Context(), f.out, cfg.TryLedger); err != nil {
			return tuneError(err)
		}
	}
	shell.ReadTaskAloud(g, task)
	shell.SayRecords(g, recipe.Config{Task: task, Records: f.size})
	return tuneError(f.runIn(cmd.Context(), g, cfg, f.command(cmd)))
}

func tuneError(err error) error {
	return shell.TrainingError(shell.Remedied(err, []shell.Remedy{
		{Of: tuned.ErrCostsDiffer, Code: shell.ExitInvalidInput, Topic: tuneTopic,
			Why: "all settings must cost the same, because the ledger is charged before a setting is drawn",
			Fix: "give settings with features that learn the same statistics"},
		{Of: recipe.ErrBudget, Code: shell.ExitOverBudget, Topic: tuneTopic,
			Why: "even the largest training noise does not bring the total within the budget; nothing was spent",
			Fix: "raise --epsilon or --score-noise, or use fewer --runs"},
		{Of: ledger.ErrBudgetExceeded, Code: shell.ExitOverBudget, Topic: tuneTopic,
			Why: "the whole search must fit the budget before the first run; nothing was spent",
			Fix: "omit --spend to use the rest of the budget, or choose another ledger"},
		{Of: tuned.ErrConfig, Code: shell.ExitUsage, Topic: tuneTopic},
	}))
}

func (f *tuneFlags) shared(cmd *cobra.Command, g *shell.Globals, unit string, waived []string) (*recipe.Shared, error) {
	epsilon := 0.0
	shell.Put(cmd.Flags().Changed("epsilon"), &epsilon, f.epsilon)
	shared, err := g.ModelLedger(cmd, tuneTopic, f.ledger, f.mode, unit, epsilon, waived)
	if err == nil && shared.Account.Method() != accountant.ByRDP {
		return nil, shell.InputError(fmt.Errorf("the accountant of %s is %s", f.ledger, shared.Account.Accountant),
			"only Rényi divergences bound the cost of a search", "choose a ledger whose accountant is rdp", "ledger")
	}
	return shared, err
}

func (f *tuneFlags) runIn(ctx context.Context, g *shell.Globals, cfg tuned.Config, command string) error {
	data, err := f.data.Where()
	if err != nil {
		return err
	}
	_, err = shell.FolderRun[*tuned.Result]{
		Id: g.CommandLine("tune", data, command, cfg.Settings), Out: f.out, Data: cfg.Task.Hash, Read: readTuned, Write: writeTuned,
		Run: func(folder run.Folder) (*tuned.Result, error) {
			g.Logf("searching; progress is not shown, because it would reveal the number of runs")
			cfg.Key, cfg.Dir = folder.Key, folder.Path
			return tuned.Run(ctx, cfg)
		},
		Print: func(g *shell.Globals, result *tuned.Result) error {
			if err := printTuned(g, result); err != nil || result.Chosen != nil {
				return err
			}
			return &shell.CommandError{Code: shell.ExitAllDeclined, What: errors.New("the random number of runs was 0, so nothing was chosen"),
				Why: "this law allows 0 runs, and the search is still charged", Fix: "a geometric law has at least one run", Topic: tuneTopic}
		},
	}.Do(ctx, g)
	return err
}
