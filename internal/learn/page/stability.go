package page

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/stability"
)

func stable(c *Chapter) {
	c.draw = drawStability
	c.trace = func(r *reader) (string, map[string]string) {
		return "stability", map[string]string{"counts": list(r.votes("votes")), "epsilon": r.text("epsilon")}
	}
	c.exercise("distance", 0.001, func() float64 { return movesOf(stability.LowestIndex, 12, 44, 3) })
	c.exercise("threshold", 0.001, func() float64 { return float64(stabilityTest(1).Threshold()) })
}

func stabilityTest(epsilon float64) *stability.MStab {
	return valid(stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: epsilon, Delta: Delta, Questions: 1}))
}

func movesOf(ties stability.Ties, counts ...int) float64 {
	_, moves, err := stability.Plurality(counts, stability.VoteMoves, ties)
	return float64(learn.Must(moves, err))
}

type stabilityLaw struct {
	winner            int
	distance, tested  int64   // tested is the distance that the variant tests
	released, refused float64 // log probabilities
}

func stabilityLawOf(variant string, m *stability.MStab, counts []int) (l stabilityLaw) {
	var err error
	l.winner, l.distance, err = stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
	l.tested = learn.Must(l.distance, err)
	if variant == "lead" {
		_, lead, err := stability.Plurality(counts, stability.VoteAppears, stability.AnyTies)
		l.tested = learn.Must(lead, err)
	}
	l.released, l.refused = m.Law(l.tested)
	if variant == "no-noise" {
		l.released, l.refused = math.Inf(-1), 0
		if l.tested > m.Threshold() {
			l.released, l.refused = 0, math.Inf(-1)
		}
	}
	return l
}

func stabilityPair(variant string, m *stability.MStab, epsilon float64, here, there []int) pair {
	a, b := stabilityLawOf(variant, m, here), stabilityLawOf(variant, m, there)
	p := pair{
		outcomes: []string{fmt.Sprint("class ", a.winner), "no answer"}, epsilon: epsilon, delta: Delta,
		here: []float64{a.released, a.refused}, there: []float64{b.released, b.refused},
	}
	if a.winner != b.winner {
		p.outcomes = append(p.outcomes, fmt.Sprint("class ", b.winner))
		p.here, p.there = append(p.here, math.Inf(-1)), append(p.there, b.released)
		p.there[0] = math.Inf(-1)
	}
	return p
}

func drawStability(r *reader) (v View) {
	counts := r.votes("votes")
	from, to, after := r.moved("move", counts)
	epsilon, variant := r.number("epsilon"), r.text("variant")
	m := stabilityTest(epsilon)
	p, l := stabilityPair(variant, m, epsilon, counts, after), stabilityLawOf(variant, m, counts)
	panels, released := p.panels(byClaim(p.epsilon, p.delta)), math.Exp(l.released)
	v.Panels = []Panel{drawTeachers(counts, from, to), drawBar(variant, m, l.tested), panels[0], panels[1], panels[3]}
	v.number("votes that must move", float64(l.distance))
	v.number("threshold T", float64(m.Threshold()))
	v.number("probability of an answer", released)
	v.claim("charge of one query", epsilon)
	v.claim("least ε for these data sets", p.spent())
	v.say("%d votes must move before a class other than %d wins. With T = %d, the exact answer is released with probability %s.",
		l.distance, l.winner, m.Threshold(), percent(released))
	v.say("An answer and a refusal cost the same: ε = %s, and δ = %s.", up(epsilon), short(Delta))
	v.Command = fmt.Sprintf("pate learn explain stability --counts %s --epsilon %s", list(counts), r.text("epsilon"))
	v.Verdict = judge(p, variant != "shipped", "find votes that refute it")
	return v
}

func judge(p pair, broken bool, task string) Verdict {
	switch {
	case p.breaks():
		return Verdict{Words: fmt.Sprintf("The claim of ε = %s is false: the least ε for these data sets is %s.", up(p.epsilon), up(p.spent()))}
	case broken:
		return Verdict{Words: "These two data sets do not refute the claim, but the claim is false: " + task + "."}
	}
	return Verdict{Holds: true, Words: "The claim holds: no outcome reveals more than was charged."}
}

func drawBar(variant string, m *stability.MStab, tested int64) Panel {
	t := float64(m.Threshold())
	p := newPlot(axis{label: "distance tested", low: 0, high: nice(max(2*t, float64(tested)))},
		axis{label: "probability of an answer", low: 0, high: 1})
	var xs, ys []float64
	for d := 0.0; d <= p.x.high; d += max(1, math.Floor(p.x.high/80)) {
		released, _ := m.Law(int64(d))
		y := math.Exp(released)
		if variant == "no-noise" {
			y = map[bool]float64{true: 1, false: 0}[d > t]
		}
		xs, ys = append(xs, d), append(ys, y)
	}
	p.curve("curve", xs, ys)
	p.line("bound", p.px(t), p.top, p.px(t), p.bottom)
	p.text("name", "start", p.px(t)+5, p.top+12, fmt.Sprintf("T = %.0f", t))
	x := p.px(float64(tested))
	p.line("now", x, p.top, x, p.bottom)
	p.text("name", "end", x-5, p.bottom-8, fmt.Sprintf("here %d", tested))
	return p.panel("bar", "Probability of an answer over the distance",
		fmt.Sprintf("an answer is likely if the distance %d is well above the threshold %.0f.", tested, t), nil)
}
