package account

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

// riskReport is what an attacker can do, of one accountant. Reconstruction bounds the chance to guess a value that is
// right for a share of all people: of rebuilding a record, or inferring an attribute.
type riskReport struct {
	advantage                  accountant.Interval
	gdp                        accountant.GDP
	bayes, tpr, reconstruction []riskAt
}

// riskAt is a chance at a prior, a rate of false alarms or a base rate.
type riskAt struct {
	at float64
	accountant.Interval
}

func (r *riskReport) MarshalJSON() ([]byte, error) {
	list := func(name string, all []riskAt) (out []shell.Object) {
		for _, v := range all {
			out = append(out, shell.Object{name, v.at, "lower", v.Lower, "upper", v.Upper})
		}
		return out
	}
	return shell.Object{"advantage", r.advantage,
		"mu", shell.Object{"upper", shell.Number(r.gdp.Mu), "delta", r.gdp.Delta, "regret", r.gdp.Regret},
		"bayes", list("prior", r.bayes), "tpr", list("fpr", r.tpr), "reconstruction", list("base_rate", r.reconstruction)}.MarshalJSON()
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
	out := &riskReport{advantage: risk.Advantage(), gdp: risk.GDP()}
	for _, question := range []struct {
		answers *[]riskAt
		of      func(float64) (accountant.Interval, error)
		at      []float64
	}{
		{&out.bayes, risk.Right, []float64{0.5, 0.1, 0.01}},
		{&out.tpr, risk.TPR, []float64{0.001, 0.01, 0.1}},
		{&out.reconstruction, risk.TPR, []float64{0.5, 0.1, 0.001}},
	} {
		for _, x := range question.at {
			v, err := question.of(x)
			if err != nil {
				return nil, err
			}
			*question.answers = append(*question.answers, riskAt{x, v})
		}
	}
	return out, nil
}

// riskTable prints the risks of a report; it is empty where none was asked for.
func (r accountReport) riskTable(exact bool) table.Table {
	t := shell.TableOf("<accountant", "<an attacker", "at", "at least", "at most")
	for _, res := range r.Results {
		risk := res.Risk
		if risk == nil {
			continue
		}
		rows := func(what string, all []riskAt) {
			for _, v := range all {
				t.Rows = append(t.Rows, []string{res.Accountant, what, number.Exact(v.at), shell.FormatDown(v.Lower),
					shell.FormatUp(v.Upper, exact)})
			}
		}
		rows("finds, at false alarms", risk.tpr)
		rows("guesses right, prior", risk.bayes)
		rows("guesses a value, base rate", risk.reconstruction)
		mu := fmt.Sprintf("is as Gaussian DP (regret %s)", shell.FormatUp(risk.gdp.Regret, false))
		t.Rows = append(t.Rows,
			[]string{res.Accountant, "has an advantage", "", shell.FormatDown(risk.advantage.Lower),
				shell.FormatUp(risk.advantage.Upper, exact)},
			[]string{res.Accountant, mu, "mu", "", shell.FormatUp(risk.gdp.Mu, exact)})
	}
	return t
}
