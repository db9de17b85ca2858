// Package compare is the command `pate compare`: it compares PATE and DP-SGD on one task.
package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/report"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/run"
)

type compareFlags struct {
	shell.DataFlags
	epsilon, methods, out, learner, features, pool, ranges, silos string
	seeds, teachers                                               int
	noCache, plan, list                                           bool
	typical                                                       shell.TypicalFlags
}

func New(g *shell.Globals) *cobra.Command {
	var f compareFlags
	cmd := shell.Command("compare", "", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return compare(cmd, g, f) })
	f.DataFlags.Add(cmd.Flags())
	f.KeepBytes = true
	f.typical.Add(cmd)
	shell.Declare(cmd.Flags(), "compare", shell.To{"epsilon": &f.epsilon, "seeds": &f.seeds, "out": &f.out, "learner": &f.learner,
		"teachers": &f.teachers, "features": &f.features, "pool": &f.pool, "ranges": &f.ranges,
		"silos": &f.silos, "plan": &f.plan, "list": &f.list, "no-cache": &f.noCache})
	all, more := experiments.Methods(), experiments.OnRequest()
	cmd.Flags().StringVar(&f.methods, "methods", "all",
		"methods, separated by commas; \"all\" stands for "+strings.Join(all, ", ")+"; more methods: "+strings.Join(more, ", "))
	shell.Take("list", slices.Concat([]string{"all"}, all, more)...).Of(cmd.Flag("methods"))
	return cmd
}

func compare(cmd *cobra.Command, g *shell.Globals, f compareFlags) error {
	if f.list {
		return listSets(g)
	}
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
	if !cmd.Flags().Changed("split") && namedsets.Images(f.Data) {
		f.Split = string(dataset.FullTest) // the default split scores a tenth of the test images
	}
	f.WarnUnits(g)
	_ = f.DeltaGate(g, cmd, "private units", 0)
	task, err := f.task()
	if err != nil {
		return err
	}
	units := task.Private.UnitCount()
	g.DefaultDelta(cmd.Flags().Changed, units, "")
	if err := shell.CheckDelta(g.Delta, units, "private units"); err != nil {
		return err
	}
	cfg := experiments.Config{
		Task: task, Epsilons: targets, Delta: g.Delta, Seeds: f.seeds, Methods: f.methodList(), Learner: f.learner,
		Features: f.features, Teachers: f.teachers, Unit: shell.UnitWord("",
			f.Unit), Pool: f.countedPool(), Typical: typical,
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
			Why: "the teachers never agreed clearly enough for this noise; declining reveals something too, so the budget is spent",
			Fix: "raise --epsilon"}
	}
	return nil
}

func (f compareFlags) runIn(cmd *cobra.Command, g *shell.Globals, cfg experiments.Config) (*experiments.Result, error) {
	ctx := cmd.Context()
	id, err := f.identity(cmd, g, cfg.Epsilons)
	if err != nil {
		return nil, err
	}
	cfg.Hash = sync.OnceValue(cfg.Task.Hash)
	return shell.FolderRun[*experiments.Result]{
		Id: id, Out: f.out, Kind: "compare", Data: cfg.Hash, Read: report.Read, Print: printResult,
		Run: func(folder run.Folder) (*experiments.Result, error) {
			bar := shell.NewProgress(g)
			defer bar.Clear()
			cfg.Key, cfg.Dir, cfg.Curves = folder.Key, folder.Path, f.out != ""
			cfg.Progress = func(p experiments.Progress) { bar.Update(p.Stage, p.Done, p.Total) }
			rows := cfg.Task
			rows.Image = dataset.Shape{} // only features of DP-SGD need the care for images
			defer shell.SpareMemory(rows)()
			cfg.Spare = shell.SpareMemory
			return experiments.Compare(ctx, cfg)
		},
		Write: func(dir string, result *experiments.Result) error {
			if err := report.Write(dir, result, f.command(cmd, g, cfg.Epsilons, filepath.Base)); err != nil {
				return err
			}
			page, _ := results.Folder(dir).Result(result.Releasable, "report.html")
			g.Logf("report: %s", page)
			return nil
		},
	}.Do(ctx, g)
}

