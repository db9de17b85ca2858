package learn

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

func noisyArgmax() Mechanism {
	return Mechanism{
		Name:  "noisy-argmax",
		Short: "One label from many votes: add noise, take the largest",
		Long: `One label from the votes of teachers: noise is added to the counts, and only the
class where the sum is largest is released (GNMax, Papernot et al. 2018). The
trace shows the counts, the noise, the exact probability of the answer with and
without one moved vote, and what it cost. The misconception it ends: that a
changed record changes one count.`,
		Inputs: []Input{
			{"counts", "60,40,3", "votes of each class"},
			{"sigma", "20", "standard deviation of the noise on each count, in votes"},
			{"queries", "100", "queries answered like this one, for the cost of all"},
		},
		trace: traceNoisyArgmax,
	}
}

func traceNoisyArgmax(r run) (Trace, error) {
	h, counts, err := r.histogram("counts")
	if err != nil {
		return Trace{}, err
	}
	sigma, err := r.number("sigma")
	if err != nil {
		return Trace{}, err
	}
	queries, err := r.whole("queries")
	if err != nil {
		return Trace{}, err
	}
	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: queries})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	noise, err := r.noise("counts", sigma, len(counts))
	if err != nil {
		return Trace{}, err
	}
	noisy, winner := added(counts, noise)
	likely, err := compareLaws(h, counts, m.Law)
	if err != nil {
		return Trace{}, err
	}
	t := Trace{Title: "Noisy argmax: one label from many votes"}
	t.Steps = append(votesSteps(counts, sigma, noise),
		Step{
			Name:    "Add",
			Words:   "Every count gets its own noise. The sums stay inside the mechanism.",
			Formula: &Formula{"noisy = votes + noise", `\tilde n_j = n_j + Z_j`},
			Numbers: []Number{vector("votes", counts), vector("noise", noise), vector("noisy", noisy)},
		},
		Step{
			Name: "Take the largest",
			Words: fmt.Sprintf("The largest sum is %d, of %s: that is the answer. Had two sums been equal, the class with the lower number "+
				"would have won. Any fixed rule does: it looks at nothing but the noisy sums.", noisy[winner], named(winner)),
			Formula: &Formula{"answer = argmax_j noisy_j", `\hat y = \arg\max_j \tilde n_j`},
			Numbers: []Number{scalar("answer", winner)},
		},
		Step{
			Name: "Ask how likely that was",
			Words: "The probability of every answer is known exactly, here and for a neighbour: the same votes after one of them moved from the " +
				"largest count to the second. The logarithm of the ratio is what an observer learns about that record from that answer." + checkTwoClasses(counts, sigma),
			Formula: &Formula{"loss = ln(P[answer] / P'[answer])", `\ell = \ln \frac{P[\hat y]}{P'[\hat y]}`},
			Numbers: likely,
		})
	t.Released = Section{Words: fmt.Sprintf("%s, and nothing else: not the counts, not the noisy counts, not the gap. Whoever knew the noise could "+
		"subtract it, so the noise is as secret as the votes.", capital(named(winner)))}
	if t.Cost, err = argmaxCost(r, sigma, queries, m.Event()); err != nil {
		return Trace{}, err
	}
	if t.Mistakes, err = argmaxMistakes(r, sigma, queries, m.Event()); err != nil {
		return Trace{}, err
	}
	return t, nil
}

// votesSteps are the beginning all traces share.
func votesSteps(counts []int, sigma float64, noise []int64) []Step {
	return []Step{
		{
			Name: "Count the votes",
			Words: fmt.Sprintf("%d teachers, trained on separate parts of the private data, vote once each. A record belongs to one teacher, so "+
				"changing it changes at most that teacher's vote: one count falls by 1 and another rises by 1.", total(counts)),
			Formula: &Formula{"n_a -> n_a - 1,  n_b -> n_b + 1", `n_a \to n_a - 1,\quad n_b \to n_b + 1`},
			Numbers: []Number{vector("votes", counts)},
		},
		{
			Name: "Draw the noise",
			Words: fmt.Sprintf("One whole number for each class, from the discrete Gaussian with sigma = %s. It is drawn before the votes are looked "+
				"at, so that neither its amount nor the time it takes can depend on them.", short(sigma)),
			Formula: &Formula{"P[Z = k] proportional to exp(-k^2 / (2 sigma^2))", `P[Z = k] \propto e^{-k^2 / (2\sigma^2)}`},
			Numbers: []Number{vector("noise", noise)},
		},
	}
}

