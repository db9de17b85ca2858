package page

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/stability"
)

func stable() Chapter {
	t := readText("stability")
	return Chapter{
		Name: "stability", Text: t,
		Knobs: []Knob{
			{ID: "variant", Label: "The test", Kind: Pick, Default: "shipped", Choices: []Choice{
				{"shipped", "distance + noise > T"}, {"no-noise", "broken: distance > T, without noise"}, {"lead", "broken: lead − 1 in place of the distance"},
			}},
			{ID: "votes", Label: "Votes of each class", Kind: Words, Default: "45,12,3"},
			{ID: "move", Label: "The vote that moves", Kind: Move},
			{ID: "epsilon", Label: "ε of one question", Kind: Range, Min: 0.1, Max: 3, Step: 0.1, Default: "1"},
		},
		Scenes: []Scene{
			{"Far from changing", nil},
			{"On the bar", Situation{"votes": "36,12,3"}},
			{"Nearly tied", Situation{"votes": "21,20,4"}},
			{"Without noise: refuted", Situation{"variant": "no-noise", "votes": "37,13,0"}},
			{"The lead in its place: refuted", Situation{"variant": "lead", "votes": "24,20,1"}},
		},
		Exercises: []Exercise{
			t.exercise("distance", func() (float64, error) {
				_, d, err := stability.Plurality([]int{12, 44, 3}, stability.VoteMoves, stability.LowestIndex)
				return float64(d), err
			}, 0.001),
			t.exercise("threshold", func() (float64, error) {
				m, err := stabilityTest(1)
				if err != nil {
					return 0, err
				}
				return float64(m.Threshold()), nil
			}, 0.001),
		},
		Code: []string{"stability.Plurality", "stability.MStab.useLaplace"},
		draw: drawStability,
		trace: func(r *reader) (string, map[string]string) {
			return "stability", map[string]string{"counts": list(r.votes("votes")), "epsilon": r.text("epsilon")}
		},
	}
}

func stabilityTest(epsilon float64) (*stability.MStab, error) {
	return stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: epsilon, Delta: Delta, Questions: 1})
}

// stabilityLaw returns the winner, what the variant tests, and the chances of release and of
// refusal as logarithms.
func stabilityLaw(variant string, m *stability.MStab, counts []int) (winner int, tested int64, released, refused float64, err error) {
	winner, tested, err = stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
	if err != nil {
		return
	}
	if variant == "lead" {
		if _, tested, err = stability.Plurality(counts, stability.VoteAppears, stability.AnyTies); err != nil {
			return
		}
	}
	released, refused = m.Law(tested)
	if variant == "no-noise" {
		released, refused = math.Inf(-1), 0
		if tested > m.Threshold() {
			released, refused = 0, math.Inf(-1)
		}
	}
	return
}

// stabilityPair returns both laws of outcomes: each winner, and no answer.
func stabilityPair(variant string, epsilon float64, here, there []int) (p pair, m *stability.MStab, err error) {
	if m, err = stabilityTest(epsilon); err != nil {
		return p, nil, err
	}
	a, _, released, refused, err := stabilityLaw(variant, m, here)
	if err != nil {
		return p, nil, err
	}
	b, _, released2, refused2, err := stabilityLaw(variant, m, there)
	if err != nil {
		return p, nil, err
	}
	p = pair{
		outcomes: []string{fmt.Sprint("class ", a), "no answer"}, here: []float64{released, refused}, there: []float64{released2, refused2},
		epsilon: epsilon, delta: Delta,
	}
	if a != b {
		p.outcomes = append(p.outcomes, fmt.Sprint("class ", b))
		p.here, p.there = append(p.here, math.Inf(-1)), append(p.there, released2)
		p.there[0] = math.Inf(-1)
	}
	return p, m, nil
}

func drawStability(r *reader) (v View, err error) {
	counts := r.votes("votes")
	from, to, after := r.moved("move", counts)
	epsilon, variant := r.number("epsilon"), r.text("variant")
	if r.err != nil {
		return v, r.err
	}
	p, m, err := stabilityPair(variant, epsilon, counts, after)
	if err != nil {
		return v, err
	}
	winner, tested, released, _, err := stabilityLaw(variant, m, counts)
	if err != nil {
		return v, err
	}
	_, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
	if err != nil {
		return v, err
	}
	panels := p.panels(byClaim(p.epsilon, p.delta))
	v.Panels = []Panel{drawTeachers(counts, from, to), drawBar(variant, m, tested), panels[0], panels[1], panels[3]}
	v.number("votes that must move", float64(distance))
	v.number("threshold T", float64(m.Threshold()))
	v.number("chance of an answer", math.Exp(released))
	v.claim("charge of one question", epsilon)
	v.claim("loss found here", p.spent())
	v.say("%d votes must move before another class than %d wins. With T = %d the answer leaves with chance %s; it is then exact.", distance, winner, m.Threshold(), percent(math.Exp(released)))
	v.say("An answer and a refusal cost the same: ε = %s, and δ = %s.", up(epsilon), short(Delta))
	v.Command = fmt.Sprintf("pate learn explain stability --counts %s --epsilon %s", list(counts), r.text("epsilon"))
	v.Verdict = judge(p, variant != "shipped")
	return v, nil
}

// judge says whether two laws refute a claim; a variant that is broken elsewhere does not hold.
func judge(p pair, broken bool) Verdict {
	switch {
	case p.breaks():
		return Verdict{Words: fmt.Sprintf("The claim of ε = %s is false: these two laws differ by %s.", up(p.epsilon), up(p.spent()))}
	case broken:
		return Verdict{Words: "These two data sets do not refute the claim. It is false all the same: find some that do."}
	}
	return Verdict{Holds: true, Words: "The claim holds: nothing that can come out tells more than was charged."}
}

// drawBar draws the chance of release over the distance, with the bar.
func drawBar(variant string, m *stability.MStab, tested int64) Panel {
	t := float64(m.Threshold())
	p := newPlot(axis{label: "distance tested", low: 0, high: nice(max(2*t, float64(tested)))}, axis{label: "chance of an answer", low: 0, high: 1})
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
	return p.panel("bar", "Noisy distance against the bar", fmt.Sprintf("an answer is likely when the distance %d is well above the bar %.0f.", tested, t), nil)
}
