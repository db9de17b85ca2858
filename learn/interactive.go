package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/aggregate"
)

func interactive() Mechanism {
	return Mechanism{
		Name:  "interactive",
		Short: "Ask the teachers only where they contradict the student",
		Long: `Interactive-GNMax (Papernot et al. 2018, Algorithm 2): the student says first how
likely it finds each class. Its prediction is subtracted from the votes, and only
if the teachers contradict it, tested with noise, does their noisy argmax answer;
otherwise a confident student keeps its own label. The misconceptions it ends:
that agreement is free, and that any student may be asked.`,
		Inputs: []Input{
			{"counts", "20,215,15", "votes of each class"},
			{"prediction", "0.9,0.05,0.05", "the student's probability of each class"},
			{"threshold", "150", "of the largest count beyond the prediction, in votes"},
			{"sigma1", "50", "standard deviation of the noise of the test, in votes"},
			{"sigma2", "20", "standard deviation of the noise on each count of an answer, in votes"},
			{"confidence", "0.8", "the student keeps its label if it finds it likelier than this"},
			{"queries", "1000", "questions asked like this one, for the cost of all"},
			{"answers", "300", "answers of the teachers given at most"},
		},
		trace: traceInteractive,
	}
}

func traceInteractive(r run) (Trace, error) {
	h, counts, err := r.histogram("counts")
	if err != nil {
		return Trace{}, err
	}
	prediction, err := r.numbers("prediction")
	if err != nil {
		return Trace{}, err
	}
	in, err := r.confidentInputs()
	if err != nil {
		return Trace{}, err
	}
	confidence, err := r.number("confidence")
	if err != nil {
		return Trace{}, err
	}
	teachers := total(counts)
	m, err := aggregate.NewInteractiveGNMax(aggregate.InteractiveGNMaxConfig{
		Threshold: in.threshold, Sigma1: in.sigma1, Sigma2: in.sigma2, Teachers: teachers, Confidence: confidence,
		Queries: in.queries, Answers: in.answers})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	likely, err := compareLaws(h, counts, func(h aggregate.Histogram) (aggregate.Law, error) { return m.Law(h, prediction) })
	if err != nil {
		return Trace{}, err
	}
	noise, err := r.noise("counts", in.sigma2, len(counts))
	if err != nil {
		return Trace{}, err
	}
	test, err := r.noise("threshold", in.sigma1, 1)
	if err != nil {
		return Trace{}, err
	}
	predicted, beyond := make([]int, len(counts)), make([]int, len(counts))
	for i, p := range prediction {
		predicted[i] = int(math.Round(float64(teachers) * p))
		beyond[i] = counts[i] - predicted[i]
	}
	lead := slices.Max(beyond)
	student := slices.Index(prediction, slices.Max(prediction))
	keeps := prediction[student] > confidence
	passed := float64(lead)+float64(test[0]) >= math.Ceil(in.threshold)

	t := Trace{Title: "Interactive-GNMax: ask only where the student is contradicted"}
	t.Steps = append(t.Steps, Step{
		Name: "Ask the student first",
		Words: fmt.Sprintf("The student has learned from answers released before, and from public data only. It finds %s likeliest, at %s. Times the "+
			"%d teachers, rounded to whole votes, this is how it expects them to vote.", named(student), short(prediction[student]), teachers),
		Formula: &Formula{"expected_j = round(teachers x p_j)", `m_j = \mathrm{round}(M p_j)`},
		Numbers: []Number{vector("p", prediction), vector("expected", predicted)},
	})
	t.Steps = append(t.Steps, votesSteps(counts, in.sigma2, noise)...)
	t.Steps = append(t.Steps,
		Step{
			Name: "Subtract what was expected",
			Words: fmt.Sprintf("What is left is by how much the teachers exceed the prediction; the largest is %d, of %s. The expectation is public and "+
				"whole, so a moved vote still changes the largest by at most 1.", lead, named(slices.Index(beyond, lead))),
			Formula: &Formula{"beyond = votes - expected", `d_j = n_j - m_j`},
			Numbers: []Number{vector("votes", counts), vector("expected", predicted), vector("beyond", beyond)},
		},
		Step{
			Name:    "Test",
			Words:   "Do the teachers contradict the student? The noise is that of the test alone. " + verdict(float64(lead)+float64(test[0]), in.threshold),
			Formula: &Formula{"pass if max_j beyond_j + Z >= T", `\max_j d_j + Z \ge T`},
			Numbers: []Number{scalar("largest", lead), scalar("noise of the test", test[0]), scalar("sum", int64(lead)+test[0]), scalar("threshold", in.threshold)},
		})
	t.Steps = append(t.Steps, answerSteps(counts, noise, passed)...)
	_, winner := added(counts, noise)
	switch {
	case passed:
		t.Released.Words = fmt.Sprintf("That the teachers contradict the student, and their answer, %s.", named(winner))
	case keeps:
		t.Steps = append(t.Steps, Step{
			Name: "Let the student keep its label",
			Words: fmt.Sprintf("It finds %s likelier than %s, so that is its label from now on. No vote is looked at again; the label itself is public "+
				"already.", named(student), short(confidence)),
			Numbers: []Number{scalar("p", prediction[student]), scalar("confidence", confidence), scalar("label", student)},
		})
		t.Released.Words = fmt.Sprintf("That the teachers do not contradict the student. The label, %s, is its own.", named(student))
	default:
		t.Steps = append(t.Steps, Step{
			Name: "Decline",
			Words: fmt.Sprintf("The student is not sure either: %s is not above %s. The query stays without a label.",
				short(prediction[student]), short(confidence)),
			Numbers: []Number{scalar("p", prediction[student]), scalar("confidence", confidence)},
		})
		t.Released.Words = "That the teachers do not contradict the student, and no label."
	}
	t.Steps = append(t.Steps, Step{
		Name: "Ask how likely that was",
		Words: "P is the probability of passing the test and being answered by the teachers with that class; declined stands for the teachers giving " +
			"no answer, whatever the student then does. The neighbour has one vote moved from the largest count to the second.",
		Numbers: likely,
	})
	if t.Cost, err = confidentCost(r, in, m.Event()); err != nil {
		return Trace{}, err
	}
	t.Cost.Words += " A label the student keeps costs its question."
	mistakes, err := confidentMistakes(r, in, m.Event())
	if err != nil {
		return Trace{}, err
	}
	mistakes[0].If = "agreement between student and teachers were thought to be free"
	mistakes[0].Words = "That the teachers do not contradict is learned from their votes. Charging only the answers they give leaves out " +
		"questions/(2 sigma1^2), for the labels the student kept and for those declined."
	t.Mistakes = append(mistakes[:1], Mistake{
		If: "the student had seen anything private",
		Words: "What is subtracted must be public. A student trained on the votes themselves, or on any private record, changes with the record, so " +
			"the expected votes change too, by any amount: the test has no bounded sensitivity left and the bill above means nothing.",
	})
	return t, nil
}
