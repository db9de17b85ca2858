// Package label is the command `pate label`: it releases labels computed from votes, within a budget.
package label

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/silos"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

type labelFlags struct {
	shell.VotesFlags
	shell.ParameterFlags
	shell.AgreementFlags
	minAccuracy, epsilon, failure    float64
	yes, piloted                     bool
	perUnit                          int // largest number of silos of a unit; 0 if not declared
	pilot                            string
	spent                            *label.Pilot // released by this command
	force                            waivers
	predictions, ledger, out, pool   string
	unit, relation, mode, accountant string
	stated                           shell.Stated
}

func New(g *shell.Globals) *cobra.Command {
	var f labelFlags
	cmd := shell.Command("label VOTES...", "", f.Needs(&f.ledger, "ledger", "out"),
		func(cmd *cobra.Command, args []string) error { return runLabel(cmd, g, f, args) })
	f.Add(cmd)
	f.Others, f.Named = []string{silos.Mechanism}, f.ofSilos
	f.AddParameters(cmd, "mechanism that draws labels (default: planned from public numbers)", nil)
	f.AddAgreement(cmd)
	f.force.addTo(cmd)
	shell.Declare(cmd.Flags(), "label", shell.To{"predictions": &f.predictions, "epsilon": &f.epsilon, "ledger": &f.ledger, "out": &f.out,
		"pool": &f.pool, "unit": &f.unit, "relation": &f.relation, "mode": &f.mode, "accountant": &f.accountant,
		"failure-delta": &f.failure, "min-accuracy": &f.minAccuracy, "pilot": &f.pilot, "yes": &f.yes, "silos-per-unit": &f.perUnit})
	return cmd
}

func (f *labelFlags) check(cmd *cobra.Command, g *shell.Globals) (aggregate.Setting, error) {
	given := cmd.Flags().Changed
	var d aggregate.Description
	var s aggregate.Setting
	f.piloted = f.Mechanism == "" && f.pilot == "yes" && !f.AgreementGiven(cmd)
	err := f.checkPlanning(cmd, f.Mechanism == "")
	if f.Mechanism != "" && err == nil {
		d, s, err = f.Setting(cmd, false)
	}
	if err != nil {
		return s, err
	}
	for name := range f.Values {
		if f.Mechanism == "" && given(name) {
			return s, shell.Usagef("mechanisms", "--%s needs --mechanism: without --mechanism all parameters are planned", name)
		}
	}
	switch {
	case d.Predicts && !given("predictions"):
		return s, shell.Usagef("mechanisms", "--mechanism %s needs --predictions", d.Name)
	case !d.Predicts && given("predictions"):
		return s, shell.Usagef("mechanisms", "--predictions is for mechanisms that compare votes with predictions; %s does not", d.Name)
	case given("failure-delta") && (f.mode != "filter" || !(f.failure > 0 && f.failure < g.Delta)):
		return s, shell.Usagef("privacy", "--failure-delta needs --mode filter and must be above 0 and below --delta")
	case f.piloted && given("mode") && f.mode == "reserved":
		return s, shell.Usagef("mechanisms", "a pilot needs --mode filter, because labels are charged after the release of the pilot; "+
			"with --mode reserved give --teacher-accuracy or --pilot no")
	case f.mode == "filter" && f.accountant == "pld" && (f.Mechanism != "" || given("mode") || f.piloted):
		return s, shell.Usagef("privacy", "--accountant pld needs --mode reserved: privacy loss distributions do not bound adaptively chosen costs")
	case f.pool == "":
		return s, shell.Usagef("votes", "--pool is empty: give the name of the public data set that contains the queries")
	case given("epsilon") && !(f.epsilon > 0 && f.epsilon <= math.MaxFloat64):
		return s, shell.Usagef("privacy", "--epsilon %v: must be a finite number above 0", f.epsilon)
	}
	return s, nil
}

func (f *labelFlags) settle(cmd *cobra.Command, args []string) (err error) {
	if f.stated, err = shell.StatedBeside(args); err != nil {
		return err
	}
	if f.unit, err = f.stated.Settle(cmd, "unit", f.unit, f.stated.Unit); err == nil {
		f.relation, err = f.stated.Settle(cmd, "relation", f.relation, f.stated.Relation)
	}
	return err
}

var notWritten = []string{".xlsx", ".xls", ".ods", ".json", ".npz", ".arrow", ".feather", ".pkl", ".gz", ".zst", ".zip"}

func (f *labelFlags) config(cmd *cobra.Command, g *shell.Globals, s aggregate.Setting) (label.Config, error) {
	given := cmd.Flags().Changed
	if form := strings.ToLower(filepath.Ext(f.out)); slices.Contains(notWritten, form) {
		return label.Config{}, shell.InputError(fmt.Errorf("--out %s: labels cannot be written as %s", f.out, form),
			"the ending of the name selects the format", "end the name in .csv, .jsonl, .npy or .parquet", "votes")
	}
	c := label.Config{Ledger: f.ledger, Out: f.out, Pool: f.pool, Setting: s, Predictions: f.predictions}
	c.Account = ledger.Config{Unit: f.unit, Epsilon: f.epsilon, Delta: g.Delta, FailureDelta: f.failure, Waived: f.force.withheld()}
	method, err := accountant.ParseMethod(f.accountant)
	err = errors.Join(err, c.Account.Relation.UnmarshalText([]byte(f.relation)), c.Account.Mode.UnmarshalText([]byte(f.mode)))
	if err != nil {
		return c, shell.UsageError("privacy", err)
	}
	c.Account.Accountant = method
	shell.Put(given("accountant"), &c.Expect.Accountant, method)
	shell.Put(given("unit") || f.stated.Unit != "", &c.Expect.Unit, f.unit)
	shell.Put(given("mode"), &c.Expect.Mode, &c.Account.Mode)
	shell.Put(given("relation") || f.stated.Relation != "", &c.Expect.Relation, c.Account.Relation)
	shell.Put(given("delta"), &c.Expect.Delta, g.Delta)
	_, fresh, err := (run.File{Path: f.ledger}).Look() // opening the ledger reports any error
	fresh = fresh && err == nil
	if f.Mechanism == "" && !f.piloted && !given("mode") && !given("failure-delta") && fresh {
		// A plan spends the whole budget, so later charges are impossible. For charges that are fixed in
		// advance, mode reserved allows more labels than mode filter.
		c.Account.Mode = ledger.Reserved
	}
	c.Expect.Epsilon, c.Warn = f.epsilon, g.Warn
	shell.Put(g.Seeded, &c.Seed, &g.Seed)
	if fresh && f.epsilon == 0 {
		return c, shell.Usagef("privacy", "--epsilon is required, because the ledger %s is new", f.ledger)
	}
	return c, nil
}

