package main

import (
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/stable"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/label"
)

const schemaLabel = "pate.label/1"

// labelReport is the JSON of `pate label`.
type labelReport struct {
	Schema     string      `json:"schema"`
	Asked      int         `json:"asked"`
	Answered   int         `json:"answered"`
	Declined   int         `json:"declined"`
	NotAsked   int         `json:"not_asked"`
	Epsilon    float64     `json:"epsilon"` // of these labels by themselves
	Delta      float64     `json:"delta"`
	Releasable bool        `json:"releasable"`
	Mechanism  string      `json:"mechanism"`
	Threshold  *float64    `json:"threshold,omitempty"`
	Sigma      float64     `json:"sigma,omitempty"`
	Sigma1     float64     `json:"sigma1,omitempty"`
	Sigma2     float64     `json:"sigma2,omitempty"`
	Scale      float64     `json:"scale,omitempty"`
	Answers    int         `json:"answers,omitempty"` // cap
	Lambda     float64     `json:"lambda,omitempty"`
	B1         float64     `json:"b1,omitempty"`
	B2         float64     `json:"b2,omitempty"`
	Failures   int         `json:"failures,omitempty"` // cap
	Calibrated bool        `json:"calibrated"`
	Resumed    bool        `json:"resumed"`
	Complete   bool        `json:"complete"` // before this command
	Ledger     labelLedger `json:"ledger"`
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
	s := r.Setting
	report := labelReport{
		Schema: schemaLabel, Asked: r.Asked, Answered: r.Answered, Declined: r.Declined, NotAsked: r.NotAsked,
		Epsilon: r.Epsilon, Delta: r.Delta, Releasable: r.Releasable,
		Mechanism: s.Mechanism, Sigma: s.Sigma, Scale: s.Scale,
		Calibrated: r.Calibrated, Resumed: r.Resumed, Complete: r.Complete,
		Ledger: labelLedger{
			Unit: r.Account.Unit, Relation: r.Account.Relation, Mode: r.Account.Mode,
			Budget: r.Account.Epsilon, Claim: r.Claim, LeftRho: r.Left.Rho,
		},
	}
	if s.Tested() {
		report.Threshold, report.Answers = &s.Threshold, s.Answers
		report.Sigma, report.Sigma1, report.Sigma2 = 0, s.Sigma1, s.Sigma
	}
	if s.Stable() {
		report.Threshold, report.Failures = &s.Threshold, s.Failures
	}
	switch s.Mechanism {
	case stable.MSvec:
		report.Scale, report.Lambda = 0, s.Scale
	case stable.SVT:
		report.Scale, report.B1, report.B2 = 0, s.ThresholdScale, s.Scale
	}
	return report
}

func writeLabelReport(g *globals, r label.Result) error {
	report := newLabelReport(r)
	format := g.parsedFormat()
	if format == table.JSON {
		return writeJSON(g.stdout, report)
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
			formatUp(report.Epsilon, format == table.CSV), strconv.FormatFloat(report.Delta, 'g', -1, 64), releasable,
		}},
	}
	return t.Write(g.stdout, format)
}
