package page

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

func noisyArgmax() Chapter {
	t := readText("noisy-argmax")
	return Chapter{
		Name: "noisy-argmax", Text: t,
		Knobs: []Knob{
			{ID: "mechanism", Label: "Mechanism", Kind: Pick, Default: "gnmax", Choices: []Choice{
				{"gnmax", "GNMax: Gaussian noise"}, {"lnmax", "LNMax: Laplace noise"}, {"exponential", "Exponential mechanism"},
				{"permute-and-flip", "Permute-and-flip"}, {"confident", "Confident GNMax: may decline"},
				{"one-count", "broken: Laplace, for one count"}, {"half-charge", "broken: Gaussian, charged for one count"},
				{"no-noise", "broken: no noise, “only the winner”"},
			}},
			{ID: "noise", Label: "Noise, in votes", Kind: Range, Min: 1, Max: 60, Step: 1, Default: "20"},
			{ID: "votes", Label: "Votes of each class", Kind: Words, Default: "60,40,3"},
			{ID: "move", Label: "The vote that moves", Kind: Move, Default: ""},
			{ID: "also", Label: "Released", Kind: Pick, Default: "label", Choices: []Choice{{"label", "the label"}, {"counts", "the label, and the counts too"}}},
			{ID: "answers", Label: "Answers, for the charge of all", Kind: Range, Min: 1, Max: 1000, Step: 1, Default: "100"},
			{ID: "threshold", Label: "Threshold of Confident", Kind: Range, Min: 0, Max: 500, Step: 5, Default: "50", For: "mechanism=confident"},
		},
		Scenes: []Scene{
			{"Sixty to forty", nil},
			{"Everybody agrees", Situation{"votes": "250,0,0,0", "noise": "20", "move": "0>1"}},
			{"Ten classes, 250 teachers", Situation{"votes": "90,60,30,20,15,10,10,5,5,5", "noise": "30"}},
			{"Charged for one count: refuted", Situation{"mechanism": "half-charge", "votes": "180,66", "noise": "20"}},
			{"No noise: refuted", Situation{"mechanism": "no-noise", "votes": "50,49"}},
			{"Noise for one count: refuted", Situation{"mechanism": "one-count", "votes": "60,0", "noise": "2", "move": "0>1"}},
			{"The counts too: refuted", Situation{"also": "counts"}},
		},
		Exercises: []Exercise{
			t.exercise("right", func() (float64, error) { return gaussianWins("60,40") }, 0.01),
			t.exercise("moved", func() (float64, error) { return gaussianWins("59,41") }, 0.01),
			t.exercise("scale", func() (float64, error) { return 2 / 0.1, nil }, 0.005),
		},
		Code:  []string{"aggregate.argmax", "aggregate.GNMax.Event", "aggregate.GNMax.draw"},
		draw:  drawArgmax,
		trace: traceArgmax,
	}
}

// gaussianWins returns the chance of class 0 in percent, with noise of 20.
func gaussianWins(votes string) (float64, error) {
	r := &reader{values: Situation{"votes": votes}}
	h, err := aggregate.NewHistogram(r.votes("votes"))
	if err != nil {
		return 0, err
	}
	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 20, Queries: 1})
	if err != nil {
		return 0, err
	}
	law, err := m.ContinuousLaw(h)
	if err != nil {
		return 0, err
	}
	return 100 * math.Exp(law.LogLabels[0]), nil
}

// argmaxMechanism is a noisy argmax of this chapter, or something that claims to be one.
type argmaxMechanism struct {
	name   string
	law    func(aggregate.Histogram) (aggregate.Law, error)
	event  accountant.Event // what is charged for one answer
	pure   bool             // the charge is without delta
	broken bool
}

// lawful is what mechanisms of package aggregate have.
type lawful interface {
	Law(aggregate.Histogram) (aggregate.Law, error)
	Event() accountant.Event
}

