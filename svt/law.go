package svt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/rng"
)

// Law computes the exact distribution of the transcripts of a sparse vector. Query i is "above" if
//
//	value_i + query noise_i >= Threshold + threshold noise.
//
// A Law can describe every mechanism of this package and the broken variants of the literature. For
// [StableSVT] and [MSvec], "above" means a refusal. Then value_i is minus the distance of query i. The law's
// Threshold is minus the config's Threshold. If QueryNoise is not zero, the two noises must be both
// continuous or both discrete. Results of a Law depend on private values. Use a Law only in tests, planning
// and teaching.
type Law struct {
	Threshold      float64
	ThresholdNoise Noise
	QueryNoise     Noise
	Stop           int  // number of queries above that ends the run; 0: it never stops
	Refresh        bool // each query above is followed by new threshold noise
}

// Outcome is one transcript of a run, with its probability.
type Outcome struct {
	Above []bool // one entry per query that was asked
	Prob  float64
}

// Outcomes returns every possible transcript of queries with the given values. More than 2^20 transcripts
// are an error. Probabilities that are not tiny have a relative accuracy of 1e-9.
func (l Law) Outcomes(values []float64) ([]Outcome, error) {
	if n := l.outcomes(len(values)); n > maxOutcomes {
		return nil, fmt.Errorf("svt: %d values have %.3g outcomes, the limit is %d", len(values), n, maxOutcomes)
	}
	s, err := l.states(values)
	if err != nil {
		return nil, err
	}
	var all []Outcome
	var walk func(above []bool, stopped int, weights []float64)
	walk = func(above []bool, count int, weights []float64) {
		i := len(above)
		if i == len(values) || l.Stop > 0 && count == l.Stop {
			all = append(all, Outcome{slices.Clone(above), sum(weights)})
			return
		}
		over, under := s.step(weights, i)
		if l.Refresh {
			over = s.restart(sum(over))
		}
		walk(append(above, true), count+1, over)
		walk(append(above, false), count, under)
	}
	walk(nil, 0, s.weights)
	return all, nil
}

const maxOutcomes = 1 << 20

func (l Law) outcomes(values int) (total float64) {
	stop := l.Stop
	if stop == 0 {
		stop = values + 1
	}
	choose := 1.0 // values over k
	for k := 0; k <= min(stop, values); k++ {
		total += choose
		choose *= float64(values-k) / float64(k+1)
	}
	return total
}

// FirstAbove returns first[i] = P[query i is the first query above] and none = P[no query is above].
func (l Law) FirstAbove(values []float64) (first []float64, none float64, err error) {
	s, err := l.states(values)
	if err != nil {
		return nil, 0, err
	}
	weights := s.weights
	for i := range values {
		over, under := s.step(weights, i)
		first, weights = append(first, sum(over)), under
	}
	return first, sum(weights), nil
}

func sum(xs []float64) (total float64) {
	for _, x := range xs {
		total += x
	}
	return total
}

// states holds quadrature weights for the threshold noise, and P[below] and P[above] for each value and
// quadrature point.
type states struct {
	weights []float64
	below   [][]float64 // [value][point]
	above   [][]float64
}

const maxPoints = 1 << 20

func (l Law) states(values []float64) (*states, error) {
	if err := errors.Join(l.ThresholdNoise.check(), l.QueryNoise.check()); err != nil {
		return nil, err
	}
	discrete := l.ThresholdNoise.discrete()
	if l.ThresholdNoise == (Noise{}) || l.QueryNoise != (Noise{}) && discrete != l.QueryNoise.discrete() {
		return nil, errors.New("svt: a law needs threshold noise, and both noises continuous or both discrete")
	}
	span := math.Abs(l.Threshold)
	for _, v := range append([]float64{l.Threshold}, values...) {
		if math.IsNaN(v) || math.Abs(v) > 0x1p50 || discrete && v != math.Trunc(v) {
			return nil, fmt.Errorf("svt: %g is not a value that a law can have", v)
		}
		span = max(span, math.Abs(v)+math.Abs(l.Threshold))
	}
	var points, weights []float64
	if discrete {
		points, weights = l.lattice(span)
	} else {
		points, weights = l.quadrature(values, span)
	}
	if points == nil {
		return nil, fmt.Errorf("svt: the law needs more than %d points", maxPoints)
	}
	s := &states{weights: weights}
	for i, v := range values {
		if j := slices.Index(values, v); j < i { // same value as an earlier query
			s.below, s.above = append(s.below, s.below[j]), append(s.above, s.above[j])
			continue
		}
		below, above := make([]float64, len(points)), make([]float64, len(points))
		for k, z := range points {
			below[k], above[k] = l.QueryNoise.split(l.Threshold + z - v)
		}
		s.below, s.above = append(s.below, below), append(s.above, above)
	}
	return s, nil
}

func (l Law) lattice(span float64) (points, weights []float64) {
	reach := l.ThresholdNoise.reach() + span
	if 2*reach > maxPoints {
		return nil, nil
	}
	low := -math.Ceil(reach)
	if l.ThresholdNoise.Kind == Geometric {
		low = 0
	}
	for z := low; z <= math.Ceil(reach); z++ {
		points, weights = append(points, z), append(weights, l.ThresholdNoise.density(z))
	}
	return points, weights
}

