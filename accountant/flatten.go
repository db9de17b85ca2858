package accountant

import (
	"errors"
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
		for _, leaf := range added.curves.keys {
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
	curves := make([]curve, len(t.curves.keys))
	for i, k := range t.curves.keys {
		curves[i] = curveOf(k)
	}
	counts := t.curves.counts
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
	for i, d := range t.failures.keys {
		sum = mathx.Up(sum + mathx.Up(float64(t.failures.counts[i])*d))
	}
	return math.Min(1, sum)
}

// unfold hands the parts of a Composed or a Repeated to visit, each with how
// often it ran. Other events have no parts, and ok is false.
func unfold(e Event, count int64, visit func(inner Event, count int64) error) (ok bool, err error) {
	switch e := e.(type) {
	case Composed:
		for _, inner := range e.Events {
			if err := visit(inner, count); err != nil {
				return true, err
			}
		}
		return true, nil
	case Repeated:
		n, err := mul(count, e.Count)
		if err != nil {
			return true, err
		}
		return true, visit(e.Event, n)
	}
	return false, nil
}

// flatten adds count runs of a valid event. A Rényi curve does not depend on
// the order of composition, so equal leaves are merged wherever they stand.
func (t *terms) flatten(e Event, count int64, rel Relation) error {
	if ok, err := unfold(e, count, func(inner Event, n int64) error { return t.flatten(inner, n, rel) }); ok {
		return err
	}
	switch e := e.(type) {
	case WithFailure:
		if err := errors.Join(t.fail(e.Delta, count), t.stated.add(e.Delta, count)); err != nil {
			return err
		}
		return t.flatten(e.Event, count, rel)
	case PoissonSampled:
		return t.sampled(e, count, rel)
	case MStab:
		if err := t.fail(e.failure(), count); err != nil {
			return err
		}
		return t.curves.add(e, count)
	case StableSVT:
		if err := t.fail(e.failure(), count); err != nil {
			return err
		}
		return t.curves.add(e, count)
	case SampledWithoutReplacement:
		return t.withoutReplacement(e, count, rel)
	case TruncatedPoisson:
		return t.truncated(e, count, rel)
	case Selection:
		return t.selection(e, selected{eta: e.Eta, gamma: e.Gamma}, e.Event, count, rel)
	case PoissonSelection:
		return t.selection(e, selected{mean: e.Mean}, e.Event, count, rel)
	case Group:
		return t.group(e, count, rel)
	case groupedSample:
		if rel == ReplaceOne {
			return &UnsupportedEventError{PoissonSampled{e.probability, Gaussian{e.noiseMultiplier}}, poissonNeedsAddRemove}
		}
		return t.curves.add(e, count)
	case KaryResponse:
		if rel != ReplaceOne {
			return &UnsupportedEventError{e, karyNeedsReplaceOne}
		}
		return t.curves.add(e, count)
	case Gaussian, Laplace, DiscreteGaussian, DiscreteLaplace, ExponentialMechanism, PureDP,
		RandomizedResponse, ZCDP, GNMax, Threshold, LNMax, AboveThreshold, GNSS, NonPrivate:
		return t.curves.add(e, count)
	default:
		return &UnsupportedEventError{e, "no Rényi curve is known for it"}
	}
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

// sampledForm returns one run of e as a sampled Gaussian, DiscreteGaussian or
// PureDP that dominates it; bounded unless that is what e samples. If a pair (P, Q) dominates a mechanism, then ((1-q)Q + qP, Q) and its
// reverse dominate it on a Poisson sample (Zhu, Dong, Wang 2022, Theorem 11).
// Gaussians on one sample are one Gaussian.
func sampledForm(e PoissonSampled) (Event, error) {
	var inner terms
	if err := inner.flatten(e.Event, 1, AddRemove); err != nil {
		return nil, err
	}
	if holdsGroup(e.Event) {
		return nil, &UnsupportedEventError{e, groupInSample}
	}
	const one = "Poisson sampling is accounted for Gaussian noise, any number of releases from one sample, and for a single release of integer noise or of pure epsilon"
	leaves := inner.curves.keys
	if len(inner.failures.keys) > 0 || len(leaves) == 0 {
		return nil, &UnsupportedEventError{e, one}
	}
	if len(leaves) == 1 && inner.curves.counts[0] == 1 {
		switch l := leaves[0].(type) {
		case Gaussian, DiscreteGaussian, PureDP:
			return PoissonSampled{e.Probability, l}, nil
		case RandomizedResponse:
			return PoissonSampled{e.Probability, PureDP(l)}, nil
		case GNMax:
			if l.Discrete {
				return bounded{by: PoissonSampled{e.Probability, DiscreteGaussian{l.Sigma, math.Sqrt2}}}, nil
			}
		case Threshold:
			if l.Discrete {
				return bounded{by: PoissonSampled{e.Probability, DiscreteGaussian{l.Sigma, 1}}}, nil
			}
		}
	}
	exact := true
	mu2 := 0.0 // sum of (sensitivity/sigma)^2
	for i, leaf := range leaves {
		n := float64(inner.curves.counts[i])
		switch l := leaf.(type) {
		case Gaussian:
			mu2 += n / l.NoiseMultiplier / l.NoiseMultiplier
		case GNMax:
			exact = false
			mu2 += 2 * n / l.Sigma / l.Sigma
			if l.Discrete {
				mu2 = math.NaN()
			}
		case Threshold:
			exact = false
			mu2 += n / l.Sigma / l.Sigma
			if l.Discrete {
				mu2 = math.NaN()
			}
		default:
			mu2 = math.NaN()
		}
	}
	if !math.IsNaN(mu2) {
		noise := math.Max(math.SmallestNonzeroFloat64, (1-1e-15*float64(len(leaves)+2))/math.Sqrt(mu2))
		sampled := PoissonSampled{e.Probability, Gaussian{noise}}
		if exact {
			return sampled, nil
		}
		return bounded{by: sampled}, nil
	}
	if pure, ok := guaranteeOf(leaves[0]); ok && len(leaves) == 1 && inner.curves.counts[0] == 1 && !math.IsInf(pure.epsilon, 1) {
		// A sample costs no more than all records (the divergence is convex).
		return bounded{by: PoissonSampled{e.Probability, PureDP{pure.epsilon}}, of: leaves[0]}, nil
	}
	return nil, &UnsupportedEventError{e, one}
}

const (
	karyNeedsReplaceOne      = "a response is about a record that is there: it is accounted under replace_one; randomized_response holds it under both"
	withoutNeedsReplaceOne   = "sampling without replacement is accounted under replace_one, where the number of records is public"
	withoutNeedsOneMechanism = "sampling without replacement is accounted for a single mechanism that cannot fail"
)

func (t *terms) withoutReplacement(e SampledWithoutReplacement, count int64, rel Relation) error {
	if rel != ReplaceOne {
		return &UnsupportedEventError{e, withoutNeedsReplaceOne}
	}
	if holdsGroup(e.Event) {
		return &UnsupportedEventError{e, groupInSample}
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
	if len(inner.failures.keys) > 0 || len(inner.curves.keys) > 1 || (len(inner.curves.keys) == 1 && inner.curves.counts[0] != 1) {
		return &UnsupportedEventError{e, withoutNeedsOneMechanism}
	}
	if len(inner.curves.keys) == 0 {
		return nil
	}
	leaf := e
	leaf.Event = inner.curves.keys[0]
	if _, nested := leaf.Event.(SampledWithoutReplacement); nested {
		return &UnsupportedEventError{e, withoutNeedsOneMechanism}
	}
	return t.curves.add(leaf, count)
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
	if err := t.fail(e.failure(), count); err != nil {
		return err
	}
	return t.sampled(PoissonSampled{e.Probability, e.Event}, count, rel)
}

// curveOf returns the curve of a leaf that flatten let through.
func curveOf(e Event) curve {
	switch e := e.(type) {
	case Gaussian:
		return gaussianCurve(1 / e.NoiseMultiplier)
	case GNMax: // a moved vote has L2 norm sqrt(2)
		return gaussianCurve(math.Sqrt2 / e.Sigma)
	case Threshold:
		return gaussianCurve(1 / e.Sigma)
	case DiscreteGaussian: // Canonne-Kamath-Steinke 2020, Theorem 4; equality where a*shift is an integer
		return gaussianCurve(e.Sensitivity / e.Sigma)
	case ZCDP:
		return linearCurve(e.Rho)
	case PureDP:
		return pureCurve(e.Epsilon)
	case RandomizedResponse:
		return pureCurve(e.Epsilon)
	case LNMax:
		return e.curve()
	case GNSS:
		return e.curve()
	case Laplace:
		return laplaceCurve(1 / e.NoiseMultiplier)
	case MStab:
		return laplaceCurve(e.Epsilon)
	case ExponentialMechanism:
		return boundedRangeCurve(e.Epsilon)
	case DiscreteLaplace:
		return discreteLaplaceCurve(e.Scale, e.Sensitivity)
	case AboveThreshold:
		return aboveThresholdCurve(e)
	case StableSVT:
		return pureCurve(e.epsilon())
	case KaryResponse:
		return karyCurve(e.Epsilon, e.Categories)
	case SampledWithoutReplacement:
		return withoutReplacementCurve(e.probability(), e.Event)
	case selected:
		return e.curve()
	case groupedSample:
		return e.curve()
	case bounded:
		return e.curve()
	case PoissonSampled: // see sampledForm
		switch inner := e.Event.(type) {
		case PureDP:
			return sampledPureCurve(e.Probability, inner.Epsilon)
		case DiscreteGaussian:
			return sampledDiscreteGaussianCurve(e.Probability, inner.Sigma/inner.Sensitivity)
		case Gaussian:
			return sampledGaussianCurve(e.Probability, inner.NoiseMultiplier)
		}
	}
	return infiniteCurve // NonPrivate
}
