// Package audit is the command `pate audit`. It tests every privacy claim of the project, and claims of other
// people's labellers.
package audit

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/controls"
	"github.com/pate-go/pate/internal/table"
)

type auditFlags struct {
	suite, broken []string
	samples       int
	alpha         float64
	list          bool
	outside       outsideFlags
}

func New(g *shell.Globals) *cobra.Command {
	var f auditFlags
	var ofOutside []string // flags that need --command or --url
	cmd := shell.Command("audit", "", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		targets, err := auditTargets(f, cmd.Flags().Changed("suite"))
		if err != nil {
			return shell.UsageError("", err)
		}
		if f.list {
			return writeTargets(g, targets)
		}
		given := cmd.Flags().Changed
		foreign := f.outside.command+f.outside.url != ""
		misplaced := slices.IndexFunc(ofOutside, given)
		if err := shell.Refuse("",
			shell.If(foreign && (given("suite") || given("broken")),
				"--suite and --broken are for the mechanisms of pate, not for --command or --url"),
			shell.If(!foreign && misplaced >= 0, "--%s needs --command or --url", ofOutside[max(misplaced, 0)]),
			shell.If(foreign && f.samples > 0 && f.samples < 16, "--samples %d: with --command or --url it must be at least 16", f.samples),
			shell.If(f.samples < 0 || f.samples == 1 || f.samples > 1<<30,
				"--samples %d: the number of outputs sampled for each input must be from 2 to 2^30", f.samples),
			shell.If(!(f.alpha >= 1e-9 && f.alpha <= 0.5), "--alpha %v: the chance of a false alarm must be from 1e-9 to 0.5", f.alpha),
		); err != nil {
			return err
		}
		if foreign {
			return f.outside.run(cmd.Context(), g, f.samples, f.alpha)
		}
		opt := controls.Options{Alpha: f.alpha, Runs: f.samples}
		shell.Put(cmd.Flags().Changed("delta"), &opt.Delta, g.Delta)
		if opt.Key, err = g.Key(); err != nil {
			return err
		}
		p := shell.NewProgress(g)
		opt.Progress = func(done, total int) { p.Update("auditing", done, total) }
		results, err := controls.Run(cmd.Context(), targets, opt)
		p.Clear()
		if err != nil {
			return err
		}
		if err := writeAudit(g, f.alpha, results); err != nil {
			return err
		}
		return auditVerdict(g, results)
	})
	shell.Declare(cmd.Flags(), "audit", shell.To{"samples": &f.samples, "alpha": &f.alpha, "list": &f.list, "delta": &g.Delta})
	ofOutside = f.outside.declare(cmd)
	cmd.Flags().StringSliceVar(&f.suite, "suite", []string{"default"},
		"targets: default, trained, or museum of known mistakes; or names that --list prints")
	cmd.Flags().StringSliceVar(&f.broken, "broken", nil,
		"deliberate mistakes to audit: all, trained, or names (that --list prints), instead of the targets")
	shell.OfLater(cmd.Flag("suite"), func() shell.Values {
		shipped := slices.Concat(controls.Default(), controls.Trained(), controls.Museum())
		return shell.Take("list", append([]string{"default", "trained", "museum"}, controls.Names(shipped)...)...)
	})
	shell.OfLater(cmd.Flag("broken"), func() shell.Values {
		broken := slices.Concat(controls.Broken(), controls.BrokenTrained())
		return shell.Take("list", append([]string{"all", "trained"}, controls.Names(broken)...)...)
	})
	return cmd
}

func auditTargets(f auditFlags, suiteGiven bool) ([]controls.Target, error) {
	names := f.suite
	if len(f.broken) > 0 && !suiteGiven {
		names = nil
	}
	targets, err := namedTargets(map[string][]controls.Target{
		"default": controls.Default(), "trained": controls.Trained(), "museum": controls.Museum()}, names, "suite")
	if err != nil {
		return nil, err
	}
	broken, err := namedTargets(map[string][]controls.Target{"all": controls.Broken(), "trained": controls.BrokenTrained()}, f.broken, "broken")
	if targets = append(targets, broken...); err == nil && len(targets) == 0 {
		err = errors.New("--suite is empty")
	}
	return targets, err
}

func namedTargets(groups map[string][]controls.Target, names []string, flag string) ([]controls.Target, error) {
	var known []controls.Target
	names = slices.Clone(names)
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		targets := groups[group]
		known = append(known, targets...)
		if i := slices.Index(names, group); i >= 0 {
			names = slices.Replace(names, i, i+1, controls.Names(targets)...)
		}
	}
	for _, name := range names {
		if !slices.Contains(controls.Names(known), name) {
			return nil, fmt.Errorf("--%s %q: is not a name that pate audit --list prints", flag, name)
		}
	}
	return controls.Find(known, names...)
}

