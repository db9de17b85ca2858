package account

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

const plotPoints = 60

func plotAccount(ctx context.Context, path string, names []string, cfg accountant.RDPConfig, schedule accountant.Schedule, delta float64) error {
	total := int64(0)
	for _, e := range schedule.Events {
		if r, ok := e.(accountant.Repeated); ok && r.Count <= math.MaxInt64-total {
			total += r.Count
		}
	}
	if total < 2 {
		return shell.InputError(errors.New("--plot: no event of the list is repeated"),
			"epsilon is drawn against the number of repetitions", "wrap an event in {\"type\":\"repeated\",\"count\":…,\"event\":…}", "account")
	}
	var lines []figure.Line
	for i, name := range names { // the colour depends on the name
		l := figure.Line{Name: name, Colour: i}
		for i := 1; i <= plotPoints; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			share := float64(i) / plotPoints
			steps, part := partOf(schedule, share)
			if n := len(l.Points); n > 0 && l.Points[n-1].X == float64(steps) {
				continue
			}
			r, err := accountBy(ctx, &shell.Globals{Quiet: true}, name, cfg, part, accountReport{Delta: &delta}, false)
			if err != nil {
				return err
			}
			value := r.Epsilon
			if r.Estimate != nil {
				value, l.Name, l.Dashed = r.Estimate, name+" (no bound)", true
			}
			if value != nil && !math.IsInf(float64(*value), 1) {
				l.Points = append(l.Points, figure.Point{X: float64(steps), Y: float64(*value)})
			}
		}
		if len(l.Points) > 0 {
			lines = append(lines, l)
		}
	}
	if len(lines) == 0 {
		return shell.InputError(errors.New("--plot: no accountant has a finite epsilon to draw"), "",
			"choose another --accountant or --delta", "account")
	}
	return durable.WriteBytes(path, 0o644, drawLines(lines, delta))
}

func partOf(schedule accountant.Schedule, share float64) (int64, accountant.Schedule) {
	out := accountant.Schedule{Relation: schedule.Relation}
	steps := int64(0)
	for _, e := range schedule.Events {
		if r, ok := e.(accountant.Repeated); ok {
			r.Count = min(r.Count, int64(math.Ceil(share*float64(r.Count))))
			steps += r.Count
			e = r
		}
		out.Events = append(out.Events, e)
	}
	return steps, out
}

func drawLines(lines []figure.Line, delta float64) []byte {
	f := figure.Figure{Title: "ε against steps", X: figure.Axis{Label: "steps"},
		Y: figure.Axis{Label: "ε (δ = " + number.Exact(delta) + ")"}, Lines: lines}
	low, high, least := math.Inf(1), 0.0, math.Inf(1)
	for _, l := range lines {
		last := l.Points[len(l.Points)-1]
		low, high, f.X.High = min(low, last.Y), max(high, last.Y), max(f.X.High, last.X)
		for _, q := range l.Points {
			if q.Y > 0 {
				least = min(least, q.Y)
			}
		}
	}
	f.Y.High = high * 1.05
	if high > 20*low && low > 0 {
		f.Y.Low, f.Y.Log = least, true
		for i, l := range lines {
			lines[i].Points = slices.DeleteFunc(l.Points, func(q figure.Point) bool { return q.Y <= 0 })
		}
	}
	return f.SVG()
}

const riskPlotPoints = 80

