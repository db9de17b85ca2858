package label

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

func (f *labelFlags) expected(ctx context.Context, g *shell.Globals, c label.Config, r label.Result) (shell.Object, error) {
	if g.ParsedFormat() != table.JSON {
		return nil, nil
	}
	d, err := mechanisms.Find(r.Setting.Mechanism)
	if err != nil || !plan.Plannable(d) || c.Votes.Teachers() < 2 || d.MostNoise(r.Setting) > 64*float64(c.Votes.Teachers()) {
		return nil, err
	}
	a, err := f.public(c.Votes).Expect(ctx, r.Setting)
	if err != nil {
		return nil, err
	}
	return shell.Object{"answered", a.ExpectedAnswers, "right", a.ExpectedCorrect}, nil
}

func writeReport(g *shell.Globals, r label.Result, expected shell.Object) error {
	v, a := r.Setting.Values, r.Account
	var threshold *float64
	if t, ok := v["threshold"]; ok {
		threshold = &t
	}
	report := shell.Object{
		"schema", "pate.label/1", "asked", r.Asked, "answered", r.Answered, "declined", r.Declined, "not_asked", r.NotAsked,
		"epsilon", r.Epsilon, "delta", r.Delta, "releasable", r.Releasable, "waived?", a.Waived,
		"mechanism", r.Setting.Mechanism, "noise", v, "threshold?", threshold, "sigma?", v["sigma"], "sigma1?", v["sigma1"],
		"sigma2?", v["sigma2"], "scale?", v["scale"], "answers?", int(v["answers"]), "lambda?", v["lambda"], "b1?", v["b1"],
		"b2?", v["b2"], "failures?", int(v["failures"]), "calibrated", r.Calibrated, "resumed", r.Resumed, "complete", r.Complete,
		"accountant", r.By, "pilot?", pilotObject(r.Pilot), "expected?", expected, "ledger_entry", r.Entry, "sha256", hex.EncodeToString(r.SHA256[:]),
		"ledger", shell.Object{"unit", a.Unit, "relation", a.Relation, "mode", a.Mode, "budget", a.Epsilon, "claim", r.Claim,
			"left_rho", r.Left.Rho},
	}
	releasable := "yes"
	if !r.Releasable {
		releasable = shell.NotReleasable(a.Waived)
	}
	return g.Print(report, func(f table.Format) table.Table {
		t := shell.TableOf("asked", "answered", "declined", "not asked", "epsilon", "delta", "<releasable")
		t.Rows = [][]string{{strconv.Itoa(r.Asked), strconv.Itoa(r.Answered), strconv.Itoa(r.Declined), strconv.Itoa(r.NotAsked),
			shell.FormatUp(r.Epsilon, f == table.CSV), strconv.FormatFloat(r.Delta, 'g', -1, 64), releasable}}
		return t
	})
}

func (f *labelFlags) checkVotes(cmd *cobra.Command, g *shell.Globals, report *votes.Report) error {
	for _, finding := range shell.FailedFindings(g, report) {
		waiver := waiveChecks
		if finding.Check == "duplicates" {
			waiver = waiveDuplicates
		}
		switch {
		case f.force.has(waiver):
			g.Warn(fmt.Sprintf("a failed check was waived, so epsilon may be wrong: %s: %s", finding.Check, finding.Detail))
		default:
			return shell.FailedVotes(finding,
				"see pate votes check; --force="+waiver+" charges in spite of the failed check, and then no result may be released")
		}
	}
	given := cmd.Flags().Changed("teachers") // and was compared when the votes were opened
	if err := shell.CountedTeachers(report, f.stated, given); err != nil {
		return err
	}
	switch {
	case f.stated.Teachers > 0:
		g.Logf("%d teachers, according to %s", f.stated.Teachers, f.stated.Where)
	case !given && !report.Counts:
		g.Logf("the votes were read as %d teachers and %d queries: confirm this with --teachers %d", report.Teachers, report.Queries,
			report.Teachers)
	}
	return nil
}

const countedQueries = 100_000

func tellMode(ctx context.Context, g *shell.Globals, r label.Result) error {
	d, err := mechanisms.Find(r.Setting.Mechanism)
	if err != nil || r.Account.Mode != ledger.Filter || r.Resumed || r.Entry != firstEntry || !plan.Plannable(d) || g.Quiet {
		return err
	}
	account := r.Account
	here, err := plan.MaxQueries(ctx, r.Setting, account)
	if err != nil {
		return err
	}
	const cost = "mode filter: later runs may charge this ledger, so epsilon is computed by Rényi divergences, and epsilon %g pays for %d " +
		"queries with this noise; --mode reserved would pay for %s queries and allow no later run"
	if here > countedQueries {
		g.Logf(cost, account.Epsilon, here, "more")
		return nil
	}
	account.Mode, account.Accountant, account.Orders, account.FailureDelta = ledger.Reserved, "auto", nil, 0
	reserved, err := plan.MaxQueries(ctx, r.Setting, account)
	if err != nil {
		return err
	}
	g.Logf(cost, account.Epsilon, here, strconv.Itoa(reserved))
	return nil
}

const firstEntry = 1
