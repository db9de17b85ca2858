package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/outside"
	"github.com/pate-go/pate/internal/table"
)

type outsideFlags struct {
	outside.Votes
	command, url, attacker, votes, table, label string
	epsilon                                     float64
	copies, parallel                            int
	timeout                                     time.Duration
}

func (f *outsideFlags) declare(cmd *cobra.Command) []string {
	flags := shell.To{"command": &f.command, "url": &f.url, "attacker": &f.attacker, "votes": &f.votes, "table": &f.table,
		"label": &f.label, "counts": &f.Counts, "epsilon": &f.epsilon, "copies": &f.copies, "parallel": &f.parallel,
		"timeout": &f.timeout, "teachers": &f.Teachers, "classes": &f.Classes, "queries": &f.Queries}
	shell.Declare(cmd.Flags(), "audit outside", flags)
	shell.EpsilonIsNoBudget(cmd)
	return slices.Sorted(maps.Keys(flags))
}

func (f *outsideFlags) labeller() (outside.Labeller, error) {
	err := shell.Refuse("audit",
		shell.If(f.command != "" && f.url != "", "--command and --url exclude each other"),
		shell.If(f.url != "" && f.table != "", "--table needs --command: a web address receives votes alone"),
		shell.If((f.attacker == "none") != (f.votes != ""), "--attacker none needs --votes, and other attackers make their own votes"),
		shell.If(f.Teachers < 2 || f.Teachers > 1e5, "--teachers %d: must be from 2 to 100000", f.Teachers),
		shell.If(f.Classes < 2 || f.Classes > 1e4, "--classes %d: must be from 2 to 10000", f.Classes),
		shell.If(f.Queries < 1 || f.Queries > 1e4, "--queries %d: must be from 1 to 10000", f.Queries),
		shell.If(f.copies < 1 || f.copies > 1e4, "--copies %d: must be from 1 to 10000", f.copies),
		shell.If(f.parallel < 0, "--parallel %d: must not be negative", f.parallel),
		shell.If(f.timeout <= 0, "--timeout %v: must be above 0", f.timeout),
		shell.If(!(f.epsilon >= 0), "--epsilon %v: must not be negative", f.epsilon))
	if err != nil {
		return nil, err
	}
	flag, name, open := "--command", f.command, outside.Command
	if f.url != "" {
		flag, name, open = "--url", f.url, outside.URL
	}
	label, err := open(name, f.timeout)
	if err != nil {
		err = shell.UsageError("audit", fmt.Errorf("%s: %w", flag, err))
	}
	return label, err
}

func (f *outsideFlags) inputs(rnd *rand.Rand) (pairs []outside.Pair, err error) {
	name := cmp.Or(f.table, f.votes)
	var file []byte
	if name != "" {
		if file, err = os.ReadFile(name); err != nil {
			return nil, shell.InputError(err, "", "check its name", "")
		}
	}
	switch {
	case f.table != "":
		pairs, err = outside.Tables(file, f.label, f.copies)
	case f.votes != "":
		pairs, err = outside.Given(file)
	case f.attacker == "some":
		pairs = f.Pairs(rnd)
	default:
		pairs = f.Pairs(nil)
	}
	if err != nil {
		err = shell.InputError(fmt.Errorf("%s: %w", name, err), "the file must be a CSV file with commas", "", "audit")
	}
	return pairs, err
}

func (f *outsideFlags) run(ctx context.Context, g *shell.Globals, samples int, alpha float64) error {
	label, err := f.labeller()
	if err != nil {
		return err
	}
	key, err := g.Key()
	if err != nil {
		return err
	}
	opt := outside.Options{Claim: audit.Claim{Epsilon: f.epsilon, Delta: g.Delta}, Alpha: alpha, Samples: cmp.Or(samples, 10_000),
		Parallel: f.parallel, Rand: rand.New(key.Derive("audit of a labeller").Stream())}
	pairs, err := f.inputs(opt.Rand)
	if err != nil {
		return err
	}
	p := shell.NewProgress(g)
	opt.Progress = func(done int, bound float64) {
		p.Update(fmt.Sprintf("epsilon is at least %.3f", bound), done, opt.Samples)
	}
	r, err := outside.Audit(ctx, label, pairs, opt)
	p.Clear()
	if errors.Is(err, outside.ErrNoAnswer) {
		return shell.InputError(err, "no run of the labeller gave an answer", "try the labeller on a file of votes by hand", "audit")
	} else if err != nil {
		return err
	}
	if err := writeOutside(g, r); err != nil {
		return err
	}
	switch {
	case r.Refuted():
		return &shell.CommandError{Code: shell.ExitCheckFailed,
			What: fmt.Errorf("the claim is refuted: epsilon is at least %.4f at delta %g", r.Epsilon, g.Delta),
			Why:  "an event was likelier on one input than the claim allows", Fix: "do not rely on the claim"}
	case r.Interrupted:
		return &shell.CommandError{Code: shell.ExitInterrupted, What: errors.New("interrupted"), Why: "the bound is correct for the runs so far"}
	}
	g.Logf("not refuted: with confidence %v, epsilon is at least %.4f. This is no proof of privacy.", 1-alpha, r.Epsilon)
	return nil
}

func writeOutside(g *shell.Globals, r outside.Result) error {
	verdict := "not refuted"
	if r.Refuted() {
		verdict = "REFUTED"
	}
	claim := any(r.Claim.Epsilon)
	if math.IsInf(r.Claim.Epsilon, 1) {
		claim, verdict = nil, "measured"
	}
	out := shell.Object{"schema", "pate.audit-outside/1", "alpha", r.Alpha, "epsilon", claim, "delta", r.Claim.Delta, "epsilon_lower", r.Epsilon,
		"runs", r.Runs, "failed_runs", r.Failures, "refuted", r.Refuted(), "interrupted", r.Interrupted, "input", r.Input, "event", r.Event,
		"pairs", r.Pairs}
	return g.Print(out, func(table.Format) table.Table {
		t := shell.TableOf("runs", "failed", "claim", "delta", "at least", "<verdict", "<input", "<event")
		t.Rows = [][]string{{fmt.Sprint(r.Runs), fmt.Sprint(r.Failures), fmt.Sprint(r.Claim.Epsilon), fmt.Sprint(r.Claim.Delta),
			fmt.Sprintf("%.4f", r.Epsilon), verdict, r.Input, r.Event}}
		return t
	})
}