func (l Law) quadrature(values []float64, span float64) (points, weights []float64) {
	// The integrand is analytic except where the threshold noise is 0 or a value equals the noisy threshold,
	// so panels end at these points.

	const order = 16
	low, high := -l.ThresholdNoise.reach(), l.ThresholdNoise.reach()
	if l.ThresholdNoise.Kind != Gaussian {
		low, high = low-span, high+span
	}
	if l.ThresholdNoise.Kind == Exponential {
		low = 0
	}
	kinks := []float64{low, 0, high}
	for _, v := range values {
		kinks = append(kinks, min(high, max(low, v-l.Threshold)))
	}
	slices.Sort(kinks)
	kinks = slices.Compact(kinks)
	width := l.ThresholdNoise.Scale
	if l.QueryNoise.Scale > 0 {
		width = min(width, l.QueryNoise.Scale)
	}
	width /= 1 + float64(len(values))/8 // products of many probabilities are steeper
	if (high-low)/width*order > maxPoints {
		return nil, nil
	}
	x, w := make([]float64, order), make([]float64, order)
	for i := 1; i < len(kinks); i++ {
		a, b := kinks[i-1], kinks[i]
		panels := math.Ceil((b - a) / width)
		for p := range int(panels) {
			from, to := a+(b-a)*float64(p)/panels, a+(b-a)*float64(p+1)/panels
			quad.Legendre{}.FixedLocations(x, w, from, to)
			for k := range x {
				points, weights = append(points, x[k]), append(weights, w[k]*l.ThresholdNoise.density(x[k]))
			}
		}
	}
	return points, weights
}

func (s *states) step(weights []float64, i int) (over, under []float64) {
	both := make([]float64, 2*len(weights))
	over, under = both[:len(weights)], both[len(weights):]
	for k, w := range weights {
		over[k], under[k] = w*s.above[i][k], w*s.below[i][k]
	}
	return over, under
}

func (s *states) restart(mass float64) []float64 {
	out := make([]float64, len(s.weights))
	for k, w := range s.weights {
		out[k] = w * mass
	}
	return out
}

// Kind is a family of noise distributions with scale b. Mechanisms draw only discrete kinds. The continuous
// kinds are for mechanisms of the literature.
type Kind int

const (
	Laplace         Kind = iota + 1 // density exp(-|x|/b)/(2b)
	Exponential                     // density exp(-x/b)/b, x >= 0
	Gaussian                        // standard deviation b
	DiscreteLaplace                 // mass proportional to exp(-|k|/b)
	Geometric                       // mass proportional to exp(-k/b), k >= 0: one-sided
)

// Noise is a noise distribution with scale b. The zero Noise adds no noise.
type Noise struct {
	Kind  Kind
	Scale float64
}

func (n Noise) discrete() bool { return n.Kind == DiscreteLaplace || n.Kind == Geometric }

func (n Noise) check() error {
	if n == (Noise{}) {
		return nil
	}
	if n.Kind < Laplace || n.Kind > Geometric || !(n.Scale >= 0x1p-10 && n.Scale <= 0x1p40) {
		return fmt.Errorf("svt: %+v is not a Noise with a scale in [2^-10, 2^40]", n)
	}
	return nil
}

func (n Noise) density(x float64) float64 {
	z, t := x/n.Scale, 1/n.Scale
	switch {
	case n.Kind == Laplace:
		return math.Exp(-math.Abs(z)) * t / 2
	case n.Kind == Gaussian:
		return math.Exp(-z*z/2) * t / math.Sqrt(2*math.Pi)
	case n.Kind == DiscreteLaplace:
		return math.Tanh(t/2) * math.Exp(-math.Abs(z))
	case x < 0: // one-sided noise
		return 0
	case n.Kind == Exponential:
		return math.Exp(-z) * t
	}
	return -math.Expm1(-t) * math.Exp(-z)
}

// split returns P[noise < x] and P[noise >= x] with high relative accuracy.
func (n Noise) split(x float64) (below, above float64) {
	if n.discrete() {
		x = math.Ceil(x)
	}
	z, r := x/n.Scale, math.Exp(-1/n.Scale)
	switch n.Kind {
	case Laplace:
		if z > 0 {
			return 1 - math.Exp(-z)/2, math.Exp(-z) / 2
		}
		return math.Exp(z) / 2, 1 - math.Exp(z)/2
	case Gaussian:
		return math.Erfc(-z/math.Sqrt2) / 2, math.Erfc(z/math.Sqrt2) / 2
	case DiscreteLaplace:
		if x > 0 {
			tail := math.Exp(-z) / (1 + r)
			return 1 - tail, tail
		}
		tail := math.Exp(z) * r / (1 + r) // P[noise <= x-1]
		return tail, 1 - tail
	case Exponential, Geometric:
		if x <= 0 {
			return 0, 1
		}
		return -math.Expm1(-z), math.Exp(-z)
	}
	if x > 0 { // no noise
		return 1, 0
	}
	return 0, 1
}

func (n Noise) reach() float64 {
	if n.Kind == Gaussian {
		return 14*n.Scale + 2
	}
	return 45*n.Scale + 2
}

type sampler func(*rng.Stream) int64

func (n Noise) sampler() (sampler, error) {
	if !n.discrete() {
		return nil, fmt.Errorf("svt: noise of kind %d is not drawn, only DiscreteLaplace and Geometric are", n.Kind)
	}
	d, err := rng.NewDiscreteLaplace(n.Scale)
	if err != nil {
		return nil, fmt.Errorf("svt: %w", err)
	}
	if n.Kind == Geometric {
		return d.Geometric, nil
	}
	return d.Sample, nil
}