func auditVerdict(g *shell.Globals, results []controls.Result) error {
	var shipped, mistakes []string // names of refuted targets
	for _, r := range results {
		where := &shipped
		if r.Target.Mistake != "" {
			where = &mistakes
		}
		switch {
		case !r.Finding.Refuted() && r.Target.Mistake != "":
			g.Logf("%s by %s is wrong but was not refuted: more --samples may refute it", r.Target.Name, r.Target.Method)
		case r.Finding.Refuted() && !slices.Contains(*where, r.Target.Name):
			*where = append(*where, r.Target.Name)
		}
	}
	refuted, why, fix := shipped, "an event was likelier on one input than the claim allows", "do not rely on the claim; to confirm this, audit "+
		"again without --seed"
	if len(shipped) == 0 {
		refuted, why, fix = mistakes, "this is expected: the mistake is deliberate", ""
	}
	var what string
	switch {
	case len(refuted) == 0:
		g.Logf("%d claims, none refuted", len(results))
		return nil
	case len(refuted) == 1:
		what = "the claim of " + refuted[0] + " is refuted"
	case len(refuted) <= 3:
		what = "the claims of " + strings.Join(refuted, ", ") + " are refuted"
	default:
		what = fmt.Sprintf("the claims of %s and %d more are refuted", strings.Join(refuted[:3], ", "), len(refuted)-3)
	}
	return &shell.CommandError{Code: shell.ExitCheckFailed, What: errors.New(what), Why: why, Fix: fix}
}

func resultOf(t controls.Target, further ...any) shell.Object {
	return append(shell.Object{"target", t.Name, "method", t.Method, "on", t.On,
		"mistake?", t.Mistake, "source?", t.Source, "year?", t.Year}, further...)
}

// writeAudit prints the results. With probability at least 1 - alpha, no true claim is refuted.
func writeAudit(g *shell.Globals, alpha float64, results []controls.Result) error {
	format := g.ParsedFormat()
	exact, wide := format == table.CSV, format != table.Text
	number := func(x float64, format byte, digits int) string {
		if exact {
			format, digits = 'g', -1
		}
		return strconv.FormatFloat(x, format, digits, 64)
	}
	t := shell.TableOf("<target", "<method", "runs", "claim", "delta", "at least", "<verdict", "<on", "<evidence", "<mistake")
	passed := true
	var rows []shell.Object
	for _, r := range results {
		f, verdict, runs := r.Finding, "not refuted", ""
		if f.Refuted() {
			verdict, passed = "REFUTED", false
		}
		if f.Runs > 0 {
			runs = strconv.Itoa(f.Runs)
		}
		rows = append(rows, resultOf(r.Target, "epsilon", f.Claim.Epsilon, "delta", f.Claim.Delta,
			"epsilon_lower", shell.Number(f.Epsilon), "alpha", f.Alpha, "runs", f.Runs, "evidence", f.Evidence, "refuted", f.Refuted(),
			"seconds", r.Seconds))
		t.Rows = append(t.Rows, []string{r.Target.Name, string(r.Target.Method), runs, number(f.Claim.Epsilon, 'f', 4),
			number(f.Claim.Delta, 'g', 3), number(f.Epsilon, 'f', 4), verdict, r.Target.On, f.Evidence, mistakeOf(r.Target)})
	}
	if !wide {
		t.Header = t.Header[:7]
		for i, row := range t.Rows {
			t.Rows[i] = row[:7]
		}
	}
	out := shell.Object{"schema", "pate.audit/1", "alpha", alpha}
	if g.Seeded {
		out = append(out, "seed", g.Seed)
	}
	err := g.Print(append(out, "passed", passed, "results", rows), func(table.Format) table.Table { return t })
	if err == nil && !wide {
		writeMistakes(g, results)
	}
	return err
}

func writeMistakes(g *shell.Globals, results []controls.Result) {
	last := ""
	for _, r := range results {
		if r.Target.Mistake == "" || r.Target.Name == last {
			continue
		}
		if last == "" {
			fmt.Fprintln(g.Stdout)
		}
		last = r.Target.Name
		fmt.Fprintf(g.Stdout, "%s: %s\n", r.Target.Name, mistakeOf(r.Target))
	}
}

func mistakeOf(t controls.Target) string {
	if t.Source == "" {
		return t.Mistake
	}
	return fmt.Sprintf("%s (%d, %s)", t.Mistake, t.Year, t.Source)
}

func writeTargets(g *shell.Globals, targets []controls.Target) error {
	var list []shell.Object
	for _, t := range targets {
		list = append(list, resultOf(t))
	}
	return g.Print(shell.Object{"schema", "pate.audit-list/1", "targets", list}, func(f table.Format) table.Table {
		t := shell.TableOf("<target", "<method", "<on", "<mistake")
		if f == table.Text {
			t = shell.TableOf("<target", "<method", "<on, or the mistake made")
		}
		for _, target := range targets {
			cells := []string{target.Name, string(target.Method), target.On, mistakeOf(target)}
			if f == table.Text && target.Mistake != "" {
				cells[2] = cells[3]
			}
			t.Rows = append(t.Rows, cells[:len(t.Header)])
		}
		return t
	})
}
