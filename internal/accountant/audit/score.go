package audit

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unique"
)

// Outcome is the output of one run as a multiset of features, such as the label of one query.
type Outcome []unique.Handle[string]

// Event contains all outcomes whose score, the sum of their features' weights, is at least a limit. A weight
// estimates how much a feature changes the logarithm of the likelihood ratio. For independent features the
// best events have this form (Neyman, Pearson).
type Event struct {
	Swapped bool    // the event is more probable on the second input
	Value   float64 // expected lower bound, for comparisons

	weights map[unique.Handle[string]]float64
	limit   float64
}

func (e Event) score(o Outcome) (sum float64) {
	for _, f := range o {
		sum += e.weights[f]
	}
	if e.Swapped {
		sum = -sum
	}
	return math.Round(sum*1e6) / 1e6 // the order of the features does not matter
}

// Contains reports whether the outcome o is in the event.
func (e Event) Contains(o Outcome) bool { return e.weights != nil && e.score(o) >= e.limit }

// String returns the feature with the largest weight.
func (e Event) String() string {
	of := func(f unique.Handle[string]) float64 { return e.score(Outcome{f}) }
	features := slices.SortedFunc(maps.Keys(e.weights), func(f, g unique.Handle[string]) int {
		return cmp.Or(cmp.Compare(of(g), of(f)), strings.Compare(g.Value(), f.Value()))
	})
	if len(features) == 0 {
		return ""
	}
	return features[0].Value()
}

// LearnEvent chooses an event for tests with the given number of pairs. The arguments first and second hold
// the outcomes of earlier pairs. Weights fit the outcomes that they come from too well. Unless features are
// few, LearnEvent therefore takes the weights from one half of the pairs and the limit from the other half.
func LearnEvent(first, second []Outcome, delta float64, tests int) Event {
	scored := [2][]Outcome{first, second}
	weights := estimate(scored)
	if 100*len(weights) > len(first) {
		half := len(first) / 2
		weights = estimate([2][]Outcome{first[:half], second[:half]})
		scored = [2][]Outcome{first[half:], second[half:]}
	}
	best := Event{Value: math.Inf(-1)}
	n := len(scored[0])
	// z is the width of the limits in the tests, but no event is chosen for a few outcomes.
	z := math.Max(1, 4*math.Sqrt(float64(n)/float64(max(1, tests))))
	for _, e := range []Event{{weights: weights}, {weights: weights, Swapped: true}} {
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
			on, _ := slices.BinarySearch(scores[0], e.limit)
			beside, _ := slices.BinarySearch(scores[1], e.limit)
			low, _ := wilson(n-on, n, z)
			_, high := wilson(n-beside, n, z)
			if e.Value = math.Log(math.Max(low-delta, 1e-300) / high); e.Value > best.Value {
				best = e
			}
		}
	}
	return best
}

// estimate returns the weights of all features. It shrinks them towards 0 (James and Stein 1961).
func estimate(outcomes [2][]Outcome) map[unique.Handle[string]]float64 {
	counts := map[unique.Handle[string]]*[2]float64{}
	for side := range outcomes {
		for _, o := range outcomes[side] {
			for _, f := range o {
				if counts[f] == nil {
					counts[f] = new([2]float64)
				}
				counts[f][side]++
			}
		}
	}
	weights := make(map[unique.Handle[string]]float64, len(counts))
	for f, c := range counts {
		on, beside := c[0]+0.5, c[1]+0.5
		w, variance := math.Log(on/beside), 1/on+1/beside
		weights[f] = w * math.Max(0, 1-variance/(w*w))
	}
	return weights
}
