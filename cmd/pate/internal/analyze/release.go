package analyze

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

type releaseFlags struct {
	shell.VotesFlags
	analyzedFlags
	order, beta, sigmaSS, margin, epsilon float64
	ledger, out, name, unit               string
}

func newAnalyzeReleaseCommand(g *shell.Globals) *cobra.Command {
	var f releaseFlags
	cmd := shell.Command("release VOTES...", "", f.Needs(&f.ledger, "mechanism", "ledger", "out"),
		func(cmd *cobra.Command, args []string) error { return runAnalyzeRelease(cmd, g, f, args) })
	f.Add(cmd)
	f.addMechanism(cmd)
	shell.Declare(cmd.Flags(), "release", shell.To{"order": &f.order, "beta": &f.beta, "sigma-ss": &f.sigmaSS, "margin": &f.margin,
		"ledger": &f.ledger, "out": &f.out, "name": &f.name, "epsilon": &f.epsilon, "unit": &f.unit})
	return cmd
}

func (f *releaseFlags) check(cmd *cobra.Command) error {
	positive := func(name string, value float64) error {
		return shell.Refuse("privacy", shell.If(cmd.Flags().Changed(name) && !(value > 0), "--%s %v: must be above 0", name, value))
	}
	return cmp.Or(
		positive("order", f.order), positive("beta", f.beta), positive("sigma-ss", f.sigmaSS), positive("epsilon", f.epsilon),
		shell.Refuse("mechanisms", shell.If(f.Mechanism == "lnmax",
			"--mechanism lnmax: the smooth sensitivity of lnmax is not known; use gnmax or confident")),
		shell.Refuse("ledger", shell.If(f.name == "", "--name is empty, but the ledger records the release by this name")))
}

func (f *releaseFlags) checkOut(args []string) error {
	out := shell.Target{Flag: "--out", Path: f.out, Topic: "ledger"}
	keys, err := run.Keys(f.ledger)
	if err != nil {
		return err
	}
	return cmp.Or(
		out.CheckDistinct("the ledger", f.ledger),
		out.CheckDistinct("a file that belongs to the ledger", append(keys, run.IDFile(f.ledger), run.HeadFile(f.ledger))...),
		out.CheckDistinct("one of the votes files", shell.ExpandPaths(args)...),
	)
}

func (f *releaseFlags) file(cmd *cobra.Command, g *shell.Globals, stated bool) run.File {
	file := run.File{Path: f.ledger, Warn: g.Warn, Expect: run.Expect{Epsilon: f.epsilon}, New: ledger.Config{
		Unit: f.unit, Relation: accountant.AddRemove, Epsilon: f.epsilon, Delta: g.Delta, Mode: ledger.Filter, Noise: g.Noise()}}
	shell.Put(cmd.Flags().Changed("delta"), &file.Expect.Delta, g.Delta)
	shell.Put(cmd.Flags().Changed("unit") || stated, &file.Expect.Unit, f.unit)
	return file
}

func runAnalyzeRelease(cmd *cobra.Command, g *shell.Globals, f releaseFlags, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	m, err := f.analysed(cmd)
	if err := cmp.Or(err, f.checkOut(args)); err != nil {
		return err
	}
	stated, err := shell.StatedBeside(args)
	if err != nil {
		return err
	}
	if f.unit, err = stated.Settle(cmd, "unit", f.unit, stated.Unit); err != nil {
		return err
	}
	file := f.file(cmd, g, stated.Unit != "")
	account, _, err := shell.LedgerConfig(file)
	if err != nil {
		return err
	}
	defer f.Close()
	votes, err := f.Open(cmd.Context(), args)
	if err != nil {
		return err
	}
	if err := shell.CheckDelta(account.Delta, votes.Teachers(), "teachers"); err != nil {
		return err
	}
	if votes.Teachers() == 0 {
		return shell.Usagef("votes",
			"--teachers is required with --counts: the number of teachers is public, so it is not computed from votes")
	}
	s, err := analysis.NewSanitizer(analysis.SanitizerConfig{
		Mechanism: m, Queries: votes.Queries(), Teachers: votes.Teachers(), Classes: votes.Classes(), Delta: account.Delta,
		Order: f.order, Beta: f.beta, Sigma: f.sigmaSS, Margin: f.margin,
	})
	if err != nil {
		return shell.UsageError("privacy", err)
	}
	r := releaseRun{globals: g, flags: f, file: file, sanitizer: s, votes: votes}
	report, err := r.run(cmd.Context(), onlyHistograms(cmd, votes))
	if err != nil {
		return err
	}
	return writeReleased(g, report)
}

