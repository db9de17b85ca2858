package page

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

func composition() Chapter {
	t := readText("composition")
	return Chapter{
		Name: "composition", Text: t,
		Knobs: []Knob{
			{ID: "step", Label: "What is repeated", Kind: Pick, Default: "pure", Choices: []Choice{
				{"pure", "an ε-private answer"}, {"gaussian", "Gaussian noise"}, {"sampled", "a step of DP-SGD, as in 2016"},
			}},
			{ID: "epsilon", Label: "ε of one answer", Kind: Range, Min: 0.01, Max: 1, Step: 0.01, Default: "0.1", For: "step=pure"},
			{ID: "noise", Label: "Noise over sensitivity", Kind: Range, Min: 1, Max: 40, Step: 0.5, Default: "4", For: "step=gaussian|sampled"},
			{ID: "probability", Label: "Chance to be in the sample", Kind: Range, Min: 0.001, Max: 0.1, Step: 0.001, Default: "0.01", For: "step=sampled"},
			{ID: "decade", Label: "Answers, as a power of 10", Kind: Range, Min: 0, Max: 4, Step: 0.25, Default: "2", Play: true},
		},
		Scenes: []Scene{
			{"A hundred answers of 0.1", nil},
			{"Ten thousand: the drift overtakes", Situation{"decade": "4"}},
			{"Gaussian noise", Situation{"step": "gaussian", "noise": "20"}},
			{"The figure of 2016", Situation{"step": "sampled", "decade": "4"}},
		},
		Exercises: []Exercise{
			t.exercise("advanced", func() (float64, error) {
				return byAccount(advancedAccount, accountant.PureDP{Epsilon: 0.1}, 100)
			}, 0.01),
			t.exercise("moments", func() (float64, error) {
				return byAccount(momentsAccount, sampledStep(0.01, 4), 10000)
			}, 0.01),
		},
		Code: []string{"accountant/theorems.basicEpsilon", "accountant/theorems.lossMoments.kairouzOhViswanath"},
		draw: drawComposition,
		trace: func(r *reader) (string, map[string]string) {
			k := short(answersOf(r))
			if r.text("step") == "pure" {
				return "composition", map[string]string{"epsilon": r.text("epsilon"), "runs": k}
			}
			return "moments", map[string]string{}
		},
	}
}

// answersOf returns the whole number of answers that the knob says.
func answersOf(r *reader) float64 { return math.Round(math.Pow(10, r.number("decade"))) }

func sampledStep(q, noise float64) accountant.Event {
	return accountant.PoissonSampled{Probability: q, Event: accountant.Gaussian{NoiseMultiplier: noise}}
}

func advancedAccount() (accountant.Accountant, error) {
	return theorems.NewAdvanced(accountant.AddRemove, theorems.BestTheorem)
}

func momentsAccount() (accountant.Accountant, error) {
	return theorems.NewMoments(accountant.AddRemove)
}

// byAccount returns the claim of an accountant for repeated events.
func byAccount(make func() (accountant.Accountant, error), e accountant.Event, count int64) (float64, error) {
	account, err := make()
	if err == nil {
		err = account.Compose(e, count)
	}
	if err != nil {
		return 0, err
	}
	b, err := account.Epsilon(context.Background(), Delta)
	return b.Upper, err
}

// runner is an accountant in the race.
type runner struct {
	name, class string
	account     func() (accountant.Accountant, error)
}