func runLabel(cmd *cobra.Command, g *shell.Globals, f labelFlags, args []string) error {
	if f.ofSilos() {
		return f.runSilos(cmd, g, args)
	}
	if err := f.force.misplaced(args); err != nil {
		return err
	}
	s, err := f.check(cmd, g)
	if err != nil {
		return err
	}
	if err := f.settle(cmd, args); err != nil {
		return err
	}
	c, err := f.config(cmd, g, s)
	if err != nil {
		return err
	}
	defer f.Close()
	var report *votes.Report
	if c.Votes, report, err = f.OpenChecked(cmd.Context(), args); err != nil {
		return err
	}
	if err := f.checkVotes(cmd, g, report); err != nil {
		return err
	}
	if _, err := f.Calibrate(cmd.Context(), g, &f.VotesFlags, c.Votes.Teachers()); err != nil {
		return err
	}
	c.Accept = f.worthIt(g, &c)
	if f.Mechanism == "" {
		if err := f.plan(cmd, g, &c, args); err != nil {
			return err
		}
	}
	bar := shell.NewProgress(g)
	c.Progress = func(done, total int) { bar.Update("labels", done, total) }
	result, err := label.Run(cmd.Context(), c)
	bar.Clear()
	if err != nil {
		return f.labelError(g, &c, err)
	}
	c.Votes = result.Votes
	f.tell(g, result)
	if err := tellMode(cmd.Context(), g, result); err != nil {
		return err
	}
	expected, err := f.expected(cmd.Context(), g, c, result)
	if err != nil {
		return err
	}
	if err := writeReport(g, result, expected); err != nil {
		return err
	}
	if result.Answered == 0 {
		return &shell.CommandError{Code: shell.ExitAllDeclined, What: errors.New("every query was declined"),
			Why: "the teachers never agreed clearly enough for this noise; declining reveals something too, so the budget is spent",
			Fix: "ask other queries with a larger --epsilon; the mechanisms confident and interactive also allow a lower --threshold"}
	}
	return nil
}

func (f *labelFlags) labelError(g *shell.Globals, c *label.Config, err error) error {
	var none *plan.NoPlanError
	if errors.As(err, &none) {
		return f.noPlan(g, c, none)
	}
	var refused *fault.Error
	if errors.As(err, &refused) {
		topic := "label"
		if refused.Check { // a ledger, or a file that it released, was changed
			topic = "ledger"
		}
		return shell.FaultError(err, topic)
	}
	var over *label.BudgetError
	if errors.As(err, &over) {
		e := &shell.CommandError{Code: shell.ExitOverBudget, What: over.BudgetError, Topic: "privacy",
			Why: "before the first answer, the budget must cover the worst-case cost of all queries together; nothing was charged or written",
			Fix: fmt.Sprintf("ask at most %d --queries, add noise, omit the noise, or limit --answers if the mechanism may decline", over.Queries)}
		_, refusals := c.Setting.Values["failures"]
		switch {
		case over.Queries > 0:
		case refusals:
			e.Why = "the worst case must fit the budget before the first answer; nothing was charged or written"
			e.Fix = "allow fewer --failures, raise noise and threshold, omit both to get a plan, or reserve more of delta with --failure-delta"
		default:
			e.Fix = "not even one query fits the budget: add noise, or omit --mechanism and the noise flags to get a plan"
		}
		return e
	}
	return shell.FaultError(err, "votes")
}

func (f *labelFlags) tell(g *shell.Globals, r label.Result) {
	if r.Calibrated {
		g.Logf("noise chosen to fit the budget: %s", describeChosen(r.Setting))
	}
	switch {
	case r.Complete:
		g.Logf("%s is unchanged since its release; nothing was drawn or charged", f.out)
	case r.Resumed:
		g.Logf("resumed the run that was charged before, at no further cost")
	}
	if !r.Releasable {
		g.Logf("NOT releasable: %s", cmp.Or(r.Account.Withheld(), "the noise comes from a seed"))
	}
	switch {
	case r.Account.Mode == ledger.Reserved && r.By == accountant.ByPLD:
		g.Logf("epsilon is computed from the privacy loss distributions of all reservations: pate help privacy")
	case r.Lack != nil:
		g.Logf("epsilon is computed by Rényi divergences: %v", r.Lack)
	}
	if r.Account.Mode == ledger.Filter {
		g.Logf("all charges of %s together are at most its budget, epsilon %g", filepath.Base(f.ledger), r.Claim)
	}
}

func describeChosen(s aggregate.Setting) string {
	d, err := mechanisms.Find(s.Mechanism)
	if err != nil { // counts of silos
		return "--sigma " + number.Exact(s.Values["sigma"])
	}
	return shell.FlagsOf(d, s, aggregate.Parameter.Chosen)
}
