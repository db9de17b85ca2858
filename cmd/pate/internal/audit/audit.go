// Package audit is the command `pate audit`: every claim of the project put to the test.
package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/controls"
	"github.com/pate-go/pate/rng"
)

// auditFlags are the flags of `pate audit`.
type auditFlags struct {
	suite   []string
	broken  []string
	samples int
	alpha   float64
	list    bool
}

func New(g *shell.Globals) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:  "audit",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			targets, err := auditTargets(f, cmd.Flags().Changed("suite"))
			if err != nil {
				return shell.UsageError("", err)
			}
			if f.list {
				return writeTargets(g, targets)
			}
			if f.samples < 0 || f.samples == 1 || f.samples > 1<<30 {
				return shell.UsageError("", fmt.Errorf("--samples %d: must be from 2 to 2^30, on each input", f.samples))
			}
			if !(f.alpha >= 1e-9 && f.alpha <= 0.5) {
				return shell.UsageError("", fmt.Errorf("--alpha %v: the chance of a false alarm must be from 1e-9 to 0.5", f.alpha))
			}
			opt := controls.Options{Alpha: f.alpha, Runs: f.samples}
			if cmd.Flags().Changed("delta") {
				opt.Delta = g.Delta
			}
			if opt.Key, err = auditKey(g); err != nil {
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
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.suite, "suite", []string{"default"}, "what is audited; default, trained, or names that --list prints")
	flags.StringSliceVar(&f.broken, "broken", nil, "mistakes made on purpose instead; all, trained, or names that --list prints")
	flags.IntVar(&f.samples, "samples", 0, "runs on each of two inputs; 0: as many as each target needs")
	flags.Float64Var(&f.alpha, "alpha", 1e-4, "chance of a false alarm; any claim is refuted although all are true")
	flags.BoolVar(&f.list, "list", false, "list what would be audited, and audit nothing")
	shell.Complete(cmd, map[string]shell.Values{
		"suite": shell.WordList(append([]string{"default", "trained"}, controls.Names(slices.Concat(controls.Default(), controls.Trained()))...)...),
		"broken": shell.WordList(append([]string{"all", "trained"},
			controls.Names(slices.Concat(controls.Broken(), controls.BrokenTrained()))...)...),
	})
	return cmd
}

func auditKey(g *shell.Globals) (rng.Key, error) {
	if g.Seeded {
		return rng.SeedKey(g.Seed), nil
	}
	return rng.NewKey()
}

// auditTargets returns those named; --broken stands alone unless --suite is there too.
func auditTargets(f auditFlags, suiteGiven bool) ([]controls.Target, error) {
	var targets []controls.Target
	if len(f.broken) == 0 || suiteGiven {
		found, err := namedTargets(controls.Default(), controls.Trained(), f.suite, "default", "trained")
		if err != nil {
			return nil, fmt.Errorf("--suite: %w", err)
		}
		targets = found
	}
	if len(f.broken) > 0 {
		found, err := namedTargets(controls.Broken(), controls.BrokenTrained(), f.broken, "all", "trained")
		if err != nil {
			return nil, fmt.Errorf("--broken: %w", err)
		}
		targets = append(targets, found...)
	}
	if len(targets) == 0 {
		return nil, errors.New("--suite: nothing is named")
	}
	return targets, nil
}

// namedTargets returns the targets of two groups with these names; a group has a name too.
func namedTargets(quick, slow []controls.Target, names []string, allQuick, allSlow string) ([]controls.Target, error) {
	known := slices.Concat(quick, slow)
	names = slices.Clone(names)
	for group, targets := range map[string][]controls.Target{allQuick: quick, allSlow: slow} {
		if i := slices.Index(names, group); i >= 0 {
			names = slices.Replace(names, i, i+1, controls.Names(targets)...)
		}
	}
	for _, name := range names {
		if !slices.Contains(controls.Names(known), name) {
			return nil, fmt.Errorf("%q is not one of those that pate audit --help lists", name)
		}
	}
	return controls.Find(known, names...)
}

// auditVerdict returns the error of a run that refuted something.
func auditVerdict(g *shell.Globals, results []controls.Result) error {
	var shipped, mistakes []string // refuted
	for _, r := range results {
		where := &shipped
		if r.Target.Mistake != "" {
			where = &mistakes
		}
		switch {
		case !r.Finding.Refuted() && r.Target.Mistake != "":
			g.Logf("%s by %s is not refuted, although it is wrong: more --samples may show it", r.Target.Name, r.Target.Method)
		case r.Finding.Refuted() && !slices.Contains(*where, r.Target.Name):
			*where = append(*where, r.Target.Name)
		}
	}
	refuted, why, fix := shipped, "an event was likelier on one input than the claim allows", "do not rely on the claim; audit again, "+
		"without --seed, to see it confirmed"
	if len(shipped) == 0 {
		refuted, why, fix = mistakes, "as it should be: the mistake was made on purpose", ""
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