func runners(step string) []runner {
	basic := runner{"basic", "curve b", func() (accountant.Accountant, error) { return theorems.NewBasic(accountant.AddRemove) }}
	advanced := runner{"advanced", "curve f", advancedAccount}
	zcdp := runner{"zCDP", "curve c", func() (accountant.Accountant, error) {
		return theorems.NewZCDP(accountant.AddRemove, accountant.Improved)
	}}
	rdp := runner{"Rényi", "curve d", func() (accountant.Accountant, error) {
		return accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
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

func drawComposition(r *reader) (v View, err error) {
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
	now := answersOf(r)
	all, ks := runners(step), []float64{}
	for d := 0.0; d <= 4; d += 0.5 {
		ks = append(ks, math.Pow(10, d))
	}
	lines := make([][]float64, len(all))
	top := 0.0
	for i, a := range all {
		for _, k := range ks {
			x, err := byAccount(a.account, e, int64(math.Round(k)))
			if err != nil {
				return v, err
			}
			lines[i] = append(lines[i], x)
			top = max(top, min(x, 100))
		}
	}
	low := math.Pow(10, math.Floor(math.Log10(max(1e-3, lines[len(lines)-1][0]))))
	p := newPlot(axis{label: "answers", low: 1, high: 1e4, log: true}, axis{label: "ε at δ = 1e-5, log scale", low: low, high: math.Pow(10, math.Ceil(math.Log10(top))), log: true})
	table := &Table{Head: []string{"accountant", "ε"}}
	for i, a := range all {
		p.curve(a.class, ks, lines[i])
		p.key(a.class, p.right-180, i-len(all)-2, a.name)
	}
	exact, lower, upper := []float64{}, []float64{}, []float64{}
	for i, k := range ks {
		if _, sampled := e.(accountant.PoissonSampled); sampled && i%2 == 1 {
			continue // its losses are convolved: whole powers of 10 answer while a knob is turned
		}
		b, err := pldInterval(e, int64(math.Round(k)))
		if err != nil {
			return v, err
		}
		exact, lower, upper = append(exact, k), append(lower, b.Lower), append(upper, b.Upper)
	}
	p.area("band", exact, lower, upper)
	p.curve("curve", exact, upper)
	p.key("curve", p.right-180, -2, "loss distribution, both sides")
	p.line("now", p.px(now), p.top, p.px(now), p.bottom)
	bars := newCanvas(plotHeight)
	y := 34.0
	bound, err := pldInterval(e, int64(now))
	if err != nil {
		return v, err
	}
	values := []Number{}
	least := math.Inf(1)
	for _, a := range all {
		x, err := byAccount(a.account, e, int64(now))
		if err != nil {
			return v, err
		}
		least = min(least, x)
		values = append(values, Number{Name: a.name, Value: x})
	}
	values = append(values, Number{Name: "loss distribution", Value: bound.Upper})
	most := 0.0
	for _, n := range values {
		most = max(most, n.Value)
	}
	for _, n := range values {
		v.claim(n.Name, n.Value)
		bars.text("name", "start", 8, y, n.Name)
		bars.rect("here", 8, y+6, max(2, (panelWidth-110)*n.Value/most), 16)
		bars.text("value", "start", 14+max(2, (panelWidth-110)*n.Value/most), y+19, up(n.Value))
		y += 46
		table.Rows = append(table.Rows, []string{n.Name, up(n.Value)})
	}
	v.number("loss distribution, certified from below", bound.Lower)
	v.Panels = []Panel{
		p.panel("race", "The race", fmt.Sprintf("epsilon of %s accountants over the number of answers; at %s answers the smallest is %s.", short(float64(len(all)+1)), short(now), up(min(least, bound.Upper))), table),
		bars.panel("now", "At "+short(now)+" answers", fmt.Sprintf("the loss distribution certifies that epsilon lies between %s and %s.", short(bound.Lower), up(bound.Upper)), table),
	}
	if step == "pure" {
		v.Panels = append(v.Panels, drawWalk(r.number("epsilon"), now))
	}
	v.say("%s answers: the loss-distribution accountant certifies ε between %s and %s at δ = %s; the others claim from %s.", short(now), short(bound.Lower), up(bound.Upper), short(Delta), up(least))
	v.Verdict = Verdict{Holds: true, Words: "All claims are true; they differ in how much of the noise they know."}
	if step == "pure" {
		v.Command = fmt.Sprintf("pate learn explain composition --epsilon %s --runs %s", r.text("epsilon"), short(now))
	} else {
		v.Command = fmt.Sprintf(`echo '{"relation":"add_remove","events":[{"type":"repeated","count":%s,"event":%s}]}' | pate account - --accountant all`, short(now), eventJSON(e))
	}
	return v, nil
}

func eventJSON(e accountant.Event) string {
	b, err := accountant.MarshalEvent(e)
	if err != nil {
		return ""
	}
	return string(b)
}

func pldInterval(e accountant.Event, count int64) (accountant.Bound, error) {
	account, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
	if err == nil {
		err = account.Compose(e, count)
	}
	if err != nil {
		return accountant.Bound{}, err
	}
	return account.Epsilon(context.Background(), Delta)
}

// drawWalk draws the drift and the spread of the sum of losses of randomised response.
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
	p.key("curve b", p.right-150, -3, "basic: the worst")
	p.key("curve", p.right-150, -2, "mean, and 2 sd")
	return p.panel("walk", "What the losses add up to", "the sum of losses drifts up and spreads like the square root of the number of answers.", nil)
}
