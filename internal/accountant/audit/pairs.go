package audit

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// Pairs counts pairs of runs by where an event occurs: both runs, only the first, only the second, or
// neither. The inputs of the two runs are neighbours.
type Pairs struct {
	Both, First, Second, Neither int

	wealth []float64 // logarithm of the wealth (see Bet) against each epsilon k/perUnit
}

const (
	perUnit = 128
	largest = 16 // epsilon; with 2^31 pairs no larger bound is possible
)

// Add counts one pair. The arguments report whether the event happened in the first and in the second run.
func (p *Pairs) Add(first, second bool) {
	switch {
	case first && second:
		p.Both++
	case first:
		p.First++
	case second:
		p.Second++
	default:
		p.Neither++
	}
}

func (p *Pairs) total() int { return p.Both + p.First + p.Second + p.Neither }

// Bet adds pairs of runs on neighbours. The values p1 and q1, in (0, 1), estimate the probabilities of an
// event in the first and the second run. The estimates must come from earlier pairs.
//
// Let H be the set of points (p, q) with p <= e^epsilon q + delta and 1-q <= e^epsilon (1-p) + delta. If a
// mechanism is (epsilon, delta)-private, H contains the true probabilities. Let (p0, q0) be the point of H
// nearest to (p1, q1) by Kullback-Leibler divergence. Let A be the likelihood ratio of p1 to p0 in the first
// run. Let B be the ratio of q1 to q0 in the second run. Let the wealth against epsilon be the product of A B
// over all pairs.
//
// H is convex, so E[A] + E[B] <= 2 for all (p, q) in H. Hence E[A] E[B] <= 1. If the runs are independent,
// E[A] E[B] = E[A B] (Turner, Ly and Grünwald 2024). So the wealth reaches 1/alpha with probability at most
// alpha (Ville 1939), even if earlier pairs choose the event.
func (p *Pairs) Bet(batch Pairs, p1, q1, delta float64) {
	if p.wealth == nil {
		p.wealth = make([]float64, largest*perUnit+1)
	}
	p.Both, p.First, p.Second, p.Neither = p.Both+batch.Both, p.First+batch.First, p.Second+batch.Second, p.Neither+batch.Neither
	for k := range p.wealth {
		p0, q0 := nearest(p1, q1, math.Exp(float64(k)/perUnit), delta)
		if p0 == p1 && q0 == q1 { // also for larger epsilon
			return
		}
		p.wealth[k] += float64(batch.Both+batch.First)*math.Log(p1/p0) + float64(batch.Second+batch.Neither)*math.Log((1-p1)/(1-p0)) +
			float64(batch.Both+batch.Second)*math.Log(q1/q0) + float64(batch.First+batch.Neither)*math.Log((1-q1)/(1-q0))
	}
}

// LowerBound returns a lower bound on epsilon. It is the largest multiple of 1/perUnit up to which every
// multiple has wealth at least 1/alpha (see [Pairs.Bet]). Without such a multiple it is 0. The probability
// that any result during an audit exceeds the true epsilon is at most alpha. So the audit may stop after any
// batch.
func (p *Pairs) LowerBound(alpha float64) (epsilon float64) {
	// The bound exceeds the true epsilon only if the wealth against the next multiple above reaches 1/alpha.
	for k, log := range p.wealth {
		if log < 1e-9-math.Log(alpha) { // 1e-9 is for rounding
			break
		}
		epsilon = float64(k) / perUnit
	}
	return epsilon
}

// nearest returns the point of least divergence from (p1, q1) that (epsilon, delta)-privacy allows (see
// [Pairs.Bet]). The argument `growth` is e^epsilon.
func nearest(p1, q1, growth, delta float64) (p0, q0 float64) {
	within := func(p, q float64) bool { return p <= growth*q+delta }
	more, less := within(p1, q1), within(1-q1, 1-p1) // the two conditions
	if more && less {
		return p1, q1
	}
	// A point of the first line is in H up to the second line, which it meets at q = meet; the reverse holds
	// for the second line. With growth 1 the lines are one, and rounding must not exclude all of its points.
	meet := (1 - delta) / (growth + 1)
	if p0, q0 = onLine(p1, q1, growth, delta); !more && q0 <= meet {
		return p0, q0
	}
	if q0, p0 = onLine(1-q1, 1-p1, growth, delta); !less && p0 <= meet {
		return 1 - p0, 1 - q0
	}
	return 1 - meet, meet
}

// onLine returns the point of the line p = growth q + delta with the least divergence from (p1, q1).
func onLine(p1, q1, growth, delta float64) (p, q float64) {
	rising := func(q float64) bool { // the divergence grows with q
		p := growth*q + delta
		return growth*(p-p1)/(p*(1-p))+(q-q1)/(q*(1-q)) > 0
	}
	q = mathx.Bisect(rising, 0, (1-delta)/growth)
	return growth*q + delta, q
}
