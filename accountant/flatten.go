package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// terms is an event tree taken apart into single mechanisms, each with how
// often it runs, and failure probabilities, likewise.
type terms struct {
	curves   tally[Event] // leaves that curveOf knows; all comparable
	failures tally[float64]
	stated   tally[float64] // the failures of WithFailure, which some mechanism attains
}

// compose adds count runs of e to t, or nothing and an error: the whole tree is
// checked first, each leaf by allow unless that is nil.
func (t *terms) compose(e Event, count int64, rel Relation, allow func(leaf Event) error) error {
	added, err := parse(e, count, rel, allow)
	if err != nil {
		return err
	}
	if !t.fits(&added) {
		return errTooMany
	}
	t.merge(&added)
	return nil
}

// parse takes count runs of an event apart.
func parse(e Event, count int64, rel Relation, allow func(leaf Event) error) (added terms, err error) {
	if err := validTree(e, 0); err != nil {
		return added, err
	}
	if err := atLeast("compose", "count", count, 0); err != nil {
		return added, err
	}
	if err := added.flatten(e, count, rel); err != nil {
		return added, err
	}
	if allow != nil {
		for _, leaf := range added.curves.Keys {
			if err := allow(leaf); err != nil {
				return added, err
			}
		}
	}
	return added, nil
}

func (t *terms) fits(added *terms) bool {
	return t.curves.fits(&added.curves) && t.failures.fits(&added.failures)
}

func (t *terms) merge(added *terms) {
	t.curves.merge(&added.curves)
	t.failures.merge(&added.failures)
	t.stated.merge(&added.stated)
}

// slack covers the rounding of a curve (below 1e-12 relative on every
// reference value), its multiplication and its sum.
const slack = 2e-12

// total returns the upper bound of the composed divergence, as a curve.
func (t *terms) total() curve {
	curves := make([]curve, len(t.curves.Keys))
	for i, k := range t.curves.Keys {
		curves[i] = curveOf(k)
	}
	counts := t.curves.Counts
	return func(a float64) float64 {
		sum := 0.0
		for i, c := range curves {
			sum += float64(counts[i]) * c(a)
		}
		if math.IsNaN(sum) { // no parameter in range is known to do this
			return math.Inf(1)
		}
		return sum * (1 + slack)
	}
}

// failure returns the summed failure probability, rounded up.
func (t *terms) failure() float64 {
	sum := 0.0
	for i, d := range t.failures.Keys {
		sum = mathx.Up(sum + mathx.Up(float64(t.failures.Counts[i])*d))
	}
	return math.Min(1, sum)
}

// flatten adds count runs of a valid event. A Rényi curve does not depend on
// the order of composition, so equal leaves are merged wherever they stand.
func (t *terms) flatten(e Event, count int64, rel Relation) error {
	return e.row().flatten(t, count, rel)
}

const poissonNeedsAddRemove = "Poisson sampling is accounted under add_remove only; under replace_one the sensitivity doubles and the amplification differs"

func (t *terms) fail(delta float64, count int64) error {
	if delta == 0 {
		return nil
	}
	return t.failures.add(delta, count)
}

func (t *terms) sampled(e PoissonSampled, count int64, rel Relation) error {
	if e.Probability == 0 { // nobody takes part; still refuse what could not be accounted
		return new(terms).flatten(e.Event, count, rel)
	}
	if rel == ReplaceOne {
		return &UnsupportedEventError{e, poissonNeedsAddRemove}
	}
	if e.Probability == 1 {
		return t.flatten(e.Event, count, rel)
	}
	leaf, err := sampledForm(e)
	if err != nil {
		return err
	}
	return t.curves.add(leaf, count)
}

// sampledForm returns a sampled Gaussian, DiscreteGaussian or PureDP that dominates
// one run of e. It is wrapped in dominated when it is only an upper bound.
//
// If a pair (P, Q) dominates a mechanism, then ((1-q)Q + qP, Q) and its reverse
// dominate it on a Poisson sample (Zhu, Dong, Wang 2022, Theorem 11).
func sampledForm(e PoissonSampled) (Event, error) {
	var inner terms
	if err := inner.flatten(e.Event, 1, AddRemove); err != nil {
		return nil, err
	}
	if holdsGroup(e.Event) {
		return nil, &UnsupportedEventError{e, groupInSample}
	}
	const one = "Poisson sampling is accounted for Gaussian noise, any number of releases from one sample, and for a single release of integer noise or of pure epsilon"
	leaves := inner.curves.Keys
	if len(inner.failures.Keys) > 0 || len(leaves) == 0 {
		return nil, &UnsupportedEventError{e, one}
	}
	if len(leaves) > 1 || inner.curves.Counts[0] > 1 {
		if noise, exact, ok := oneGaussian(&inner.curves); ok {
			return sampledNoise(e.Probability, noise, exact), nil
		}
		return nil, &UnsupportedEventError{e, one}
	}
	leaf := leaves[0]
	pure, ok := guaranteeOf(leaf)
	finite := !math.IsInf(pure.epsilon, 1)
	if noise, same := leaf.row().sampledAs(); noise != nil && finite {
		return sampledNoise(e.Probability, noise, same), nil
	}
	if ok && finite {
		// A sample costs no more than all records (the divergence is convex).
		return dominated{by: PoissonSampled{e.Probability, PureDP{pure.epsilon}}, alsoCurve: leaf}, nil
	}
	return nil, &UnsupportedEventError{e, one}
}