func argmaxOf(name string, noise, threshold float64) (a argmaxMechanism, err error) {
	a.name = name
	take := func(m lawful, err error) error {
		if err == nil {
			a.law, a.event = m.Law, m.Event()
		}
		return err
	}
	switch name {
	case "gnmax", "half-charge":
		m, err2 := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: noise, Queries: 1})
		err = take(m, err2)
		if name == "half-charge" {
			a.event, a.broken = accountant.DiscreteGaussian{Sigma: noise, Sensitivity: 1}, true
		}
	case "lnmax", "one-count":
		m, err2 := aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: noise, Queries: 1})
		err, a.pure = take(m, err2), true
		if name == "one-count" {
			a.event, a.broken = accountant.DiscreteLaplace{Scale: noise, Sensitivity: 1}, true
		}
	case "exponential":
		m, err2 := aggregate.NewExponential(aggregate.ExponentialConfig{Scale: noise, Queries: 1})
		err, a.pure = take(m, err2), true
	case "permute-and-flip":
		m, err2 := aggregate.NewPermuteAndFlip(aggregate.PermuteAndFlipConfig{Scale: noise, Queries: 1})
		err, a.pure = take(m, err2), true
	case "confident":
		m, err2 := aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{Threshold: threshold, Sigma1: confidentRatio * noise, Sigma2: noise, Queries: 1, Answers: 1})
		err = take(m, err2)
	case "no-noise":
		a.law, a.event, a.pure, a.broken = bareLaw, accountant.PureDP{Epsilon: 1}, true, true
	default:
		err = fmt.Errorf("page: no mechanism %q", name)
	}
	return a, err
}

// confidentRatio is the noise of the test over that of the counts.
const confidentRatio = 2.5

// bareLaw is the law of the largest count without noise.
func bareLaw(h aggregate.Histogram) (aggregate.Law, error) {
	first, _ := favourite(h.Reveal())
	l := aggregate.Law{LogLabels: make([]float64, h.Classes()), LogDeclined: math.Inf(-1)}
	for i := range l.LogLabels {
		if i != first {
			l.LogLabels[i] = math.Inf(-1)
		}
	}
	return l, nil
}

// pairOf returns both laws with what is charged.
func (a argmaxMechanism) pairOf(here, there []int) (p pair, err error) {
	for i, counts := range [][]int{here, there} {
		h, err := aggregate.NewHistogram(counts)
		if err != nil {
			return p, err
		}
		law, err := a.law(h)
		if err != nil {
			return p, err
		}
		logs := law.LogLabels
		if a.name == "confident" {
			logs = append(logs, law.LogDeclined)
		}
		if i == 0 {
			p.here = logs
		} else {
			p.there = logs
		}
	}
	for i := range here {
		p.outcomes = append(p.outcomes, fmt.Sprint("class ", i))
	}
	if a.name == "confident" {
		p.outcomes = append(p.outcomes, "declined")
	}
	if len(here) > 4 {
		for i := range here {
			p.outcomes[i] = fmt.Sprint(i)
		}
	}
	if !a.pure {
		p.delta = Delta
	}
	p.epsilon, err = a.charge(1)
	return p, err
}

// charge returns the epsilon of a number of answers: at Delta, or for one answer of a pure
// mechanism without any delta.
func (a argmaxMechanism) charge(answers int) (float64, error) {
	if a.pure && answers == 1 {
		return pureEpsilon(a.event)
	}
	return charged(accountant.Repeated{Event: a.event, Count: int64(answers)})
}

// pureEpsilon returns what an event costs without delta: its divergence of infinite order.
func pureEpsilon(e accountant.Event) (float64, error) {
	account, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
	if err != nil {
		return 0, err
	}
	if err := account.Compose(e, 1); err != nil {
		return 0, err
	}
	b, err := account.Epsilon(context.Background(), 0)
	return b.Upper, err
}

// charged returns the claim for events at Delta, as a ledger has it.
func charged(events ...accountant.Event) (float64, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, Delta, events...)
	return b.Upper, err
}

// withCounts is the pair if the counts are released too: two outcomes, each certain on one.
func (p pair) withCounts(here, there []int) pair {
	return pair{
		outcomes: []string{list(here), list(there)}, epsilon: p.epsilon, delta: p.delta,
		here: []float64{0, math.Inf(-1)}, there: []float64{math.Inf(-1), 0},
	}
}

