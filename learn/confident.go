package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

func confident() Mechanism {
	return Mechanism{
		Name:  "confident",
		Short: "Answer only if the teachers agree, tested with noise",
		Long: `Confident-GNMax (Papernot et al. 2018, Algorithm 1): a first noisy look asks
whether the largest count reaches a threshold; only then a second, with fresh
noise, takes the noisy argmax. The trace shows both looks and the bill for both.
The misconceptions it ends: that a declined query is free, and that the expected
number of answers is what to charge.`,
		Inputs: []Input{
			{"counts", "180,40,30", "votes of each class"},
			{"threshold", "150", "of the largest count, in votes"},
			{"sigma1", "50", "standard deviation of the noise of the test, in votes"},
			{"sigma2", "20", "standard deviation of the noise on each count of an answer, in votes"},
			{"queries", "1000", "questions asked like this one, for the cost of all"},
			{"answers", "500", "answers given at most"},
		},
		trace: traceConfident,
	}
}

// confidentInputs are what confident and interactive share.
type confidentInputs struct {
	threshold, sigma1, sigma2 float64
	queries, answers          int
}

func (r run) confidentInputs() (in confidentInputs, err error) {
	for _, f := range []struct {
		name string
		to   *float64
	}{{"threshold", &in.threshold}, {"sigma1", &in.sigma1}, {"sigma2", &in.sigma2}} {
		if *f.to, err = r.number(f.name); err != nil {
			return in, err
		}
	}
	if in.queries, err = r.whole("queries"); err != nil {
		return in, err
	}
	in.answers, err = r.whole("answers")
	return in, err
}

func traceConfident(r run) (Trace, error) {
	h, counts, err := r.histogram("counts")
	if err != nil {
		return Trace{}, err
	}
	in, err := r.confidentInputs()
	if err != nil {
		return Trace{}, err
	}
	m, err := aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
		Threshold: in.threshold, Sigma1: in.sigma1, Sigma2: in.sigma2, Queries: in.queries, Answers: in.answers})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	noise, err := r.noise("counts", in.sigma2, len(counts))
	if err != nil {
		return Trace{}, err
	}
	test, err := r.noise("threshold", in.sigma1, 1)
	if err != nil {
		return Trace{}, err
	}
	likely, err := compareLaws(h, counts, m.Law)
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Title: "Confident-GNMax: answer only where the teachers agree"}
	largest := slices.Max(counts)
	t.Steps = append(votesSteps(counts, in.sigma2, noise), Step{
		Name: "Test",
		Words: "The largest count gets noise of its own, and more of it: one yes or no needs less precision than a comparison of classes, and is " +
			"asked every time. " + verdict(float64(largest)+float64(test[0]), in.threshold),
		Formula: &Formula{"pass if max_j n_j + Z >= T", `\max_j n_j + Z \ge T`},
		Numbers: []Number{scalar("largest count", largest), scalar("noise of the test", test[0]),
			scalar("sum", int64(largest)+test[0]), scalar("threshold", in.threshold)},
	})
	passed := float64(largest)+float64(test[0]) >= math.Ceil(in.threshold)
	t.Steps = append(t.Steps, answerSteps(counts, noise, passed)...)
	t.Steps = append(t.Steps, Step{
		Name: "Ask how likely that was",
		Words: "P is the probability of passing the test and being answered with that class; what is left is the probability of declining. The " +
			"neighbour has one vote moved from the largest count to the second.",
		Formula: &Formula{"P[pass] is about Phi((largest - T) / sigma1)", `P[\text{pass}] \approx \Phi\!\left(\frac{\max_j n_j - T}{\sigma_1}\right)`},
		Numbers: append(likely, scalar("(largest - T) / sigma1", (float64(largest)-in.threshold)/in.sigma1)),
	})
	_, winner := added(counts, noise)
	t.Released = Section{Words: "That the test failed, and nothing else. Declining is an answer too: it says something about the votes, and it is paid for."}
	if passed {
		t.Released.Words = fmt.Sprintf("That the test passed, and %s. Neither noisy number leaves the mechanism.", named(winner))
	}
	if t.Cost, err = confidentCost(r, in, m.Event()); err != nil {
		return Trace{}, err
	}
	t.Mistakes, err = confidentMistakes(r, in, m.Event())
	return t, err
}