func plotRisk(ctx context.Context, path string, names []string, _ accountant.RDPConfig, schedule accountant.Schedule,
	delta float64) error {
	method, byPLD, byRDP := accountant.ByAuto, slices.Contains(names, "pld"), slices.Contains(names, "rdp")
	switch {
	case byPLD && !byRDP:
		method = accountant.ByPLD
	case byRDP && !byPLD:
		method = accountant.ByRDP
	}
	account, err := tightOf(method, schedule)
	if err != nil {
		return err
	}
	claim, err := account.Claim(ctx, delta)
	if err != nil {
		return err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return err
	}
	curve := figure.Line{Name: "at least, by the whole curve (" + string(risk.By) + ")"}
	pair := figure.Line{Colour: 1, Dashed: true,
		Name: "at least, by ε = " + shell.FormatUp(claim.Upper, false) + ", δ = " + number.Exact(delta) + " alone"}
	for i := range riskPlotPoints + 1 {
		fpr := math.Pow(float64(i)/riskPlotPoints, 2)
		v, err := risk.Tradeoff(fpr)
		if err != nil {
			return err
		}
		curve.Points = append(curve.Points, figure.Point{X: fpr, Y: v.Lower})
	}
	for i := range 1001 {
		fpr := math.Pow(float64(i)/1000, 2)
		pair.Points = append(pair.Points, figure.Point{X: fpr, Y: 1 - statement.TPR(claim.Upper, delta, fpr)})
	}
	return durable.WriteBytes(path, 0o644, figure.Figure{
		Title: "Share of participants that an attack misses against its share of false alarms",
		X:     figure.Axis{Label: "share of those who did not take part that is wrongly accused", High: 1},
		Y:     figure.Axis{Label: "share of those who did that is missed", High: 1},
		Lines: []figure.Line{{Name: "guessing", Colour: -1, Dashed: true, Points: []figure.Point{{Y: 1}, {X: 1}}}, curve, pair},
	}.SVG())
}

type riskReport struct {
	advantage accountant.Interval
	gdp       accountant.GDP
	chances   []chances
}

type chances struct {
	name, of, words string
	at              []float64
	all             []accountant.Interval
}

func (r *riskReport) MarshalJSON() ([]byte, error) {
	out := shell.Object{"advantage", r.advantage,
		"mu", shell.Object{"upper", shell.Number(r.gdp.Mu), "delta", r.gdp.Delta, "regret", r.gdp.Regret}}
	for _, c := range r.chances {
		var list []shell.Object
		for i, v := range c.all {
			list = append(list, shell.Object{c.of, c.at[i], "lower", v.Lower, "upper", v.Upper})
		}
		out = append(out, c.name, list)
	}
	return out.MarshalJSON()
}

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

func riskBy(ctx context.Context, name string, schedule accountant.Schedule) (*riskReport, error) {
	account, err := tightOf(accountant.Method(name), schedule)
	if err != nil {
		return nil, err
	}
	risk, err := account.Risk(ctx)
	if err != nil {
		return nil, err
	}
	out := &riskReport{risk.Advantage(), risk.GDP(), []chances{
		{name: "bayes", of: "prior", words: "guesses right, prior", at: []float64{0.5, 0.1, 0.01}},
		{name: "tpr", of: "fpr", words: "finds, at false alarms", at: []float64{0.001, 0.01, 0.1}},
		// This bounds the chance of guessing an attribute that a fraction base_rate of people have.
		{name: "reconstruction", of: "base_rate", words: "guesses a value, base rate", at: []float64{0.5, 0.1, 0.001}},
	}}
	for i := range out.chances {
		c, bound := &out.chances[i], risk.TPR
		if c.name == "bayes" {
			bound = risk.Right
		}
		for _, x := range c.at {
			v, err := bound(x)
			if err != nil {
				return nil, err
			}
			c.all = append(c.all, v)
		}
	}
	return out, nil
}

func (r accountReport) riskTable(exact bool) table.Table {
	t := shell.TableOf("<accountant", "<an attacker", "at", "at least", "at most")
	for _, res := range r.Results {
		risk := res.Risk
		if risk == nil {
			continue
		}
		for _, i := range []int{1, 0, 2} {
			c := risk.chances[i]
			for k, v := range c.all {
				t.Rows = append(t.Rows, []string{res.Accountant, c.words, number.Exact(c.at[k]), shell.FormatDown(v.Lower),
					shell.FormatUp(v.Upper, exact)})
			}
		}
		mu := fmt.Sprintf("is as Gaussian DP (regret %s)", shell.FormatUp(risk.gdp.Regret, false))
		t.Rows = append(t.Rows,
			[]string{res.Accountant, "has an advantage", "", shell.FormatDown(risk.advantage.Lower),
				shell.FormatUp(risk.advantage.Upper, exact)},
			[]string{res.Accountant, mu, "mu", "", shell.FormatUp(risk.gdp.Mu, exact)})
	}
	return t
}
