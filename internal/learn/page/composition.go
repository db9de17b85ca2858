package page

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/internal/learn"
)

func composition(c *Chapter) {
	c.draw = drawComposition
	c.trace = func(r *reader) (string, map[string]string) {
		if r.text("step") == "pure" {
			return "composition", map[string]string{"epsilon": r.text("epsilon"), "runs": short(answersOf(r))}
		}
		return "moments", nil
	}
	c.exercise("advanced", 0.01, func() float64 { return byAccount(advancedAccount(), accountant.PureDP{Epsilon: 0.1}, 100) })
	c.exercise("moments", 0.01, func() float64 { return byAccount(momentsAccount(), sampledStep(0.01, 4), 10000) })
}

func answersOf(r *reader) float64 { return math.Round(math.Pow(10, r.number("decade"))) }

func sampledStep(q, noise float64) accountant.Event {
	return accountant.PoissonSampled{Probability: q, Event: accountant.Gaussian{NoiseMultiplier: noise}}
}

func advancedAccount() accountant.Accountant {
	return learn.Must(theorems.NewAdvanced(accountant.AddRemove, theorems.BestTheorem))
}

func momentsAccount() accountant.Accountant {
	return learn.Must(theorems.NewMoments(accountant.AddRemove))
}

func byAccount(account accountant.Accountant, e accountant.Event, count int64) float64 {
	account = learn.Must(account, account.Compose(e, count))
	return learn.Must(account.Epsilon(context.Background(), Delta)).Upper
}

type runner struct {
	name, class string
	account     func() accountant.Accountant
}

func runners(step string) []runner {
	basic := runner{"basic", "curve b", func() accountant.Accountant { return learn.Must(theorems.NewBasic(accountant.AddRemove)) }}
	advanced := runner{"advanced", "curve f", advancedAccount}
	zcdp := runner{"zCDP", "curve c", func() accountant.Accountant {
		return learn.Must(theorems.NewZCDP(accountant.AddRemove, accountant.Improved))
	}}
	rdp := runner{"Rényi", "curve d", func() accountant.Accountant {
		return learn.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
	}}
	moments := runner{"moments, 2016", "curve", momentsAccount}
	switch step {
	case "pure":
		return []runner{basic, advanced, zcdp, rdp}
	case "gaussian":
		return []runner{zcdp, rdp, moments}
	}
	return []runner{moments, rdp}
}

func drawComposition(r *reader) (v View) {
	step := r.text("step")
	var e accountant.Event
	switch step {
	case "pure":
		e = accountant.PureDP{Epsilon: r.number("epsilon")}
	case "gaussian":
		e = accountant.Gaussian{NoiseMultiplier: r.number("noise")}
	default:
		e = sampledStep(r.number("probability"), r.number("noise"))
	}
	now, all := answersOf(r), runners(step)
	race, table := drawRace(e, all, now), &Table{Head: []string{"accountant", "ε"}}
	bound, least := pldInterval(e, int64(now)), math.Inf(1)
	values, most := []Number{}, bound.Upper
	for _, a := range all {
		x := byAccount(a.account(), e, int64(now))
		least, most = min(least, x), max(most, x)
		values = append(values, Number{Name: a.name, Value: x})
	}
	bars, y := newCanvas(plotHeight), 34.0
	for _, n := range append(values, Number{Name: "privacy loss distribution", Value: bound.Upper}) {
		width := max(2, (panelWidth-110)*n.Value/most)
		v.claim(n.Name, n.Value)
		bars.text("name", "start", 8, y, n.Name)
		bars.rect("here", 8, y+6, width, 16)
		bars.text("value", "start", 14+width, y+19, up(n.Value))
		y += 46
		table.Rows = append(table.Rows, []string{n.Name, up(n.Value)})
	}
	v.number("privacy loss distribution, certified from below", bound.Lower)
	v.Panels = []Panel{
		race.panel("race", "The race", fmt.Sprintf("epsilon of %s accountants over the number of answers; at %s answers the smallest is %s.",
			short(float64(len(all)+1)), short(now), up(min(least, bound.Upper))), table),
		bars.panel("now", "At "+short(now)+" answers",
			fmt.Sprintf("the privacy loss distribution certifies that epsilon lies between %s and %s.", short(bound.Lower), up(bound.Upper)), table),
	}
	v.say("After %s answers, the privacy loss distribution certifies ε between %s and %s at δ = %s. "+
		"The least ε of the other accountants is %s.",
		short(now), short(bound.Lower), up(bound.Upper), short(Delta), up(least))
	v.Verdict = Verdict{Holds: true, Words: "All bounds hold. They differ because the accountants use different information about the noise."}
	v.Command = accountCommand(repeatedJSON(e, int(now)), "all")
	if step == "pure" {
		v.Panels = append(v.Panels, drawWalk(r.number("epsilon"), now))
		v.Command = fmt.Sprintf("pate learn explain composition --epsilon %s --runs %s", r.text("epsilon"), short(now))
	}
	return v
}

