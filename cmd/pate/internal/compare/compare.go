// Package compare is the command `pate compare`: PATE and DP-SGD head to head on one task.
package compare

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/report"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

// compareFlags are the flags of `pate compare`.
type compareFlags struct {
	shell.DataFlags
	epsilon  string
	seeds    int
	methods  string
	out      string
	learner  string
	teachers int
	features string
	noCache  bool
	plan     bool
	pool     string
	ranges   string
	typical  shell.TypicalFlags
}

func New(g *shell.Globals) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:  "compare",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return compare(cmd, g, f) },
	}
	flags := cmd.Flags()
	f.DataFlags.Add(flags)
	flags.StringVar(&f.epsilon, "epsilon", "2", "target of every private method; several with commas are a run each")
	flags.IntVar(&f.seeds, "seeds", 1, "independent runs; more than one gives mean and sd")
	flags.StringVar(&f.methods, "methods", "all", "with commas; "+strings.Join(experiments.Methods(),
		", ")+"; not part of all: "+strings.Join(experiments.OnRequest(), ", "))
	flags.StringVar(&f.out, "out", "", "folder of results, plots and report.html; what may be published lies in its folder public, all else "+
		"in private")
	flags.StringVar(&f.learner, "learner", "", "kind of the teachers; "+strings.Join(experiments.Learners(),
		", ")+" (default: forest for tables, kernel-ridge otherwise)")
	flags.IntVar(&f.teachers, "teachers", 0, "number of teachers (default: by the number of private records)")
	flags.StringVar(&f.features, "features", "", "features of images; "+strings.Join(features.Names(), ", ")+" (default: by the data)")
	flags.StringVar(&f.pool, "pool", poolRows, "what questions are about: rows (a fifth of the table), or without public rows none "+
		"(declared ranges) or marginals (drawn from noisy marginals, charged)")
	flags.StringVar(&f.ranges, "ranges", "", "ranges of all columns, without public rows; ranges and categories, FILE.csv, with --pool none "+
		"or marginals (pate help data)")
	f.typical.Add(cmd)
	f.DataFlags.Complete(cmd)
	shell.Complete(cmd, map[string]shell.Values{
		"methods": shell.WordList(slices.Concat([]string{"all"}, experiments.Methods(), experiments.OnRequest())...), "out": shell.Folder(),
		"pool": shell.Words(pools()...), "ranges": shell.Files("csv"),
		"learner": shell.Words(experiments.Learners()...), "features": shell.Words(features.Names()...), "epsilon": shell.Anything(),
	})
	flags.BoolVar(&f.plan, "plan", false, "print what would be done, its time and memory; nothing is trained or charged")
	flags.BoolVar(&f.noCache, "no-cache", false, "compute features of images anew and keep none: else those of DP-SGD, about 1.9 GB for "+
		"MNIST, in pate/features of the user's cache")
	return cmd
}

func compare(cmd *cobra.Command, g *shell.Globals, f compareFlags) error {
	targets, err := shell.Targets(f.epsilon)
	if err != nil {
		return shell.UsageError("", err)
	}
	typical, err := f.typical.Read(cmd)
	if err != nil {
		return err
	}
	if f.out != "" && !f.plan {
		if err := shell.CheckFolder(g, cmd, f.out); err != nil {
			return err
		}
	}
	task, err := f.task()
	if err != nil {
		return err
	}
	if err := shell.CheckDelta(g.Delta, task.Private.UnitCount(), "private units"); err != nil {
		return err
	}
	cfg := experiments.Config{
		Task: task, Epsilons: targets, Delta: g.Delta, Seeds: f.seeds, Methods: f.methodList(), Learner: f.learner,
		Features: f.features, Teachers: f.teachers, Unit: shell.UnitWord("",
			f.Unit), Marginals: f.pool == experiments.PoolMarginals, Typical: typical,
	}
	if !f.noCache {
		cfg.Cache = shell.FeatureCache(func(text string) { g.Logf("%s", text) })
	}
	if err := cfg.Validate(); err != nil {
		return shell.UsageError("", err)
	}
	if f.plan {
		return printPlan(cmd.Context(), g, cfg)
	}
	shell.ReadTaskAloud(g, task)
	result, err := f.runIn(cmd, g, cfg)
	if errors.Is(err, recipe.ErrBudget) {
		return shell.TrainingError(err)
	}
	if err != nil {
		return err
	}
	if result.AllDeclined() {
		return &shell.CommandError{Code: shell.ExitAllDeclined, What: errors.New("every query was declined"),
			Why: "the teachers never agreed clearly enough for this noise; declining is an answer, so the budget is spent",
			Fix: "raise --epsilon"}
	}
	return nil
}

