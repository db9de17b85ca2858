package learn

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

// What the traces of noisy argmax with Gaussian noise have in common.

// added is counts plus noise, and the class where it is largest, the lowest index
// first.
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

// neighbour moves one vote from the largest count to the second largest.
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

// probabilities are those of a law's classes.
func probabilities(law aggregate.Law) []float64 {
	ps := make([]float64, len(law.LogLabels))
	for i, l := range law.LogLabels {
		ps[i] = math.Exp(l)
	}
	return ps
}

// rhoFormula is how a student turns a divergence of a*rho into an epsilon.
var rhoFormula = Formula{
	Text: "epsilon <= rho + 2 sqrt(rho ln(1/delta))",
	TeX:  `\varepsilon \le \rho + 2\sqrt{\rho \ln(1/\delta)}`,
}

// byHand is the right side of rhoFormula.
func byHand(rho, delta float64) float64 { return rho + 2*math.Sqrt(rho*math.Log(1/delta)) }

// priced are the numbers of a cost: rho, what the formula makes of it, and what the
// accountant knows better.
func (r run) priced(rho float64, events ...accountant.Event) ([]Number, error) {
	eps, err := r.epsilon(events...)
	if err != nil {
		return nil, err
	}
	return []Number{
		scalar("rho", rho), scalar("delta", r.delta),
		claim("epsilon by the formula", byHand(rho, r.delta)), claim("epsilon by the accountant", eps),
	}, nil
}

// named is a class in words.
func named(class int) string { return fmt.Sprintf("class %d", class) }
