package learn

import (
	"math"
	"slices"

	"github.com/pate-go/pate/aggregate"
)

func traceInteractive(l *lesson) {
	h, counts := l.histogram("counts")
	prediction, confidence := l.numbers("prediction"), l.number("confidence")
	t := l.tested(counts)
	teachers := total(counts)
	m := valid(aggregate.NewInteractiveGNMax(aggregate.InteractiveGNMaxConfig{
		Threshold: t.threshold, Sigma1: t.sigma1, Sigma2: t.sigma2, Teachers: teachers, Confidence: confidence,
		Queries: t.queries, Answers: t.answers, Predict: func(uint64) ([]float64, error) { return prediction, nil }}))
	likely := compareLaws(h, counts, m.Law)
	predicted, beyond := make([]int, len(counts)), make([]int, len(counts))
	for i, p := range prediction {
		predicted[i] = int(math.Round(float64(teachers) * p))
		beyond[i] = counts[i] - predicted[i]
	}
	lead := slices.Max(beyond)
	likelihood := slices.Max(prediction)
	student, keeps := slices.Index(prediction, likelihood), likelihood > confidence
	l.let("student", student)
	l.let("likelihood", likelihood)
	l.let("keeps", keeps)
	l.let("lead", lead)
	l.let("leader", slices.Index(beyond, lead))

	l.step("ask", vector("p", prediction), vector("expected", predicted))
	l.votes(counts, t.noise)
	l.step("subtract", vector("votes", counts), vector("expected", predicted), vector("beyond", beyond))
	passed := t.ask("largest", lead)
	t.answer(passed)
	switch {
	case passed:
	case keeps:
		l.step("keep", scalar("p", likelihood), scalar("confidence", confidence), scalar("label", student))
	default:
		l.step("decline", scalar("p", likelihood), scalar("confidence", confidence))
	}
	l.step("likely", likely...)
	l.release()
	t.price(m.Event())
	t.unpaid("agreement", m.Event())
	l.mistake("private")
}