func verdict(sum, threshold float64) string {
	if sum >= math.Ceil(threshold) {
		return fmt.Sprintf("Here %s is at least %s: passed.", short(sum), short(threshold))
	}
	return fmt.Sprintf("Here %s is below %s: failed.", short(sum), short(threshold))
}

// answerSteps are the noisy argmax behind a test, or its absence.
func answerSteps(counts []int, noise []int64, passed bool) []Step {
	if !passed {
		return []Step{{
			Name:  "Leave the noise of the counts unused",
			Words: "The test failed, so no class is compared. The noise was drawn all the same: the work done does not betray the outcome.",
		}}
	}
	noisy, winner := added(counts, noise)
	return []Step{{
		Name: "Add, and take the largest",
		Words: fmt.Sprintf("The test passed. Fresh noise, not that of the test, goes on every count; the largest sum is that of %s. Had the noise of "+
			"the test been used again, the two outputs would not be independent given the votes, and their costs would not add.", named(winner)),
		Formula: &Formula{"answer = argmax_j (votes_j + noise_j)", `\hat y = \arg\max_j (n_j + Z_j)`},
		Numbers: []Number{vector("votes", counts), vector("noise", noise), vector("noisy", noisy), scalar("answer", winner)},
	}}
}

func confidentCost(r run, in confidentInputs, all accountant.Event) (Section, error) {
	question, answer := 1/(2*in.sigma1*in.sigma1), 1/(in.sigma2*in.sigma2)
	numbers := []Number{scalar("rho of a question", question), scalar("rho of an answer", answer)}
	priced, err := r.priced(float64(in.queries)*question+float64(in.answers)*answer, all)
	if err != nil {
		return Section{}, err
	}
	priced[0].Name = fmt.Sprintf("rho, %d questions and %d answers", in.queries, in.answers)
	return Section{
		Words: "The largest count changes by at most 1 when a vote moves, so the test costs 1/(2 sigma1^2) for every question asked, answered or " +
			"not. An answer costs 1/sigma2^2 on top. How many answers there will be is random: a number of questions and of answers is charged " +
			"before the first vote is read, and the run stops at either.",
		Formula: &Formula{"rho = questions/(2 sigma1^2) + answers/sigma2^2;  " + rhoFormula.Text,
			`\rho = \frac{Q}{2\sigma_1^2} + \frac{A}{\sigma_2^2};\quad ` + rhoFormula.TeX},
		Numbers: append(numbers, priced...),
	}, nil
}

func confidentMistakes(r run, in confidentInputs, all accountant.Event) ([]Mistake, error) {
	truth, err := r.epsilon(all)
	if err != nil {
		return nil, err
	}
	answersOnly, err := r.epsilon(accountant.Repeated{Event: accountant.GNMax{Sigma: in.sigma2, Discrete: true}, Count: int64(in.answers)})
	if err != nil {
		return nil, err
	}
	return []Mistake{
		{
			If: "declined queries were thought to be free",
			Words: "The outcome of every test is seen, the refusals too, and each is a noisy look at the votes. Charging answers alone leaves out " +
				"questions/(2 sigma1^2).",
			Numbers: []Number{claim("epsilon claimed, answers alone", answersOnly), claim("epsilon spent", truth)},
		},
		{
			If: "the expected number of answers were charged",
			Words: "An expectation is exceeded about half of the time, and it is computed from the private votes: the price itself would leak, and a run that " +
				"stops when such a price is used up stops elsewhere on neighbouring data. A cap fixed in advance is neither.",
		},
	}, nil
}
