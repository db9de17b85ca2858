package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd/recipe"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/report"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/table"
)

// compareFlags are the flags of `pate compare`.
type compareFlags struct {
	dataFlags
	epsilon  float64
	seeds    int
	methods  string
	out      string
	learner  string
	teachers int
	features string
	noCache  bool
}

func newCompareCommand(g *globals) *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "PATE and DP-SGD on one task, at one epsilon",
		Long: `Train teachers on disjoint parts of the private data, let them vote on public
examples, release noisy labels, train a student on them; beside it train a model
by DP-SGD, as pate dpsgd does, on the same private data. Both at the same epsilon and
delta, scored on the same test rows. Three rows that protect nothing
show where accuracy is lost: the model without privacy, the teachers' vote
without noise, a student on true labels.

Stability methods, which release the plurality where many votes would have to move
and refuse elsewhere, are run when they are named and are not part of "all": for the
few hundred queries of a comparison they lose (pate plan table says when they win).

Without arguments: the embedded MNIST at epsilon 2. An interrupted run goes on
where it stopped when the same command is given again.

Every run is a budget of its own: three runs on the same records cost what three
budgets compose to. With --out the ledgers stay, and nothing is spent twice on
the same command; without it nothing is kept, the ledgers included.`,
		Example: `  pate compare                                  # MNIST, about two minutes
  pate compare --epsilon 1 --seeds 3 --out run  # mean of three, with a report
  pate compare --data fashion-mnist             # Debian: dataset-fashion-mnist
  pate compare --data patients.csv --label outcome --unit patient_id`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return compare(cmd.Context(), g, f) },
	}
	flags := cmd.Flags()
	f.dataFlags.add(flags)
	flags.Float64Var(&f.epsilon, "epsilon", 2, "target of every private method")
	flags.IntVar(&f.seeds, "seeds", 1, "independent runs; more than one gives mean and sd")
	flags.StringVar(&f.methods, "methods", "all", "comma-separated: "+strings.Join(experiments.Methods(), ", ")+"; not part of all: "+strings.Join(experiments.OnRequest(), ", "))
	flags.StringVar(&f.out, "out", "", "write results, plots, ledger and report.html into this folder")
	flags.StringVar(&f.learner, "learner", experiments.KernelRidge, "what the teachers are: "+strings.Join(experiments.Learners(), ", "))
	flags.IntVar(&f.teachers, "teachers", 0, "number of teachers (default: by the number of private records)")
	flags.StringVar(&f.features, "features", "", strings.Join(features.Names(), ", ")+" (default: by the data)")
	flags.BoolVar(&f.noCache, "no-cache", false, "compute features of images anew and keep none: else those of DP-SGD, about 1.9 GB for MNIST, in pate/features of the user's cache")
	return cmd
}

func compare(ctx context.Context, g *globals, f compareFlags) error {
	task, err := f.task()
	if err != nil {
		return err
	}
	if n := task.Private.UnitCount(); !(g.delta < 1/float64(n)) {
		return inputError(fmt.Errorf("delta %g is not below 1/%d", g.delta, n),
			"a delta of one over the number of private units allows giving one of them away whole",
			fmt.Sprintf("use --delta %.0e or less", 0.1/float64(n)), "privacy")
	}
	cfg := experiments.Config{
		Task: task, Epsilon: f.epsilon, Delta: g.delta, Seeds: f.seeds, Methods: f.methodList(), Learner: f.learner,
		Features: f.features, Teachers: f.teachers, Unit: f.unitName(),
	}
	if !f.noCache {
		cfg.Cache = &features.Cache{Warn: func(err error) { g.logf("%v", err) }}
	}
	if err := cfg.Validate(); err != nil {
		return usageError("", err)
	}
	result, err := f.runIn(ctx, g, cfg)
	if errors.Is(err, recipe.ErrBudget) {
		return dpsgdError(err)
	}
	if err != nil {
		return err
	}
	if result.AllDeclined() {
		return &commandError{code: exitAllDeclined, what: errors.New("every query was declined"),
			why: "the teachers never agreed clearly enough for this noise; declining is an answer, so the budget is spent",
			fix: "raise --epsilon"}
	}
	return nil
}

