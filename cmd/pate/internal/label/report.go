package label

import (
	"context"
	"encoding/hex"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
)

const schemaLabel = "pate.label/1"

// labelReport is the JSON of `pate label`.
type labelReport struct {
	Schema     string  `json:"schema"`
	Asked      int     `json:"asked"`
	Answered   int     `json:"answered"`
	Declined   int     `json:"declined"`
	NotAsked   int     `json:"not_asked"`
	Epsilon    float64 `json:"epsilon"` // of these labels by themselves
	Delta      float64 `json:"delta"`
	Releasable bool    `json:"releasable"`
	// Waived are the refusals that were overridden for the ledger.
	Waived    []string `json:"waived,omitempty"`
	Mechanism string   `json:"mechanism"`
	// Noise holds every parameter of the mechanism by its name. Those that version 1 of
	// this form had stand beside it too.
	Noise      map[string]float64 `json:"noise"`
	Threshold  *float64           `json:"threshold,omitempty"`
	Sigma      float64            `json:"sigma,omitempty"`
	Sigma1     float64            `json:"sigma1,omitempty"`
	Sigma2     float64            `json:"sigma2,omitempty"`
	Scale      float64            `json:"scale,omitempty"`
	Answers    int                `json:"answers,omitempty"` // cap
	Lambda     float64            `json:"lambda,omitempty"`
	B1         float64            `json:"b1,omitempty"`
	B2         float64            `json:"b2,omitempty"`
	Failures   int                `json:"failures,omitempty"` // cap
	Calibrated bool               `json:"calibrated"`
	Resumed    bool               `json:"resumed"`
	Complete   bool               `json:"complete"`   // before this command
	Accountant accountant.Method  `json:"accountant"` // who proved the claim of the ledger
	// Expected is what teachers as good as declared would give; nil where that is not known.
	Expected    *labelExpected `json:"expected,omitempty"`
	LedgerEntry int64          `json:"ledger_entry"`
	SHA256      string         `json:"sha256"` // of the labels, which the entry commits to
	Ledger      labelLedger    `json:"ledger"`
}

// labelExpected is an expectation from public numbers.
type labelExpected struct {
	Answered float64 `json:"answered"`
	Right    float64 `json:"right"` // what the plurality says
}

// labelLedger is the ledger as a whole, after the run.
type labelLedger struct {
	Unit     string              `json:"unit"`
	Relation accountant.Relation `json:"relation"`
	Mode     ledger.Mode         `json:"mode"`
	Budget   float64             `json:"budget"`
	Claim    float64             `json:"claim"`    // epsilon of everything released under it
	LeftRho  float64             `json:"left_rho"` // of the largest Gaussian release that still fits, see ledger.Left
}

func newLabelReport(r label.Result) labelReport {
	v := r.Setting.Values
	report := labelReport{
		Schema: schemaLabel, Asked: r.Asked, Answered: r.Answered, Declined: r.Declined, NotAsked: r.NotAsked,
		Epsilon: r.Epsilon, Delta: r.Delta, Releasable: r.Releasable, Waived: r.Account.Waived,
		Mechanism: r.Setting.Mechanism, Noise: v,
		Sigma: v["sigma"], Sigma1: v["sigma1"], Sigma2: v["sigma2"], Scale: v["scale"], Lambda: v["lambda"], B1: v["b1"], B2: v["b2"],
		Answers: int(v["answers"]), Failures: int(v["failures"]),
		Calibrated: r.Calibrated, Resumed: r.Resumed, Complete: r.Complete,
		Accountant:  r.By,
		LedgerEntry: r.Entry, SHA256: hex.EncodeToString(r.SHA256[:]),
		Ledger: labelLedger{
			Unit: r.Account.Unit, Relation: r.Account.Relation, Mode: r.Account.Mode,
			Budget: r.Account.Epsilon, Claim: r.Claim, LeftRho: r.Left.Rho,
		},
	}
	if threshold, ok := v["threshold"]; ok {
		report.Threshold = &threshold
	}
	return report
}

// expected returns what to expect of a run from public numbers; nil where that cannot be
// said.
func (f *labelFlags) expected(ctx context.Context, c label.Config, r label.Result) (*labelExpected, error) {
	d, err := mechanisms.Find(r.Setting.Mechanism)
	if err != nil || !plan.Plannable(d) || c.Votes.Teachers() < 2 || d.MostNoise(r.Setting) > 64*float64(c.Votes.Teachers()) {
		return nil, err
	}
	a, err := f.public(c.Votes).Expect(ctx, r.Setting)
	if err != nil {
		return nil, err
	}
	return &labelExpected{Answered: a.ExpectedAnswers, Right: a.ExpectedCorrect}, nil
}

func (f *labelFlags) writeReport(ctx context.Context, g *shell.Globals, c label.Config, r label.Result) error {
	report := newLabelReport(r)
	if g.ParsedFormat() == table.JSON {
		var err error
		if report.Expected, err = f.expected(ctx, c, r); err != nil {
			return err
		}
	}
	releasable := "yes"
	if !report.Releasable {
		releasable = shell.NotReleasable(report.Waived)
	}
	return g.Print(report, func(f table.Format) table.Table {
		return table.Table{
			Header: []string{"asked", "answered", "declined", "not asked", "epsilon", "delta", "releasable"},
			Left:   []bool{false, false, false, false, false, false, true},
			Rows: [][]string{{
				strconv.Itoa(report.Asked), strconv.Itoa(report.Answered), strconv.Itoa(report.Declined), strconv.Itoa(report.NotAsked),
				shell.FormatUp(report.Epsilon, f == table.CSV), strconv.FormatFloat(report.Delta, 'g', -1, 64), releasable,
			}},
		}
	})
}
