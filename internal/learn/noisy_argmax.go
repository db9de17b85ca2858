package learn

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

func noisyArgmax() Mechanism {
	return mechanism("noisy-argmax", traceNoisyArgmax,
		Input{"counts", "60,40,3", "votes of each class"},
		Input{"sigma", "20", "standard deviation of the noise on each count, in votes"},
		Input{"queries", "100", "queries answered like this one, for the cost of all"},
	)
}

func traceNoisyArgmax(l *lesson) error {
	h, counts := l.histogram("counts")
	sigma, queries := l.number("sigma"), l.whole("queries")
	if l.err != nil {
		return l.err
	}
	m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: queries})
	if err != nil {
		return invalid("%w", err)
	}
	noise := l.noise("counts", sigma, len(counts))
	noisy, winner := added(counts, noise)
	likely, err := compareLaws(h, counts, m.Law)
	if err != nil {
		return err
	}
	l.let("winner", winner)
	l.let("largest", noisy[winner])
	l.let("two", len(counts) == 2)
	l.let("normal", math.Abs(float64(counts[0]-counts[1]))/sigma/math.Sqrt2)
	l.votes(counts, noise)
	l.step("add", vector("votes", counts), vector("noise", noise), vector("noisy", noisy))
	l.step("largest", scalar("answer", winner))
	l.step("likely", likely...)
	l.release()
	one := l.priced("", 1/(sigma*sigma), accountant.GNMax{Sigma: sigma, Discrete: true})
	many := l.priced(fmt.Sprintf(", %d queries", queries), float64(queries)/(sigma*sigma), m.Event())
	l.cost(append(one, many[0], many[2], many[3])...)
	return argmaxMistakes(l, sigma, queries, m.Event())
}

// votes tells the beginning that all traces of noisy argmax share.
func (l *lesson) votes(counts []int, noise []int64) {
	l.step("votes", vector("votes", counts))
	l.step("noise", vector("noise", noise))
}

// compareLaws returns a law on the votes, on a neighbour, and the logarithm of the
// ratio.
func compareLaws(h aggregate.Histogram, counts []int, law func(aggregate.Histogram) (aggregate.Law, error)) ([]Number, error) {
	here, err := law(h)
	if err != nil {
		return nil, invalid("%w", err)
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

func argmaxMistakes(l *lesson, sigma float64, queries int, all accountant.Event) error {
	claimed := l.epsilon(accountant.Repeated{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Count: int64(queries)})
	loss, err := laplaceLoss(2, 60)
	if err != nil {
		return err
	}
	l.mistake("one-count", scalar("rho claimed", 1/(2*sigma*sigma)), scalar("rho spent", 1/(sigma*sigma)),
		claim(fmt.Sprintf("epsilon claimed, %d queries", queries), claimed), claim(fmt.Sprintf("epsilon spent, %d queries", queries), l.epsilon(all)))
	l.mistake("laplace", claim("epsilon claimed", 0.5), claim("loss found", loss), claim("epsilon, proved", 1))
	l.mistake("no-noise")
	return nil
}

// laplaceLoss returns the loss of the loser's winning, with Laplace noise of that scale,
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
