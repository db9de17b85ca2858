package analysis

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// lattice implements [laws] for the integer noise of package aggregate. In a tie the lowest class wins, so
// counts must be in class order.
type lattice struct {
	logProb func(k int64) float64 // log probability of noise k on a count
	scale   float64               // standard deviation or scale of the noise
	reach   float64               // in scales: noise farther from 0 is below the last bit
	deepest float64               // in scales: probabilities do not underflow up to this distance

	least     int       // least reach of the tables
	from      int       // first value of the tables
	prob, cdf []float64 // of the noise, from value from on

	test *rng.DiscreteGaussian // noise of the threshold test, or nil
}

func newGaussianLattice(sigma float64) (*lattice, error) {
	noise, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, &IntegerNoiseError{Scale: sigma, Err: err}
	}
	return &lattice{logProb: noise.LogProb, scale: noise.Sigma(), reach: 10, deepest: 37}, nil
}

func newLaplaceLattice(scale float64) (*lattice, error) {
	noise, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return nil, &IntegerNoiseError{Scale: scale, Err: err}
	}
	return &lattice{logProb: noise.LogProb, scale: noise.Scale(), reach: 40, deepest: 690}, nil
}

// IntegerNoiseError reports that tables for integer noise are too large or underflow. The error can reveal
// votes.
type IntegerNoiseError struct {
	Scale  float64 // scale of the noise, in votes
	Spread float64 // difference of the largest and the least count of a query, in votes
	Wide   bool    // true: Scale is too large; false: Spread is too large for Scale
	Err    error   // not nil if noise of this Scale cannot be drawn
}

func (e *IntegerNoiseError) Unwrap() error { return e.Err }

func (e *IntegerNoiseError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("analysis: integer noise: %v", e.Err)
	}
	if e.Wide {
		return fmt.Sprintf("analysis: integer noise of %g votes is too wide for its exact law", e.Scale)
	}
	return fmt.Sprintf("analysis: counts %g apart are too far apart for the exact law of integer noise of %g votes", e.Spread, e.Scale)
}

const maxLattice = 1 << 22

func (e *lattice) check(counts []int) error {
	spread := float64(slices.Max(counts) - slices.Min(counts))
	if spread+float64(e.margin())+3 > e.deepest*e.scale {
		return &IntegerNoiseError{Scale: e.scale, Spread: spread}
	}
	if spread+4*e.reach*e.scale > maxLattice {
		return &IntegerNoiseError{Scale: e.scale, Spread: spread, Wide: true}
	}
	return nil
}

func (e *lattice) margin() int { return int(math.Ceil(e.reach*e.scale)) + 1 }

func (e *lattice) reachOf(counts []int) int {
	return slices.Max(counts) - slices.Min(counts) + e.margin() + 3
}

func (e *lattice) cover(t tally) {
	if e.check(t) == nil {
		e.least = max(e.least, e.reachOf(t))
	}
}

func (e *lattice) prepare(reach int) {
	if len(e.cdf) > 2*reach {
		return
	}
	e.from = -reach
	e.prob, e.cdf = make([]float64, 2*reach+1), make([]float64, 2*reach+1)
	sum := 0.0
	for k := e.from - int(e.reach*e.scale); k < e.from; k++ {
		sum += math.Exp(e.logProb(int64(k)))
	}
	tail := sum
	for i := range e.prob {
		e.prob[i] = math.Exp(e.logProb(int64(e.from + i)))
		switch k := e.from + i; {
		case k <= 0:
			sum += e.prob[i]
			e.cdf[i] = sum
		case k < reach:
			e.cdf[i] = 1 - e.cdf[reach-k-1]
		default:
			e.cdf[i] = 1 - tail
		}
	}
}

type move struct {
	from, to int
	law      []float64
}

func (e *lattice) visit(counts []int, f func(law []float64, counts []int)) error {
	if err := e.check(counts); err != nil {
		return err
	}
	k, low, high := len(counts), slices.Min(counts), slices.Max(counts)
	margin := e.margin()
	e.prepare(max(e.least, e.reachOf(counts)))
	var moves []move
	for a, n := range counts {
		for b := range counts {
			if a != b && n > 0 {
				moves = append(moves, move{a, b, make([]float64, k)})
			}
		}
	}
	own := make([]float64, k)
	// For the noisy count N of class j: equal[j] = P[N <= x], below[j] = P[N < x], above[j] = P[N <= x+1],
	// under[j] = P[N < x-1]. Classes before the winner must have N < x, and classes after it N <= x.
	below, equal, above, under := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	before, others, wins := make([]float64, k), make([]float64, k), make([]float64, k)
	for x := low - margin; x <= high+margin; x++ {
		for j, n := range counts {
			at := x - n - e.from
			under[j], below[j], equal[j], above[j] = e.cdf[at-2], e.cdf[at-1], e.cdf[at], e.cdf[at+1]
		}
		product := 1.0
		for i := range counts {
			before[i] = product
			product *= below[i]
		}
		product = 1
		for i := k - 1; i >= 0; i-- {
			others[i] = before[i] * product
			product *= equal[i]
		}
		for i, n := range counts {
			wins[i] = e.prob[x-n-e.from] * others[i]
			own[i] += wins[i]
		}
		for _, m := range moves {
			// The factors of two classes change. One vote less for a class is like x+1 in place of x. One
			// vote more is like x-1.
			fromBefore, fromBehind := equal[m.from]/below[m.from], above[m.from]/equal[m.from]
			toBefore, toBehind := under[m.to]/below[m.to], below[m.to]/equal[m.to]
			// Any other class is before both classes, between them, or after both.
			between, first, second := fromBefore*toBehind, m.from, m.to
			ownFrom, ownTo := toBehind, fromBefore
			if m.from > m.to {
				between, first, second = toBefore*fromBehind, m.to, m.from
				ownFrom, ownTo = toBefore, fromBehind
			}
			addScaled(m.law[:first], wins[:first], fromBehind*toBehind)
			addScaled(m.law[first+1:second], wins[first+1:second], between)
			addScaled(m.law[second+1:], wins[second+1:], fromBefore*toBefore)
			m.law[m.from] += e.prob[x-counts[m.from]-e.from+1] * others[m.from] * ownFrom
			m.law[m.to] += e.prob[x-counts[m.to]-e.from-1] * others[m.to] * ownTo
		}
	}
	f(logs(own), counts)
	moved := slices.Clone(counts)
	for _, m := range moves {
		moved[m.from]--
		moved[m.to]++
		f(logs(m.law), moved)
		moved[m.from]++
		moved[m.to]--
	}
	return nil
}

func addScaled(dst, x []float64, by float64) {
	for i, v := range x[:len(dst)] {
		dst[i] += v * by
	}
}

func logs(p []float64) []float64 {
	for i, v := range p {
		p[i] = math.Log(v)
	}
	return complement(p)
}

// threshold rounds the threshold up, because the noisy largest count is an integer.
func (e *lattice) threshold(largest int, threshold, _ float64) (logPass, logFail float64) {
	short := int64(math.Ceil(threshold)) - int64(largest)
	return logAtLeast(e.test, short), logAtLeast(e.test, 1-short)
}

func logAtLeast(noise *rng.DiscreteGaussian, m int64) float64 {
	if m <= 0 {
		return mathx.Log1mExp(-logAtLeast(noise, 1-m))
	}
	top, sum := noise.LogProb(m), 0.0
	for k := m; ; k++ {
		term := math.Exp(noise.LogProb(k) - top)
		if sum += term; term < 1e-17*sum {
			return top + math.Log(sum)
		}
	}
}