// compareLaws is a law on the votes, on a neighbour, and the logarithm of the
// ratio.
func compareLaws(h aggregate.Histogram, counts []int, law func(aggregate.Histogram) (aggregate.Law, error)) ([]Number, error) {
	here, err := law(h)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	moved := neighbour(counts)
	other, err := aggregate.NewHistogram(moved)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	there, err := law(other)
	if err != nil {
		return nil, fmt.Errorf("learn: %w", err)
	}
	loss := make([]float64, len(counts))
	for i := range loss {
		loss[i] = here.LogLabels[i] - there.LogLabels[i]
	}
	numbers := []Number{
		vector("votes", counts), vector("P", probabilities(here)),
		vector("votes'", moved), vector("P'", probabilities(there)), vector("loss", loss),
	}
	if !math.IsInf(here.LogDeclined, -1) {
		numbers = append(numbers, scalar("P[declined]", math.Exp(here.LogDeclined)),
			scalar("P'[declined]", math.Exp(there.LogDeclined)), scalar("loss of declining", here.LogDeclined-there.LogDeclined))
	}
	return numbers, nil
}

// checkTwoClasses is how to check the law of two classes by hand.
func checkTwoClasses(counts []int, sigma float64) string {
	if len(counts) != 2 {
		return ""
	}
	gap := math.Abs(float64(counts[0] - counts[1]))
	return fmt.Sprintf(" By hand: with two classes the larger wins about when a normal variable is below gap/(sigma sqrt 2) = %s.",
		short(gap/sigma/math.Sqrt2))
}

func argmaxCost(r run, sigma float64, queries int, all accountant.Event) (Section, error) {
	one, err := r.priced(1/(sigma*sigma), accountant.GNMax{Sigma: sigma, Discrete: true})
	if err != nil {
		return Section{}, err
	}
	many, err := r.priced(float64(queries)/(sigma*sigma), all)
	if err != nil {
		return Section{}, err
	}
	for i := range many {
		if many[i].Name != "delta" {
			many[i].Name += fmt.Sprintf(", %d queries", queries)
		}
	}
	return Section{
		Words: "Two counts change by 1 each, a vector of length sqrt 2. Gaussian noise of standard deviation sigma hides a change of length s " +
			"at rho = s^2/(2 sigma^2). Rho adds up over queries; epsilon does not, it grows like the square root. The accountant optimises what " +
			"the formula rounds off.",
		Formula: &Formula{"rho = 1/sigma^2 a query;  " + rhoFormula.Text, `\rho = \frac{1}{\sigma^2} \text{ a query};\quad ` + rhoFormula.TeX},
		Numbers: append(one, many[0], many[2], many[3]),
	}, nil
}

func argmaxMistakes(r run, sigma float64, queries int, all accountant.Event) ([]Mistake, error) {
	truth, err := r.epsilon(all)
	if err != nil {
		return nil, err
	}
	claimed, err := r.epsilon(accountant.Repeated{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Count: int64(queries)})
	if err != nil {
		return nil, err
	}
	loss, err := laplaceLoss(2, 60)
	if err != nil {
		return nil, err
	}
	return []Mistake{
		{
			If: "a changed record were thought to change one count",
			Words: "It moves a vote: one count falls and another rises. Noise made for a change of 1 claims rho = 1/(2 sigma^2), half of what is " +
				"spent.",
			Numbers: []Number{scalar("rho claimed", 1/(2*sigma*sigma)), scalar("rho spent", 1/(sigma*sigma)),
				claim(fmt.Sprintf("epsilon claimed, %d queries", queries), claimed), claim(fmt.Sprintf("epsilon spent, %d queries", queries), truth)},
		},
		{
			If: "Laplace noise of scale 1/epsilon were used, as is printed",
			Words: "The same slip: it is 2 epsilon private, not epsilon. Take scale 2 and two classes: among 60 votes to 0, one moved, the probability that the " +
				"loser wins changes by the factor e^loss.",
			Numbers: []Number{claim("epsilon claimed", 0.5), claim("loss found", loss), claim("epsilon, proved", 1)},
		},
		{
			If: "no noise were added, because only the winner is seen",
			Words: "Where the two largest counts differ by one vote, the record that moves it decides the answer: probability 1 becomes 0 and the " +
				"loss is infinite. An observer who knows all other votes reads this one off.",
		},
	}, nil
}

// laplaceLoss is the loss of the loser's winning, with Laplace noise of that scale,
// when one of so many votes for the other class moves to it.
func laplaceLoss(scale float64, votes int) (float64, error) {
	m, err := aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: scale, Queries: 1})
	if err != nil {
		return 0, err
	}
	var logs [2]float64
	for moved := range logs {
		h, err := aggregate.NewHistogram([]int{votes - moved, moved})
		if err != nil {
			return 0, err
		}
		law, err := m.ContinuousLaw(h)
		if err != nil {
			return 0, err
		}
		logs[moved] = law.LogLabels[1]
	}
	return logs[1] - logs[0], nil
}