// runIn runs the comparison in its folder and prints the result.
func (f compareFlags) runIn(cmd *cobra.Command, g *shell.Globals, cfg experiments.Config) (*experiments.Result, error) {
	ctx := cmd.Context()
	id, err := f.identity(cmd, g, cfg.Epsilons)
	if err != nil {
		return nil, err
	}
	dir, keep, err := shell.RunFolder(f.out, "compare-"+id.Name())
	if err != nil {
		return nil, err
	}
	var result *experiments.Result
	err = shell.FolderRun{
		Id: id, Dir: dir, Keep: keep, Data: cfg.Task.Hash,
		Read: func() error { result, err = report.Read(dir); return err },
		Run: func(folder run.Folder) error {
			bar := shell.NewProgress(g)
			defer bar.Clear()
			cfg.Key, cfg.Dir, cfg.Curves = folder.Key, folder.Path, keep
			cfg.Progress = func(p experiments.Progress) { bar.Update(p.Stage, p.Done, p.Total) }
			defer shell.SpareMemory(cfg.Task)()
			result, err = experiments.Compare(ctx, cfg)
			return err
		},
		Write: func() error {
			if err := report.Write(dir, result, f.command(cmd, g, cfg.Epsilons, filepath.Base)); err != nil {
				return err
			}
			page, _ := results.Folder(dir).Result(result.Releasable, "report.html")
			g.Logf("report: %s", page)
			return nil
		},
		Print: func() error { return printResult(g, result) },
	}.Do(ctx, g)
	return result, err
}

// printResult writes the table, or the JSON of the contract, to stdout.
func printResult(g *shell.Globals, r *experiments.Result) error {
	figures := r.Typical()
	if figures != nil { // what is shown is private
		shown := *r
		shown.Releasable, r = false, &shown
	}
	format := g.ParsedFormat()
	if r.Releasable && (format == table.JSON || format == table.CSV) { // as in files: times were charged nowhere
		r = r.WithoutTimes()
	}
	var methods []string
	for _, row := range r.Rows {
		methods = append(methods, row.Method)
	}
	records, people, below := report.Records(r), report.Table(r), report.Footnotes(r)+figures.Section(methods)
	figures.AddRecordsTo(&records)
	if format != table.Text {
		figures.AddTo(&people)
		below = "\n" + report.Warning(r) + "\n"
	}
	return g.PrintRun(r, records, people, report.Heading(r), below)
}

// identity returns the identity of the run: all that its outcome depends on.
func (f compareFlags) identity(cmd *cobra.Command, g *shell.Globals, targets []float64) (run.Identity, error) {
	data, err := f.DataFlags.Identity()
	if err != nil {
		return run.Identity{}, err
	}
	id := experiments.Identity{
		Data: data, Split: f.Split,
		Epsilon: targets[0], Delta: g.Delta, Seeds: f.seeds, Learner: f.learner, Features: f.features,
		Teachers: f.teachers, Methods: f.methodList(), Quick: f.Quick, Typical: shell.Repeats(cmd, nil, shell.TypicalNames(), shell.Differs, nil),
	}
	if len(targets) > 1 {
		id.Epsilons = targets
	}
	if id.Pool, id.Ranges, err = f.poolIdentity(); err != nil {
		return run.Identity{}, err
	}
	if g.Seeded {
		id.Seed = fmt.Sprint(g.Seed)
	}
	command := f.command(cmd, g, targets, func(path string) string { return path })
	return run.Identity{Kind: "pate.run/1", Settings: id, Command: command}, nil
}

// command returns the command line that repeats the run, with files as path writes them.
func (f compareFlags) command(cmd *cobra.Command, g *shell.Globals, targets []float64, path func(string) string) string {
	values := map[string]string{"epsilon": shell.TargetsText(targets), "delta": fmt.Sprint(g.Delta), "seed": ""}
	if g.Seeded {
		values["seed"] = fmt.Sprint(g.Seed)
	}
	for name, file := range map[string]string{"data": f.Data, "labels": f.Labels, "units": f.Units, "ranges": f.ranges} {
		if file != "" && (name != "data" || file != "mnist") {
			values[name] = shell.ShellWord(path(file))
		}
	}
	if f.methods != "all" {
		values["methods"] = f.methods
	}
	names := []string{"data", "label", "unit", "header", "separator", "classes", "class-names", "other-labels", "kind", "labels", "units",
		"drop", "keep",
		"image-size", "epsilon", "delta", "seeds", "methods", "learner", "teachers", "features", "pool", "ranges", "split", "quick"}
	return shell.Repeats(cmd, []string{"pate compare"}, slices.Concat(names, shell.TypicalNames(), []string{"seed"}), shell.Differs, values)
}

func (f compareFlags) methodList() []string {
	if f.methods == "all" || f.methods == "" {
		return nil
	}
	return strings.Split(f.methods, ",")
}
