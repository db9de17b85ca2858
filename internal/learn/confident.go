package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

type tested struct {
	*lesson
	threshold, sigma1, sigma2 float64
	queries, answers          int
	counts                    []int
	noise                     []int64 // noise of the counts
	test                      int64   // noise of the threshold test
	winner                    int     // class with the largest noisy count
}

func (l *lesson) tested(counts []int) *tested {
	t := &tested{
		lesson: l, threshold: l.number("threshold"), sigma1: l.number("sigma1"), sigma2: l.number("sigma2"),
		queries: l.whole("queries"), answers: l.whole("answers"), counts: counts,
	}
	t.noise, t.test = l.noise("counts", t.sigma2, len(counts)), l.noise("threshold", t.sigma1, 1)[0]
	_, t.winner = added(counts, t.noise)
	l.let("sigma", t.sigma2)
	l.let("winner", t.winner)
	return t
}

func traceConfident(l *lesson) {
	h, counts := l.histogram("counts")
	t := l.tested(counts)
	m := valid(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
		Threshold: t.threshold, Sigma1: t.sigma1, Sigma2: t.sigma2, Queries: t.queries, Answers: t.answers}))
	likely := compareLaws(h, counts, m.Law)
	largest := slices.Max(counts)
	l.votes(counts, t.noise)
	t.answer(t.ask("largest count", largest))
	l.step("likely", append(likely, scalar("(largest - T) / sigma1", (float64(largest)-t.threshold)/t.sigma1))...)
	l.release()
	t.price(m.Event())
	t.unpaid("declined", m.Event())
	l.mistake("expected")
}

func (t *tested) ask(name string, votes int) (passed bool) {
	sum := int64(votes) + t.test
	passed = float64(sum) >= math.Ceil(t.threshold)
	t.let("sum", sum)
	t.let("passed", passed)
	t.step("test", scalar(name, votes), scalar("noise of the test", t.test), scalar("sum", sum), scalar("threshold", t.threshold))
	return passed
}

func (t *tested) answer(passed bool) {
	if !passed {
		t.step("unused")
		return
	}
	noisy, winner := added(t.counts, t.noise)
	t.step("answer", vector("votes", t.counts), vector("noise", t.noise), vector("noisy", noisy), scalar("answer", winner))
}

func (t *tested) price(all accountant.Event) {
	question, answer := 1/(2*t.sigma1*t.sigma1), 1/(t.sigma2*t.sigma2)
	priced := t.priced("", float64(t.queries)*question+float64(t.answers)*answer, all)
	priced[0].Name = fmt.Sprintf("rho, %d questions and %d answers", t.queries, t.answers)
	t.cost(append([]Number{scalar("rho of a question", question), scalar("rho of an answer", answer)}, priced...)...)
}

func (t *tested) unpaid(id string, all accountant.Event) {
	answers := t.epsilon(accountant.Repeated{Event: accountant.GNMax{Sigma: t.sigma2, Discrete: true}, Count: int64(t.answers)})
	t.mistake(id, claim("epsilon claimed, answers alone", answers), claim("epsilon spent", t.epsilon(all)))
}