type releaseRun struct {
	globals   *shell.Globals
	flags     releaseFlags
	file      run.File
	sanitizer *analysis.Sanitizer
	votes     *votes.Source
}

type identity struct {
	Name      string                   `json:"name"`
	Mechanism string                   `json:"mechanism"`
	Sanitizer analysis.SanitizerConfig `json:"sanitizer"`
}

func (r *releaseRun) run(ctx context.Context, histograms iter.Seq2[aggregate.Histogram, error]) (report releasedReport, err error) {
	recorded := false
	one := run.Run{File: r.file, Kind: "analyze release", Units: run.Units{N: r.votes.Teachers(), Noun: "teachers"}}
	shell.Put(r.globals.Seeded, &one.Seed, &r.globals.Seed)
	one.Plan = func(_ context.Context, before *run.Before) (run.Plan, error) {
		p, err := r.plan(before)
		recorded = p.Same != nil
		return p, err
	}
	one.Stages = []run.Stage{{
		Out: r.flags.out,
		Draw: func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
			released, err := r.sanitizer.Release(ctx, reservations[0], key, histograms)
			if err != nil {
				return shell.FaultError(err, "votes")
			}
			text, err := json.Marshal(r.report(released))
			if err == nil {
				err = json.Unmarshal(text, &report)
			}
			if err != nil {
				return err
			}
			return shell.WriteJSON(out, report.text)
		},
		Read: func(file io.Reader) error { return json.NewDecoder(file).Decode(&report) },
	}}
	err = one.Do(ctx, func(_ *run.Session, done []run.Done) error {
		switch {
		case done[0].Complete:
			r.globals.Logf("%s is unchanged since its release; nothing was drawn or charged", r.flags.out)
		case done[0].Recorded:
			r.globals.Logf("resumed the release that was charged before, at no further cost")
		}
		return nil
	})
	if err != nil {
		return report, r.refused(err, recorded)
	}
	return report, nil
}

func (r *releaseRun) plan(before *run.Before) (run.Plan, error) {
	id := identity{r.flags.name, r.flags.Mechanism, r.sanitizer.Config()}
	hash := r.votes.Hash()
	p := run.Plan{Events: [][]accountant.Event{{r.sanitizer.Event()}}, Settings: id, Inputs: hash[:]}
	text, err := json.Marshal(id)
	if err != nil {
		return p, err
	}
	for i := range before.Recorded {
		recorded := &before.Recorded[i]
		var named struct{ Name string }
		if err := json.Unmarshal(recorded.Settings, &named); err != nil {
			return p, err
		}
		if named.Name != id.Name {
			continue
		}
		same, err := recorded.Of(hash[:])
		if err != nil {
			return p, err
		}
		if !same || string(text) != string(recorded.Settings) || len(recorded.Differs) > 0 {
			return p, shell.InputError(fmt.Errorf("this ledger already has a different release %q", id.Name),
				"a release has fixed votes and parameters, so other votes or parameters need another name",
				"repeat the command of that release, or choose another --name", "ledger")
		}
		p.Same = recorded
	}
	return p, nil
}