func printResult(g *shell.Globals, r *experiments.Result) error {
	figures := r.Typical()
	if figures != nil { // the figures are private
		shown := *r
		shown.Releasable, r = false, &shown
	}
	format := g.ParsedFormat()
	if r.Releasable && (format == table.JSON || format == table.CSV) { // as in files: running times were not charged
		r = r.WithoutTimes()
	}
	var methods []string
	for _, row := range r.Rows {
		methods = append(methods, row.Method)
	}
	records, people, below := report.Records(r), report.Table(r), ""
	for line := range strings.Lines(report.Footnotes(r)) {
		below += strings.Join(shell.Folded(line, shell.Columns), "\n") + "\n"
	}
	below += figures.Section(methods)
	figures.AddRecordsTo(&records)
	if format != table.Text {
		figures.AddTo(&people)
		below = "\n" + report.Warning(r) + "\n"
	}
	return g.PrintRun(r, records, people, report.Heading(r), below)
}

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
	id.Silos = f.silos
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

func (f compareFlags) command(cmd *cobra.Command, g *shell.Globals, targets []float64, path func(string) string) string {
	values := map[string]string{"epsilon": shell.TargetsText(targets), "delta": fmt.Sprint(g.Delta), "seed": ""}
	if f.Split != cmd.Flag("split").DefValue {
		values["split"] = f.Split
	}
	if g.Seeded {
		values["seed"] = fmt.Sprint(g.Seed)
	}
	for name, file := range map[string]string{"data": f.Data, "labels": f.Labels, "units": f.Units, "ranges": f.ranges,
		"embeddings": f.Columns.Embeddings} {
		if file != "" && (name != "data" || file != "mnist") {
			values[name] = shell.ShellWord(path(file))
		}
	}
	if f.methods != "all" {
		values["methods"] = f.methods
	}
	names := []string{"data", "label", "unit", "header", "separator", "classes", "class-names", "other-labels", "kind", "labels", "units",
		"drop", "keep", "missing", "text", "embeddings",
		"image-size", "epsilon", "delta", "seeds", "methods", "learner", "teachers", "features", "pool", "ranges", "silos", "split", "quick"}
	return shell.Repeats(cmd, []string{"pate compare"}, slices.Concat(names, shell.TypicalNames(), []string{"seed"}), shell.Differs, values)
}

func (f compareFlags) methodList() []string {
	if f.methods == "all" || f.methods == "" {
		return nil
	}
	return strings.Split(f.methods, ",")
}

func printPlan(ctx context.Context, g *shell.Globals, cfg experiments.Config) error {
	o, err := cfg.Outline(ctx)
	if err != nil {
		return err
	}
	return g.Print(o, func(table.Format) table.Table {
		t := table.Table{Header: []string{"what", "times", "about s", "GB"}, Left: []bool{true}}
		cells := func(what string, times string, seconds, bytes float64) {
			t.Rows = append(t.Rows, []string{what, times, fmt.Sprintf("%.0f", math.Ceil(seconds)), fmt.Sprintf("%.1f", math.Ceil(bytes/1e8)/10)})
		}
		for _, s := range o.Steps {
			cells(s.What, fmt.Sprint(s.Times), s.Seconds, s.Bytes)
		}
		cells("all", "", o.Seconds, o.Bytes)
		return t
	})
}

const poolRows = "rows"

func (f compareFlags) drawnPool() bool { return f.pool != poolRows }

func (f compareFlags) countedPool() string {
	if f.pool == experiments.PoolMarginals || f.pool == experiments.PoolTree {
		return f.pool
	}
	return ""
}

func (f compareFlags) task() (dataset.Task, error) {
	switch {
	case f.drawnPool() && f.ranges == "":
		return dataset.Task{}, &shell.CommandError{Code: shell.ExitUsage, What: fmt.Errorf("--pool %s needs --ranges", f.pool),
			Why: "without public rows, the values of a column must be declared, because private rows may not reveal them",
			Fix: "give --ranges FILE, with a line like age,17..90 or sex,Female,Male for each column", Topic: "data"}
	case !f.drawnPool() && f.ranges != "":
		return dataset.Task{}, shell.UsageError("data", fmt.Errorf("--ranges %s needs --pool %s, %s or %s", f.ranges, experiments.PoolNone,
			experiments.PoolMarginals, experiments.PoolTree))
	}
	opt, err := f.Options()
	if err != nil {
		return dataset.Task{}, err
	}
	opt.CSV.Silo = f.silos
	if f.drawnPool() {
		if opt.Ranges, err = dataset.ReadRanges(f.ranges); err != nil {
			return dataset.Task{}, shell.FaultError(err, "data")
		}
	}
	return f.TaskOf(opt)
}

func (f compareFlags) poolIdentity() (pool, ranges string, err error) {
	if !f.drawnPool() {
		return "", "", nil
	}
	ranges, err = shell.WholePath(f.ranges)
	return f.pool, ranges, err
}
