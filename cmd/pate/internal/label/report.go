package label

import (
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
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
	Mechanism  string  `json:"mechanism"`
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
	Ledger     labelLedger        `json:"ledger"`
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
		Epsilon: r.Epsilon, Delta: r.Delta, Releasable: r.Releasable,
		Mechanism: r.Setting.Mechanism, Noise: v,
		Sigma: v["sigma"], Sigma1: v["sigma1"], Sigma2: v["sigma2"], Scale: v["scale"], Lambda: v["lambda"], B1: v["b1"], B2: v["b2"],
		Answers: int(v["answers"]), Failures: int(v["failures"]),
		Calibrated: r.Calibrated, Resumed: r.Resumed, Complete: r.Complete,
		Accountant: r.By,
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

func writeLabelReport(g *shell.Globals, r label.Result) error {
	report := newLabelReport(r)
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, report)
	}
	releasable := "no: seeded"
	if report.Releasable {
		releasable = "yes"
	}
	t := table.Table{
		Header: []string{"asked", "answered", "declined", "not asked", "epsilon", "delta", "releasable"},
		Left:   []bool{false, false, false, false, false, false, true},
		Rows: [][]string{{
			strconv.Itoa(report.Asked), strconv.Itoa(report.Answered), strconv.Itoa(report.Declined), strconv.Itoa(report.NotAsked),
			shell.FormatUp(report.Epsilon, format == table.CSV), strconv.FormatFloat(report.Delta, 'g', -1, 64), releasable,
		}},
	}
	return t.Write(g.Stdout, format)
}