func drawRace(e accountant.Event, all []runner, now float64) *plot {
	var ks, exact, lower, upper []float64
	for d := 0.0; d <= 4; d += 0.5 {
		ks = append(ks, math.Pow(10, d))
	}
	lines, top := make([][]float64, len(all)), 0.0
	for i, a := range all {
		for _, k := range ks {
			x := byAccount(a.account(), e, int64(math.Round(k)))
			lines[i], top = append(lines[i], x), max(top, min(x, 100))
		}
	}
	low := math.Pow(10, math.Floor(math.Log10(max(1e-3, lines[len(lines)-1][0]))))
	p := newPlot(axis{label: "answers", low: 1, high: 1e4, log: true},
		axis{label: "ε at δ = 1e-5, log scale", low: low, high: math.Pow(10, math.Ceil(math.Log10(top))), log: true})
	for i, a := range all {
		p.curve(a.class, ks, lines[i])
		p.key(a.class, p.right-180, i-len(all)-2, a.name)
	}
	for i, k := range ks {
		if _, sampled := e.(accountant.PoissonSampled); sampled && i%2 == 1 {
			continue // convolutions are slow, so only powers of 10 are drawn
		}
		b := pldInterval(e, int64(math.Round(k)))
		exact, lower, upper = append(exact, k), append(lower, b.Lower), append(upper, b.Upper)
	}
	p.area("band", exact, lower, upper)
	p.curve("curve", exact, upper)
	p.key("curve", p.right-180, -2, "privacy loss distribution, both sides")
	p.line("now", p.px(now), p.top, p.px(now), p.bottom)
	return p
}

func accountCommand(event, accountants string) string {
	return fmt.Sprintf(`echo '{"relation":"add_remove","events":[%s]}' | pate account - --accountant %s`, event, accountants)
}

func eventJSON(e accountant.Event) string { return string(learn.Must(accountant.MarshalEvent(e))) }

func repeatedJSON(e accountant.Event, count int) string {
	return fmt.Sprintf(`{"type":"repeated","count":%d,"event":%s}`, count, eventJSON(e))
}

func pldInterval(e accountant.Event, count int64) accountant.Bound {
	return learn.Must(pldOf(e, count).Epsilon(context.Background(), Delta))
}

func drawWalk(epsilon, now float64) Panel {
	top := nice(now*epsilon*math.Tanh(epsilon/2) + 5*epsilon*math.Sqrt(now))
	p := newPlot(axis{label: "answers", low: 0, high: now}, axis{label: "total loss", low: -top / 3, high: top})
	var xs, mean, low, high, basic []float64
	for i := range 41 {
		k := now * float64(i) / 40
		m, sd := k*epsilon*math.Tanh(epsilon/2), epsilon*math.Sqrt(k)/math.Cosh(epsilon/2)
		xs, mean, low, high, basic = append(xs, k), append(mean, m), append(low, m-2*sd), append(high, m+2*sd), append(basic, min(top, k*epsilon))
	}
	p.area("band", xs, low, high)
	p.curve("curve", xs, mean)
	p.curve("curve b", xs, basic)
	p.key("curve b", p.right-150, -3, "basic: the worst case")
	p.key("curve", p.right-150, -2, "mean, and 2 sd")
	return p.panel("walk", "Sum of the privacy losses", "the sum of losses drifts up and spreads like the square root of the number of answers.", nil)
}
