package learn

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
)

// What the traces of noisy argmax with Gaussian noise have in common.

// added returns counts plus noise, and the class where it is largest, the lowest index
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

// probabilities returns those of a law's classes.
func probabilities(law aggregate.Law) []float64 {
	ps := make([]float64, len(law.LogLabels))
	for i, l := range law.LogLabels {
		ps[i] = math.Exp(l)
	}
	return ps
}

// priced returns the numbers of a cost: rho, what the formula of the text makes of it, and
// what the accountant knows better.
func (l *lesson) priced(name string, rho float64, events ...accountant.Event) []Number {
	return []Number{
		scalar("rho"+name, rho), scalar("delta", l.delta),
		claim("epsilon by the formula"+name, rho+2*math.Sqrt(rho*math.Log(1/l.delta))),
		claim("epsilon by the accountant"+name, l.epsilon(events...)),
	}
}
