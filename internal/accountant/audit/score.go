package audit

import (
	"fmt"
	"math"
	"slices"
)

// Outcome is the output of one run. Labels may repeat, and each number has a name.
type Outcome[F comparable] struct {
	Labels  []F
	Numbers map[F]float64
}

// Event contains all outcomes with a score of at least a limit. Each label of an outcome is a feature. Each
// number of an outcome gives the feature "below its median" or "at least its median". The score of an outcome
// is the sum of the weights of its features. A weight estimates how much a feature changes the logarithm of
// the likelihood ratio. For independent features the best events have this form (Neyman, Pearson).
type Event[F comparable] struct {
	Swapped bool    // the event is more probable on the second input
	Value   float64 // expected lower bound, for comparisons

	medians map[F]float64
	weights map[feature[F]]float64
	limit   float64
	hits    [2]int // in earlier runs on each input, the likelier one first
	runs    int
}

type feature[F comparable] struct {
	of   F
	side string // of the median, or "" for a label
}

func (e *Event[F]) features(o Outcome[F]) (all []feature[F]) {
	for _, l := range o.Labels {
		all = append(all, feature[F]{l, ""})
	}
	for name, x := range o.Numbers {
		side := " below "
		if x >= e.medians[name] {
			side = " from "
		}
		all = append(all, feature[F]{name, side})
	}
	return all
}

func (e *Event[F]) score(o Outcome[F]) (sum float64) {
	for _, f := range e.features(o) {
		sum += e.weights[f]
	}
	if e.Swapped {
		sum = -sum
	}
	return math.Round(sum*1e6) / 1e6 // the order of the features does not matter
}

func (e *Event[F]) contains(runs [2][]Outcome[F], i int) (on, beside bool) {
	on, beside = e.score(runs[0][i]) >= e.limit, e.score(runs[1][i]) >= e.limit
	if e.Swapped {
		on, beside = beside, on
	}
	return on, beside
}

func (e *Event[F]) expected() (on, beside float64) {
	n := float64(e.runs) + 1
	return (float64(e.hits[0]) + 0.5) / n, (float64(e.hits[1]) + 0.5) / n
}

// String describes the event by the feature with the largest weight.
func (e Event[F]) String() (name string) {
	best := math.Inf(-1)
	for f, w := range e.weights {
		text := fmt.Sprint(f.of)
		if f.side != "" {
			text = fmt.Sprintf("%v%s%.4g", f.of, f.side, e.medians[f.of])
		}
		if e.Swapped {
			w = -w
		}
		if w > best || w == best && text < name {
			best, name = w, text
		}
	}
	return name
}

// learn chooses an event from pairs of runs. About `tests` later pairs test the event.
func learn[F comparable](runs [2][]Outcome[F], delta, alpha float64, tests int) (best Event[F]) {
	e, scored := estimated(runs), runs
	// Unless features are few, weights and limit use different halves of the pairs, against overfitting.
	if n := len(runs[0]); 100*len(e.weights) > n {
		e = estimated([2][]Outcome[F]{runs[0][:n/2], runs[1][:n/2]})
		scored = [2][]Outcome[F]{runs[0][n/2:], runs[1][n/2:]}
	}
	best.Value = math.Inf(-1)
	e.runs = len(scored[0])
	// z is the width of the limits in the tests. It is at least 2, or chance would choose rare events.
	z := math.Max(2, math.Sqrt(-2*math.Log(alpha)*float64(e.runs)/float64(max(1, tests))))
	for range 2 {
		var scores [2][]float64
		for side := range scored {
			for _, o := range scored[side] {
				scores[side] = append(scores[side], e.score(o))
			}
			slices.Sort(scores[side])
		}
		if e.Swapped {
			slices.Reverse(scores[:])
		}
		for _, e.limit = range slices.Compact(slices.Clone(scores[0])) {
			for side := range scores {
				below, _ := slices.BinarySearch(scores[side], e.limit)
				e.hits[side] = e.runs - below
			}
			low, _ := wilson(e.hits[0], e.runs, z)
			_, high := wilson(e.hits[1], e.runs, z)
			// If no event gives a positive bound, the value still ranks the events.
			if e.Value = math.Log(math.Max(low-delta, 1e-300) / high); e.Value > best.Value {
				best = e
			}
		}
		e.Swapped = true
	}
	return best
}

// estimated returns an [Event] with medians, and with weights shrunk towards 0 (James and Stein 1961).
func estimated[F comparable](runs [2][]Outcome[F]) Event[F] {
	e := Event[F]{medians: map[F]float64{}, weights: map[feature[F]]float64{}}
	values, counts := map[F][]float64{}, map[feature[F]]*[2]float64{}
	for _, o := range slices.Concat(runs[:]...) {
		for name, x := range o.Numbers {
			values[name] = append(values[name], x)
		}
	}
	for name, xs := range values {
		slices.Sort(xs)
		e.medians[name] = xs[len(xs)/2]
	}
	for side := range runs {
		for _, o := range runs[side] {
			for _, f := range e.features(o) {
				if counts[f] == nil {
					counts[f] = new([2]float64)
				}
				counts[f][side]++
			}
		}
	}
	for f, c := range counts {
		on, beside := c[0]+0.5, c[1]+0.5
		w, variance := math.Log(on/beside), 1/on+1/beside
		e.weights[f] = w * math.Max(0, 1-variance/(w*w))
	}
	return e
}

func wilson(hits, runs int, z float64) (lower, upper float64) {
	n, p := float64(runs), float64(hits)/float64(runs)
	centre := p + z*z/(2*n)
	width := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return (centre - width) / (1 + z*z/n), (centre + width) / (1 + z*z/n)
}