// allowed bounds what every test misses, from the whole loss distribution of what is charged.
func (a argmaxMechanism) allowed(p pair) func(float64) float64 {
	simple := byClaim(p.epsilon, p.delta)
	if a.pure || a.name == "confident" { // the loss of both its parts takes a second
		return simple
	}
	account, err := accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove})
	if err == nil {
		err = account.Compose(a.event, 1)
	}
	if err != nil {
		return simple
	}
	risk, err := account.Risk(context.Background())
	if err != nil {
		return simple
	}
	return func(wrong float64) float64 {
		b, err := risk.Tradeoff(wrong)
		return max(b.Lower, map[bool]float64{true: 0, false: simple(wrong)}[err == nil])
	}
}

func drawArgmax(r *reader) (v View, err error) {
	counts := r.votes("votes")
	from, to, after := r.moved("move", counts)
	noise, answers := r.number("noise"), r.whole("answers")
	if r.err != nil {
		return v, r.err
	}
	a, err := argmaxOf(r.text("mechanism"), noise, r.number("threshold"))
	if err != nil {
		return v, err
	}
	p, err := a.pairOf(counts, after)
	if err != nil {
		return v, err
	}
	all, err := a.charge(answers)
	if err != nil {
		return v, err
	}
	best, _ := favourite(counts)
	right := math.Exp(p.here[best])
	if r.text("also") == "counts" {
		p = p.withCounts(counts, after)
	}
	v.Panels = append([]Panel{drawTeachers(counts, from, to)}, p.panels(a.allowed(p))...)
	v.claim("charge of one answer", p.epsilon)
	v.claim("loss found here", p.spent())
	v.claim(fmt.Sprintf("charge of %d answers", answers), all)
	v.number("chance of the largest class", right)
	for i := range p.outcomes {
		v.number("P["+p.outcomes[i]+"]", math.Exp(p.here[i]))
		v.number("P′["+p.outcomes[i]+"]", math.Exp(p.there[i]))
	}
	v.sayArgmax(r, a, p, counts, answers, all)
	return v, r.err
}

func (v *View) sayArgmax(r *reader, a argmaxMechanism, p pair, counts []int, answers int, all float64) {
	at := "without any δ"
	if p.delta > 0 {
		at = fmt.Sprintf("at δ = %s", short(p.delta))
	}
	v.say("One moved vote changes the answer by a loss of %s; one answer is charged ε = %s, %s.", up(p.spent()), up(p.epsilon), at)
	v.say("%d answers like this one are charged ε = %s at δ = %s.", answers, up(all), short(Delta))
	v.Verdict = Verdict{Holds: !p.breaks(), Words: "The claim holds: nothing that can come out tells more than was charged."}
	switch {
	case p.breaks():
		v.Verdict.Words = fmt.Sprintf("The claim of ε = %s is false: these two laws differ by %s.", up(p.epsilon), up(p.spent()))
	case a.broken:
		v.Verdict = Verdict{Words: "These two data sets do not refute the claim. It is false all the same: find votes that show it."}
	}
	flag, name := "scale", a.name
	switch a.name {
	case "gnmax", "half-charge":
		flag, name = "sigma", "discrete-gaussian"
	case "lnmax", "one-count":
		name = "discrete-laplace"
	case "confident":
		v.Command = fmt.Sprintf("pate learn law confident --counts %s --threshold %s --sigma1 %s --sigma2 %s", list(counts), short(r.number("threshold")), short(confidentRatio*r.number("noise")), short(r.number("noise")))
		return
	case "no-noise":
		return
	}
	v.Command = fmt.Sprintf("pate learn law %s --counts %s --%s %s", name, list(counts), flag, short(r.number("noise")))
}

func traceArgmax(r *reader) (string, map[string]string) {
	counts := list(r.votes("votes"))
	noise := r.text("noise")
	if r.text("mechanism") == "confident" {
		return "confident", map[string]string{"counts": counts, "threshold": r.text("threshold"), "sigma1": short(confidentRatio * r.number("noise")), "sigma2": noise}
	}
	return "noisy-argmax", map[string]string{"counts": counts, "sigma": noise, "queries": r.text("answers")}
}
