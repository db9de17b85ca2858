package label

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
)

// expected returns what to expect of a run from public numbers; nil where that is not known.
func (f *labelFlags) expected(ctx context.Context, c label.Config, r label.Result) (shell.Object, error) {
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

// writeReport prints the report. Its noise holds every parameter of the mechanism by its name; those that version 1 of
// the form had stand beside it, too.
func (f *labelFlags) writeReport(ctx context.Context, g *shell.Globals, c label.Config, r label.Result) error {
	var expected shell.Object
	var err error
	if g.ParsedFormat() == table.JSON {
		if expected, err = f.expected(ctx, c, r); err != nil {
			return err
		}
	}
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
		"accountant", r.By, "expected?", expected, "ledger_entry", r.Entry, "sha256", hex.EncodeToString(r.SHA256[:]),
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