// sampledNoise returns a Poisson sample of noise, in dominated unless it is exact.
func sampledNoise(probability float64, noise Event, exact bool) Event {
	sampled := PoissonSampled{probability, noise}
	if exact {
		return sampled
	}
	return dominated{by: sampled}
}

// oneGaussian returns the Gaussian release that costs what all the leaves cost on
// the same sample: squares of sensitivity/sigma add up. Exact reports whether no
// leaf was replaced by an upper bound; ok is false if one has no continuous
// Gaussian noise.
func oneGaussian(leaves *tally[Event]) (noise Gaussian, exact, ok bool) {
	exact = true
	squares := 0.0 // sum of (sensitivity/sigma)^2
	for i, leaf := range leaves.Keys {
		noise, same := leaf.row().sampledAs()
		gaussian, ok := noise.(Gaussian)
		if !ok {
			return Gaussian{}, false, false
		}
		exact = exact && same
		squares += float64(leaves.Counts[i]) / gaussian.NoiseMultiplier / gaussian.NoiseMultiplier
	}
	shrink := 1 - 1e-15*float64(len(leaves.Keys)+2) // rounding
	return Gaussian{math.Max(math.SmallestNonzeroFloat64, shrink/math.Sqrt(squares))}, exact, true
}

const (
	withoutNeedsOneMechanism = "sampling without replacement is accounted for a single mechanism that cannot fail"
)

func (t *terms) withoutReplacement(e SampledWithoutReplacement, count int64, rel Relation) error {
	if holdsGroup(e.Event) {
		return &UnsupportedEventError{e, groupInSample}
	}
	if rel == AddRemove {
		return t.withoutReplacementOfOneMore(e, count)
	}
	var inner terms
	if err := inner.flatten(e.Event, 1, rel); err != nil {
		return err
	}
	if e.Size == 0 {
		return nil
	}
	if e.Size == e.Population {
		return t.flatten(e.Event, count, rel)
	}
	if len(inner.failures.Keys) > 0 || len(inner.curves.Keys) > 1 || (len(inner.curves.Keys) == 1 && inner.curves.Counts[0] != 1) {
		return &UnsupportedEventError{e, withoutNeedsOneMechanism}
	}
	if len(inner.curves.Keys) == 0 {
		return nil
	}
	leaf := e
	leaf.Event = inner.curves.Keys[0]
	if _, nested := leaf.Event.(SampledWithoutReplacement); nested {
		return &UnsupportedEventError{e, withoutNeedsOneMechanism}
	}
	return t.curves.add(leaf, count)
}

// withoutReplacementOfOneMore charges a record that is added or removed. Of the larger data,
// a subset without it is a subset of the smaller, and one with it differs from such a subset
// in one record that is replaced. So the outputs are U and (1-q)U + qV, with V and U as
// neighbours that replace a record, who see the event inside as a group of two sees it.
func (t *terms) withoutReplacementOfOneMore(e SampledWithoutReplacement, count int64) error {
	if e.Size == e.Population {
		return &UnsupportedEventError{e, "without one of its records the data are too few for the sample"}
	}
	inner, err := grouped(e.Event, 2)
	if err != nil {
		return err
	}
	return t.sampled(PoissonSampled{math.Min(1, e.Probability()), inner}, count, AddRemove)
}

// truncated charges the Poisson sampled event, and as failure the chance that
// the batch is full without the record that differs. As long as it is not, the
// batches of both neighbours are untouched, whether they hold that record or
// not, and on that event each law is the mixture that untruncated sampling has
// (the divergence of the parts is jointly convex).
func (t *terms) truncated(e TruncatedPoisson, count int64, rel Relation) error {
	if rel == ReplaceOne {
		return &UnsupportedEventError{e, poissonNeedsAddRemove}
	}
	if err := t.fail(e.Failure(), count); err != nil {
		return err
	}
	return t.sampled(PoissonSampled{e.Probability, e.Event}, count, rel)
}

// curveOf returns the curve of a leaf that flatten let through.
func curveOf(e Event) curve { return e.row().curve() }

// sumUp adds two numbers, neither negative, never below their sum and exactly
// where one is zero.
func sumUp(a, b float64) float64 {
	if a == 0 || b == 0 {
		return a + b
	}
	return mathx.Up(a + b)
}
