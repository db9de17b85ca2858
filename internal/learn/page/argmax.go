package page

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/learn"
)

func noisyArgmax(c *Chapter) {
	var choices []Choice
	var declining []string
	for _, d := range onVotes() {
		choices = append(choices, Choice{d.Name, d.Name + ": " + d.Short})
		if d.Declines {
			declining = append(declining, d.Name)
		}
	}
	for i := range c.Knobs {
		switch k := &c.Knobs[i]; k.ID {
		case "mechanism":
			k.Choices = append(choices, k.Choices...) // list broken variants last
		case "threshold":
			k.For = "mechanism=" + strings.Join(declining, "|")
		}
	}
	c.draw, c.trace = drawArgmax, traceArgmax
	c.exercise("right", 0.01, func() float64 { return gaussianWins(60, 40) })
	c.exercise("moved", 0.01, func() float64 { return gaussianWins(59, 41) })
	c.exercise("scale", 0.005, func() float64 { return 2 / 0.1 })
}

func onVotes() []aggregate.Description {
	return slices.DeleteFunc(mechanisms.All(), func(d aggregate.Description) bool { return d.Predicts || d.Distances })
}

func gaussianWins(counts ...int) float64 {
	m := learn.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 20, Queries: 1}))
	return 100 * math.Exp(learn.Must(m.ContinuousLaw(learn.Must(aggregate.NewHistogram(counts)))).LogLabels[0])
}

type argmaxMechanism struct {
	law      func(aggregate.Histogram) (aggregate.Law, error)
	event    accountant.Event // charge for one answer
	pure     bool             // the charge has delta 0
	declines bool
	broken   bool
	command  string // command that prints the output distribution
}

const confidentRatio = 2.5

func argmaxOf(name string, noise, threshold float64) argmaxMechanism {
	if name == "no-noise" {
		return argmaxMechanism{law: bareLaw, event: accountant.PureDP{Epsilon: 1}, pure: true, broken: true}
	}
	sound := map[string]string{"half-charge": "gnmax", "one-count": "lnmax"}[name]
	d := learn.Must(mechanisms.Find(cmp.Or(sound, name)))
	s := aggregate.Setting{Mechanism: d.Name, Queries: 1}
	if d.Declines {
		s = s.With("threshold", threshold).With("sigma1", confidentRatio*noise)
	}
	s = d.WithNoise(d.Complete(s), noise)
	m := valid(d.New(s))
	a := argmaxMechanism{law: m.Law, event: m.Event(), pure: d.Pure, declines: d.Declines, broken: sound != "", command: d.Name}
	if i := slices.IndexFunc(d.Laws, func(l aggregate.NamedLaw) bool { return l.Noise == "discrete" }); i >= 0 {
		a.command = d.Laws[i].Name
	}
	a.command = "pate learn law " + a.command + " --counts %s"
	for _, p := range d.Parameters {
		if p.Kind != "cap" {
			a.command += " --" + p.Name + " " + short(s.Values[p.Name])
		}
	}
	switch name {
	case "half-charge":
		a.event = accountant.DiscreteGaussian{Sigma: noise, Sensitivity: 1}
	case "one-count":
		a.event = accountant.DiscreteLaplace{Scale: noise, Sensitivity: 1}
	}
	return a
}

func bareLaw(h aggregate.Histogram) (aggregate.Law, error) {
	first, _ := favourite(h.Reveal())
	l := aggregate.Law{LogLabels: slices.Repeat([]float64{math.Inf(-1)}, h.Classes()), LogDeclined: math.Inf(-1)}
	l.LogLabels[first] = 0
	return l, nil
}

