package account

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// saidAs is one way to state a cost, with the consequences of that statement alone.
type saidAs struct {
	As      string       `json:"as"`
	Value   string       `json:"value"`
	Epsilon shell.Number `json:"epsilon"`  // at the delta asked for
	TPR     float64      `json:"tpr_at_1"` // found at 1 % false alarms, at most
	Loss    string       `json:"loss"`
}

// saidAt is the rate of false alarms at which ways are compared.
const saidAt = 0.01

// saidWays states a schedule in all ways that exist for it, the curve first.
func saidWays(ctx context.Context, schedule accountant.Schedule, delta float64) ([]saidAs, error) {
	account, err := tightOf(accountant.ByAuto, schedule)
	if err != nil {
		return nil, err
	}
	claim, err := account.Claim(ctx, delta)
	if err != nil {
		return nil, err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return nil, err
	}
	tpr, err := risk.TPR(saidAt)
	if err != nil {
		return nil, err
	}
	all := []saidAs{
		{"a trade-off curve", "by " + string(risk.By), shell.Number(claim.Upper), tpr.Upper, "nothing: every line below follows from it"},
		{"(epsilon, delta)", fmt.Sprintf("(%s, %v)", shell.FormatUp(claim.Upper, false), delta), shell.Number(claim.Upper),
			statement.TPR(claim.Upper, delta, saidAt), "all other deltas; exact for the worst run that keeps it"},
	}
	gaussian, err := asGaussian(risk.GDP(), delta)
	concentrated, err2 := asConcentrated(ctx, schedule, delta)
	pure, err3 := asPure(ctx, schedule, delta)
	for _, way := range []*saidAs{gaussian, concentrated, pure} {
		if way != nil {
			all = append(all, *way)
		}
	}
	return all, cmp.Or(err, err2, err3)
}

// asGaussian states a run as mu of Gaussian differential privacy; nil if none holds.
func asGaussian(gdp accountant.GDP, delta float64) (*saidAs, error) {
	if math.IsInf(gdp.Mu, 1) || gdp.Mu == 0 || delta <= gdp.Delta {
		return nil, nil
	}
	epsilon, err := accountant.GaussianEpsilon(1/gdp.Mu, delta-gdp.Delta)
	if err != nil {
		return nil, err
	}
	loss := fmt.Sprintf("a test finds up to %s less than its curve says", shell.FormatUp(gdp.Regret, false))
	if gdp.Regret == 0 {
		loss = "nothing: it is Gaussian noise"
	}
	tpr := distuv.UnitNormal.CDF(distuv.UnitNormal.Quantile(saidAt)+gdp.Mu)*(1+1e-12) + gdp.Delta
	return &saidAs{"mu of Gaussian DP", "mu = " + shell.FormatUp(gdp.Mu, false), shell.Number(epsilon * (1 + 1e-12)), math.Min(1, tpr), loss}, nil
}

// asConcentrated states a run as rho-zCDP; nil if it has no rho.
func asConcentrated(ctx context.Context, schedule accountant.Schedule, delta float64) (*saidAs, error) {
	z, err := theorems.NewZCDP(schedule.Relation, accountant.Improved)
	if err != nil {
		return nil, err
	}
	if refused, err := composeAll(z.Compose, schedule.Events); err != nil || refused != "" {
		return nil, err
	}
	rho, failure := z.Rho()
	if math.IsInf(rho, 1) {
		return nil, nil
	}
	b, err := z.Epsilon(ctx, delta)
	if err != nil {
		return nil, err
	}
	tpr, err := z.TPR(saidAt)
	value := "rho = " + shell.FormatUp(rho, false)
	if failure > 0 {
		value += " but for " + strconv.FormatFloat(failure, 'g', 3, 64)
	}
	return &saidAs{"rho of zCDP", value, shell.Number(b.Upper), tpr, "all but one line above the divergences of all orders"}, err
}

// asPure states a run as a pure epsilon; nil if it has none.
func asPure(ctx context.Context, schedule accountant.Schedule, delta float64) (*saidAs, error) {
	basic, err := theorems.NewBasic(schedule.Relation)
	if err != nil {
		return nil, err
	}
	if refused, err := composeAll(basic.Compose, schedule.Events); err != nil || refused != "" {
		return nil, err
	}
	b, err := basic.Epsilon(ctx, 0)
	if err != nil || math.IsInf(b.Upper, 1) {
		return nil, err
	}
	return &saidAs{"a pure epsilon", shell.FormatUp(b.Upper, false), shell.Number(theorems.PairEpsilon(b.Upper, 0, delta)),
		statement.TPR(b.Upper, 0, saidAt), "how rare the worst is; exact for one randomised response"}, nil
}
