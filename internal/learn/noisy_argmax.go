package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

func traceNoisyArgmax(l *lesson) {
	h, counts := l.histogram("counts")
	sigma, queries := l.number("sigma"), l.whole("queries")
	m := valid(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: queries}))
	noise := l.noise("counts", sigma, len(counts))
	noisy, winner := added(counts, noise)
	likely := compareLaws(h, counts, m.Law)
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

	claimed := l.epsilon(accountant.Repeated{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Count: int64(queries)})
	l.mistake("one-count", scalar("rho claimed", 1/(2*sigma*sigma)), scalar("rho spent", 1/(sigma*sigma)),
		claim(fmt.Sprintf("epsilon claimed, %d queries", queries), claimed),
		claim(fmt.Sprintf("epsilon spent, %d queries", queries), l.epsilon(m.Event())))
	l.mistake("laplace", claim("epsilon claimed", 0.5), claim("loss found", laplaceLoss(2, 60)), claim("epsilon, proved", 1))
	l.mistake("no-noise")
}

func (l *lesson) votes(counts []int, noise []int64) {
	l.step("votes", vector("votes", counts))
	l.step("noise", vector("noise", noise))
}

func compareLaws(h aggregate.Histogram, counts []int, law func(aggregate.Histogram) (aggregate.Law, error)) []Number {
	moved := neighbour(counts)
	here, there := valid(law(h)), Must(law(Must(aggregate.NewHistogram(moved))))
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
	return numbers
}

func laplaceLoss(scale float64, votes int) float64 {
	m := Must(aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: scale, Queries: 1}))
	log := func(moved int) float64 {
		return Must(m.ContinuousLaw(Must(aggregate.NewHistogram([]int{votes - moved, moved})))).LogLabels[1]
	}
	return log(1) - log(0)
}

func added(counts []int, noise []int64) (sums []int64, winner int) {
	sums = make([]int64, len(counts))
	for i, n := range counts {
		sums[i] = int64(n) + noise[i]
		if sums[i] > sums[winner] {
			winner = i
		}
	}
	return sums, winner
}

func neighbour(counts []int) []int {
	moved := slices.Clone(counts)
	first := slices.Index(moved, slices.Max(moved))
	if moved[first] == 0 {
		return moved
	}
	second := -1
	for i, n := range moved {
		if i != first && (second < 0 || n > moved[second]) {
			second = i
		}
	}
	moved[first]--
	moved[second]++
	return moved
}

func total(counts []int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

func probabilities(law aggregate.Law) []float64 {
	ps := make([]float64, len(law.LogLabels))
	for i, l := range law.LogLabels {
		ps[i] = math.Exp(l)
	}
	return ps
}

func (l *lesson) priced(name string, rho float64, events ...accountant.Event) []Number {
	return []Number{
		scalar("rho"+name, rho), scalar("delta", l.delta),
		claim("epsilon by the formula"+name, rho+2*math.Sqrt(rho*math.Log(1/l.delta))),
		claim("epsilon by the accountant"+name, l.epsilon(events...)),
	}
}