func (a argmaxMechanism) pairOf(here, there []int) pair {
	logs := func(counts []int) []float64 {
		law := learn.Must(a.law(learn.Must(aggregate.NewHistogram(counts))))
		if a.declines {
			return append(law.LogLabels, law.LogDeclined)
		}
		return law.LogLabels
	}
	p := pair{here: logs(here), there: logs(there), epsilon: a.charge(1)}
	for i := range here {
		p.outcomes = append(p.outcomes, map[bool]string{true: fmt.Sprint(i), false: fmt.Sprint("class ", i)}[len(here) > 4])
	}
	if a.declines {
		p.outcomes = append(p.outcomes, "declined")
	}
	if !a.pure {
		p.delta = Delta
	}
	return p
}

func (a argmaxMechanism) charge(answers int) float64 {
	if a.pure && answers == 1 {
		return learn.Must(pldOf(a.event, 1).Epsilon(context.Background(), 0)).Upper
	}
	return charged(accountant.Repeated{Event: a.event, Count: int64(answers)})
}

func pldOf(e accountant.Event, count int64) *accountant.PLD {
	account := learn.Must(accountant.NewPLD(accountant.PLDConfig{Relation: accountant.AddRemove}))
	return learn.Must(account, account.Compose(e, count))
}

func charged(events ...accountant.Event) float64 {
	return learn.Must(accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, Delta, events...)).Upper
}

func (p pair) withCounts(here, there []int) pair {
	return pair{
		outcomes: []string{list(here), list(there)}, epsilon: p.epsilon, delta: p.delta,
		here: []float64{0, math.Inf(-1)}, there: []float64{math.Inf(-1), 0},
	}
}

func (a argmaxMechanism) allowed(p pair) func(float64) float64 {
	simple := byClaim(p.epsilon, p.delta)
	if a.pure || a.declines { // otherwise the computation takes a second
		return simple
	}
	risk := learn.Must(pldOf(a.event, 1).Risk(context.Background()))
	return func(wrong float64) float64 {
		b, err := risk.Tradeoff(wrong)
		if err != nil {
			return max(b.Lower, simple(wrong))
		}
		return b.Lower
	}
}

func drawArgmax(r *reader) (v View) {
	counts := r.votes("votes")
	from, to, after := r.moved("move", counts)
	noise, answers := r.number("noise"), r.whole("answers")
	a := argmaxOf(r.text("mechanism"), noise, r.number("threshold"))
	p, all := a.pairOf(counts, after), a.charge(answers)
	best, _ := favourite(counts)
	right := math.Exp(p.here[best])
	if r.text("also") == "counts" {
		p = p.withCounts(counts, after)
	}
	v.Panels = append([]Panel{drawTeachers(counts, from, to)}, p.panels(a.allowed(p))...)
	v.claim("charge of one answer", p.epsilon)
	v.claim("least ε for these data sets", p.spent())
	v.claim(fmt.Sprintf("charge of %d answers", answers), all)
	v.number("probability of the largest class", right)
	for i := range p.outcomes {
		v.number("P["+p.outcomes[i]+"]", math.Exp(p.here[i]))
		v.number("P′["+p.outcomes[i]+"]", math.Exp(p.there[i]))
	}
	at := "with δ = 0"
	if p.delta > 0 {
		at = fmt.Sprintf("at δ = %s", short(p.delta))
	}
	v.say("The least ε for this moved vote is %s. One answer is charged ε = %s, %s.", up(p.spent()), up(p.epsilon), at)
	v.say("%d answers like this one are charged ε = %s at δ = %s.", answers, up(all), short(Delta))
	v.Verdict = judge(p, a.broken, "find votes that refute it")
	if a.command != "" {
		v.Command = fmt.Sprintf(a.command, list(counts))
	}
	return v
}

func traceArgmax(r *reader) (string, map[string]string) {
	counts, noise := list(r.votes("votes")), r.text("noise")
	if r.text("mechanism") == "confident" {
		return "confident", map[string]string{
			"counts": counts, "threshold": r.text("threshold"), "sigma1": short(confidentRatio * r.number("noise")), "sigma2": noise}
	}
	return "noisy-argmax", map[string]string{"counts": counts, "sigma": noise, "queries": r.text("answers")}
}
