package account

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

// riskReport is what an attacker can do, of one accountant.
type riskReport struct {
	Advantage accountant.Interval `json:"advantage"`
	Mu        riskMu              `json:"mu"`
	Bayes     []riskGuess         `json:"bayes"` // chance of the best guess at a prior
	TPR       []riskRate          `json:"tpr"`
	// Reconstruction bounds the chance to guess a value that is right for a share of all
	// people: of rebuilding a record, or inferring an attribute.
	Reconstruction []riskBase `json:"reconstruction"`
}

type riskMu struct {
	Upper  shell.Number `json:"upper"`
	Delta  float64      `json:"delta"` // the chance beside it
	Regret float64      `json:"regret"`
}

type riskGuess struct {
	Prior float64 `json:"prior"`
	accountant.Interval
}

type riskRate struct {
	FPR float64 `json:"fpr"`
	accountant.Interval
}

type riskBase struct {
	BaseRate float64 `json:"base_rate"`
	accountant.Interval
}

// tightOf composes a schedule.
func tightOf(m accountant.Method, schedule accountant.Schedule) (*accountant.Auto, error) {
	account, err := accountant.NewAuto(accountant.AutoConfig{Relation: schedule.Relation, Method: m})
	if err != nil {
		return nil, err
	}
	for _, e := range schedule.Events {
		if err := account.Compose(e, 1); err != nil {
			return nil, err
		}
	}
	return account, nil
}

// riskBy returns the risk of a schedule as one accountant bounds it.
func riskBy(ctx context.Context, name string, schedule accountant.Schedule) (*riskReport, error) {
	account, err := tightOf(accountant.Method(name), schedule)
	if err != nil {
		return nil, err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return nil, err
	}
	gdp := risk.GDP()
	out := &riskReport{Advantage: risk.Advantage(), Mu: riskMu{shell.Number(gdp.Mu), gdp.Delta, gdp.Regret}}
	for _, prior := range []float64{0.5, 0.1, 0.01} {
		v, err := risk.Right(prior)
		if err != nil {
			return nil, err
		}
		out.Bayes = append(out.Bayes, riskGuess{prior, v})
	}
	for _, fpr := range []float64{0.001, 0.01, 0.1} {
		v, err := risk.TPR(fpr)
		if err != nil {
			return nil, err
		}
		out.TPR = append(out.TPR, riskRate{fpr, v})
	}
	for _, base := range []float64{0.5, 0.1, 0.001} {
		v, err := risk.TPR(base)
		if err != nil {
			return nil, err
		}
		out.Reconstruction = append(out.Reconstruction, riskBase{base, v})
	}
	return out, nil
}

// riskTable prints the risks of a report; it is empty where none was asked for.
func (r accountReport) riskTable(exact bool) table.Table {
	t := table.Table{Header: []string{"accountant", "an attacker", "at", "at least", "at most"}, Left: []bool{true, true, false, false, false}}
	for _, res := range r.Results {
		risk := res.Risk
		if risk == nil {
			continue
		}
		row := func(what string, at float64, v accountant.Interval) {
			where := ""
			if at >= 0 {
				where = strconv.FormatFloat(at, 'g', -1, 64)
			}
			t.Rows = append(t.Rows, []string{res.Accountant, what, where, shell.FormatDown(v.Lower), shell.FormatUp(v.Upper, exact)})
		}
		for _, v := range risk.TPR {
			row("finds, at false alarms", v.FPR, v.Interval)
		}
		for _, v := range risk.Bayes {
			row("guesses right, prior", v.Prior, v.Interval)
		}
		for _, v := range risk.Reconstruction {
			row("guesses a value, base rate", v.BaseRate, v.Interval)
		}
		row("has an advantage", -1, risk.Advantage)
		t.Rows = append(t.Rows, []string{res.Accountant, fmt.Sprintf("is as Gaussian DP (regret %s)", shell.FormatUp(risk.Mu.Regret,
			false)), "mu", "", shell.FormatUp(float64(risk.Mu.Upper), exact)})
	}
	return t
}