func (r *releaseRun) refused(err error, recorded bool) error {
	var budget *ledger.BudgetError
	var refused *fault.Error
	var ce *shell.CommandError
	c := r.sanitizer.Config()
	switch {
	case errors.As(err, &ce), errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &refused):
		if recorded {
			again := *refused
			again.Fix += "; a further release needs its own --name and is charged"
			err = &again
		}
		return shell.FaultError(err, "ledger")
	case errors.As(err, &budget) && math.IsInf(budget.Epsilon, 1):
		return &shell.CommandError{Code: shell.ExitOverBudget,
			What: fmt.Errorf("with --beta %.6g the cost of the release is infinite at every order of the ledger", c.Beta),
			Why: fmt.Sprintf("only orders below %.6g have a finite cost, and such orders give no bound within this budget; nothing "+
				"was charged or written", analysis.OrderLimit(c.Beta)),
			Fix: "lower --beta, or raise --order, which determines --beta; choose both without looking at the votes", Topic: "privacy"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &shell.CommandError{Code: shell.ExitOverBudget, What: err,
			Why: "the release is charged before the votes are counted; nothing was charged or written",
			Fix: "raise --sigma-ss or lower --beta; choose both without looking at the votes", Topic: "privacy"}
	}
	return err
}

const releasedNote = "with noise, and charged to the ledger; one-sided, about these votes and these answers; no (epsilon, delta) guarantee: " +
	"that is the ledger's"

type releasedReport struct {
	text     json.RawMessage
	Released struct {
		Releasable                  bool // false for seeded noise
		Cost, Order, Epsilon, Delta float64
	}
	ReleaseCost float64 `json:"release_cost"`
	TooLow      float64 `json:"too_low"`
}

func (r *releasedReport) UnmarshalJSON(text []byte) error {
	type plain releasedReport
	err := json.Unmarshal(text, (*plain)(r))
	r.text = slices.Clone(text)
	return err
}

func (r *releaseRun) report(out analysis.Released) shell.Object {
	// The fields cost and release_cost are Rényi divergences at the order in field order. The field too_low
	// is the probability that the released cost is below the true cost. The field epsilon bounds cost and
	// release_cost together, at delta.
	c, f := r.sanitizer.Config(), r.flags
	from, to := r.votes.Range()
	report := shell.Object{"schema", "pate.released/1", "note", releasedNote, "released", shell.Object{"private", !out.Releasable,
		"releasable", out.Releasable, "cost", out.Cost, "order", out.Order, "epsilon", out.Epsilon, "delta", out.Delta},
		"name", f.name, "mechanism", f.Mechanism}
	if f.Mechanism == "confident" {
		report = append(report, "threshold", f.Value("threshold"))
	}
	return append(report, "sigma?", f.Value("sigma"), "sigma1?", f.Value("sigma1"), "sigma2?", f.Value("sigma2"),
		"queries", [2]int{from, to}, "teachers", c.Teachers, "classes", c.Classes, "beta", c.Beta, "sigma_ss", c.Sigma,
		"margin", c.Margin, "grid", c.Grid, "release_cost", out.ReleaseCost, "too_low", out.TooLow)
}

func writeReleased(g *shell.Globals, r releasedReport) error {
	releasable := "yes"
	if !r.Released.Releasable {
		g.Logf("NOT releasable: the noise comes from a seed")
		releasable = "no: seeded"
	}
	err := g.Print(r.text, func(table.Format) table.Table {
		t := shell.TableOf("released epsilon", "delta", "cost", "order", "cost of release", "too low", "<releasable")
		row := fmt.Sprintf("%.4f %g %.4f %g %.4f %.4f", r.Released.Epsilon, r.Released.Delta, r.Released.Cost, r.Released.Order,
			r.ReleaseCost, r.TooLow)
		t.Rows = [][]string{append(strings.Fields(row), releasable)}
		return t
	})
	if g.ParsedFormat() != table.JSON {
		g.Logf("%s", releasedNote)
	}
	return err
}