// runIn runs the comparison in its folder and prints the result.
func (f compareFlags) runIn(ctx context.Context, g *globals, cfg experiments.Config) (*experiments.Result, error) {
	id, err := f.identity(g)
	if err != nil {
		return nil, err
	}
	dir, keep, err := home(f.out, "compare-"+id.Name())
	if err != nil {
		return nil, err
	}
	var result *experiments.Result
	err = folderRun{
		id: id, dir: dir, keep: keep, data: cfg.Task.Hash(),
		read: func() error { result, err = report.Read(dir); return err },
		run: func(folder experiments.Folder) error {
			bar := newProgress(g)
			defer bar.clear()
			cfg.Key, cfg.Dir, cfg.Curves = folder.Key, folder.Path, keep
			cfg.Progress = func(p experiments.Progress) { bar.update(p.Stage, p.Done, p.Total) }
			result, err = experiments.Compare(ctx, cfg)
			return err
		},
		write: func() error {
			if err := report.Write(dir, result, id.Command); err != nil {
				return err
			}
			g.logf("report: %s\nkeep %s to yourself: the teachers' votes", filepath.Join(dir, "report.html"), filepath.Join(dir, "private"))
			return nil
		},
		print: func() error { return printResult(g, result) },
	}.do(ctx, g)
	return result, err
}

// printResult writes the table, or the JSON of the contract, to stdout.
func printResult(g *globals, r *experiments.Result) error {
	switch format := g.parsedFormat(); format {
	case table.JSON:
		return report.WriteJSON(g.stdout, r)
	case table.CSV:
		return report.Records(r).Write(g.stdout, format)
	case table.Text:
		fmt.Fprint(g.stdout, report.Heading(r))
		if err := report.Table(r).Write(g.stdout, format); err != nil {
			return err
		}
		fmt.Fprint(g.stdout, report.Footnotes(r))
		return nil
	default:
		if err := report.Table(r).Write(g.stdout, format); err != nil {
			return err
		}
		comment := ""
		if format == table.LaTeX {
			comment = "% "
		}
		_, err := fmt.Fprintf(g.stdout, "\n%s%s\n", comment, report.Warning(r))
		return err
	}
}

// identity says what the run is a function of.
func (f compareFlags) identity(g *globals) (experiments.Identity, error) {
	data, err := f.dataFlags.identity()
	if err != nil {
		return experiments.Identity{}, err
	}
	id := experiments.Identity{
		Schema: "pate.run/1", Data: data, Split: f.split,
		Epsilon: f.epsilon, Delta: g.delta, Seeds: f.seeds, Learner: f.learner, Features: f.features,
		Teachers: f.teachers, Methods: f.methodList(), Quick: f.quick,
	}
	if g.seeded {
		id.Seed = fmt.Sprint(g.seed)
	}
	id.Command = f.command(g)
	return id, nil
}

// command is the command line that repeats the run.
func (f compareFlags) command(g *globals) string {
	words := []string{"pate compare"}
	add := func(changed bool, format string, args ...any) {
		if changed {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(f.data != "mnist", "--data %s", shellWord(f.data))
	add(f.label != "", "--label %s", shellWord(f.label))
	add(f.unit != "", "--unit %s", shellWord(f.unit))
	add(f.header != "auto", "--header %s", f.header)
	add(f.separator != "", "--separator %s", shellWord(f.separator))
	add(f.classes != 0, "--classes %d", f.classes)
	add(f.classNames != "", "--class-names %s", shellWord(f.classNames))
	add(f.otherLabels != "", "--other-labels %s", shellWord(f.otherLabels))
	add(f.kind != "", "--kind %s", f.kind)
	add(true, "--epsilon %v --delta %v", f.epsilon, g.delta)
	add(f.seeds != 1, "--seeds %d", f.seeds)
	add(f.methods != "all", "--methods %s", f.methods)
	add(f.learner != experiments.KernelRidge, "--learner %s", f.learner)
	add(f.teachers != 0, "--teachers %d", f.teachers)
	add(f.features != "", "--features %s", f.features)
	add(f.split != string(dataset.Literature), "--split %s", f.split)
	add(f.quick, "--quick")
	add(g.seeded, "--seed %d", g.seed)
	return strings.Join(words, " ")
}

// shellWord quotes a word for a POSIX shell if it must be.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (f compareFlags) methodList() []string {
	if f.methods == "all" || f.methods == "" {
		return nil
	}
	return strings.Split(f.methods, ",")
}

func (f compareFlags) unitName() string {
	if f.unit != "" {
		return f.unit
	}
	return "record"
}
