package accountant

import (
	"math"
	"math/bits"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// PoissonSampled runs Event on a random sample. Each record is in the sample independently with the given
// probability. Shuffled or fixed-size batches are not Poisson samples.
type PoissonSampled struct {
	Probability float64 `json:"probability" in:"[0, 1]"` // in [0, 1]
	Event       Event   `json:"event"`
}

func (PoissonSampled) row() row {
	return row{"poisson_sampled", "on a Poisson sample", "q {probability}", attained}
}

const poissonNeedsAddRemove = "Poisson sampling is accounted under add_remove only; " +
	"under replace_one the sensitivity doubles and the amplification differs"

func (e PoissonSampled) flatten(t *terms, count int64) {
	switch {
	case e.Probability == 0: // no record takes part; an unsupported event still gives an error
		t.alone(e.Event, count)
	case t.rel == ReplaceOne:
		t.refuse(e, poissonNeedsAddRemove)
	case e.Probability == 1:
		t.flatten(e.Event, count)
	default:
		t.add(e.form(t), count)
	}
}

// form returns an event that dominates one run of the event e: additive noise or PureDP, on a Poisson sample.
func (e PoissonSampled) form(t *terms) Event {
	// If e may cost less, the result is wrapped in dominated. Let a pair (P, Q) dominate a mechanism. Then
	// ((1-q)Q + qP, Q) and the reverse pair dominate the mechanism on a Poisson sample (Zhu, Dong, Wang 2022,
	// Theorem 11).
	inner := t.alone(e.Event, 1)
	if holdsGroup(e.Event) {
		t.refuse(e, groupInSample)
	}
	leaves := inner.curves.Keys
	switch {
	case t.err != nil:
		return nil
	case len(inner.failures.Keys) > 0 || len(leaves) == 0:
	case len(leaves) > 1 || inner.curves.Counts[0] > 1:
		if noise, exact, ok := oneGaussian(&inner.curves); ok {
			return boundUnless(exact, PoissonSampled{e.Probability, noise})
		}
	default:
		pure, ok := guaranteeOf(leaves[0])
		noise, same := sampledAs(leaves[0])
		switch {
		case math.IsInf(pure.epsilon, 1):
		case noise != nil:
			return boundUnless(same, PoissonSampled{e.Probability, noise})
		case ok: // a sample costs no more than all records: the divergence is convex
			return dominated{by: PoissonSampled{e.Probability, PureDP{pure.epsilon}}, alsoCurve: leaves[0]}
		}
	}
	t.refuse(e, "Poisson sampling is accounted for Gaussian noise, any number of releases from one sample, "+
		"and for a single release of integer noise or of pure epsilon")
	return nil
}

// oneGaussian returns one Gaussian release that dominates all leaves on the same sample.
func oneGaussian(leaves *tally[Event]) (noise Gaussian, exact, ok bool) {
	// The squares of sensitivity/sigma add up. The result exact is true if both cost the same, and ok is
	// false if a leaf has no continuous Gaussian noise.
	exact = true
	squares := 0.0 // sum of (sensitivity/sigma)^2
	for i, leaf := range leaves.Keys {
		noise, same := sampledAs(leaf)
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

// curve accepts, like the method pair, only an event that PoissonSampled.form returned.
func (e PoissonSampled) curve() curve {
	if noise, ok := e.Event.(sampledNoise); ok {
		return noise.sampledCurve(e.Probability)
	}
	return infiniteCurve
}

func (e PoissonSampled) pair() (pld.Pair, error) {
	one, err := pairOf(e.Event)
	return one.OnPoissonSample(e.Probability), err
}

func (e PoissonSampled) group(n int64) (Event, error) {
	if inner, ok := e.Event.(Gaussian); ok && e.Probability > 0 && e.Probability < 1 {
		return groupedSample{e.Probability, inner.NoiseMultiplier, n}, nil
	}
	return nil, nil
}

// SampledWithoutReplacement runs Event on exactly Size records, drawn uniformly from Population records.
// Noise multipliers are relative to the sensitivity under the relation of the account.
//
// Under replace_one the size of the data is public, and the sensitivity of a clipped sum is twice the
// clipping norm. Under add_remove the sensitivity is the clipping norm. But if the added record is drawn, it
// displaces another record. So accountants use group privacy for two records. Population must then be at most
// the size of the larger data set.
type SampledWithoutReplacement struct {
	Size       int64 `json:"size" in:"0"`                      // in [0, Population]
	Population int64 `json:"population" in:"1" atleast:"Size"` // >= 1
	Event      Event `json:"event"`
}

// Probability returns the drawn fraction of the records, rounded up.
func (e SampledWithoutReplacement) Probability() float64 {
	return float64(e.Size) / float64(e.Population) * (1 + 4e-16)
}

func (SampledWithoutReplacement) row() row {
	return row{"sampled_without_replacement", "on a sample without replacement",
		"{size} of {population}", bounded}
}

const withoutNeedsOneMechanism = "sampling without replacement is accounted for a single mechanism that cannot fail"

func (e SampledWithoutReplacement) flatten(t *terms, count int64) {
	if holdsGroup(e.Event) {
		t.refuse(e, groupInSample)
		return
	}
	if t.rel == AddRemove {
		e.flattenOfOneMore(t, count)
		return
	}
	inner := t.alone(e.Event, 1)
	switch {
	case t.err != nil || e.Size == 0:
	case e.Size == e.Population:
		t.flatten(e.Event, count)
	case len(inner.failures.Keys) > 0 || len(inner.curves.Keys) > 1:
		t.refuse(e, withoutNeedsOneMechanism)
	case len(inner.curves.Keys) == 1:
		leaf := e
		leaf.Event = inner.curves.Keys[0]
		if _, nested := leaf.Event.(SampledWithoutReplacement); nested || inner.curves.Counts[0] != 1 {
			t.refuse(e, withoutNeedsOneMechanism)
		}
		t.add(leaf, count)
	}
}

func (e SampledWithoutReplacement) flattenOfOneMore(t *terms, count int64) {
	// Let x be the added record. A subset without x is a subset of the smaller data set. A subset with x is a
	// subset without x in which x replaces one record. So the outputs are U and (1-q)U + qV, where V and U
	// are neighbours under replace_one. The inner event is accounted for a group of two.
	if e.Size == e.Population {
		t.refuse(e, "without one of its records the data are too few for the sample")
	}
	inner, err := grouped(e.Event, 2)
	t.check(err)
	t.flatten(PoissonSampled{math.Min(1, e.Probability()), inner}, count)
}

func (e SampledWithoutReplacement) curve() curve {
	return withoutReplacementCurve(e.Probability(), e.Event)
}

func (e SampledWithoutReplacement) pair() (pld.Pair, error) {
	inner, _, err := e.inside()
	if err != nil {
		return pld.Pair{}, err
	}
	one, err := pairOf(inner)
	return one.OnFixedSample(e.Probability()), err
}

// attained bounds the cost from below, by a data set of equal records and a neighbour with one different
// record. The sample contains the different record with probability Size/Population.
func (e SampledWithoutReplacement) attained(s *pld.Sum, n int64) (dominating bool) {
	inner, same, err := e.inside()
	if err != nil || !same {
		return false
	}
	if one, err := pairOf(inner); err == nil {
		s.Add(one.OnPoissonSample(float64(e.Size)/float64(e.Population)*(1-4e-16)), n)
	}
	return false
}

func (e SampledWithoutReplacement) inside() (inner Event, same bool, err error) {
	if inner, same = sampledAs(e.Event); inner != nil {
		return inner, same, nil
	}
	if pure, ok := guaranteeOf(e.Event); ok && pure.delta == 0 && !math.IsInf(pure.epsilon, 1) {
		return PureDP{pure.epsilon}, false, nil
	}
	return nil, false, &UnsupportedEventError{e, "no dominating pair is known for the event inside"}
}

// TruncatedPoisson is PoissonSampled with a cap. If more than MaxBatch records are drawn, the run may treat
// the batch in any way. Population is an upper bound on the number of records. The failure probability of the
// event grows with Population.
type TruncatedPoisson struct {
	Probability float64 `json:"probability" in:"[0, 1]" alone:"true"` // in [0, 1]
	MaxBatch    int64   `json:"max_batch" in:"1"`                     // >= 1
	Population  int64   `json:"population" in:"1"`                    // >= 1
	Event       Event   `json:"event"`
}

// Failure bounds the probability that at least MaxBatch records are drawn, without counting the record that
// differs between neighbours.
func (e TruncatedPoisson) Failure() float64 {
	log := mathx.LogBinomialTail(e.MaxBatch, e.Population-1, e.Probability)
	if math.IsInf(log, -1) {
		return 0
	}
	return math.Min(1, mathx.Up(math.Exp(log)))
}

func (TruncatedPoisson) row() row {
	return row{"truncated_poisson", "on a Poisson sample with a largest size",
		"q {probability}, at most {max_batch}", bounded}
}

// flatten charges PoissonSampled and e.Failure(). Let S be the sample without the record that differs between
// neighbours. If S has fewer than MaxBatch records, no batch is truncated, with or without this record. For
// each such S, the cost of PoissonSampled bounds the divergence. By joint convexity, this cost also bounds
// the mixture over such S.
func (e TruncatedPoisson) flatten(t *terms, count int64) {
	if t.rel == ReplaceOne {
		t.refuse(e, poissonNeedsAddRemove)
	}
	t.check(t.fail(e.Failure(), count))
	t.flatten(PoissonSampled{e.Probability, e.Event}, count)
}

// For 2^c records the divergence of order a >= 2 is at most 3^c times the divergence of order 2^c a (Mironov
// 2017, Proposition 2).

type groupedSample struct {
	probability, noiseMultiplier float64
	size                         int64
}

func (groupedSample) row() row { return row{name: "group of poisson_sampled"} }

func (e groupedSample) flatten(t *terms, count int64) {
	if t.rel == ReplaceOne {
		t.refuse(PoissonSampled{e.probability, Gaussian{e.noiseMultiplier}}, poissonNeedsAddRemove)
	}
	t.add(e, count)
}

func (e groupedSample) pair() (pld.Pair, error) {
	return pld.Pair{}, &UnsupportedEventError{e, "a Poisson sample seen by a group has a divergence bound, but its pair is not known to be the worst"}
}

func (e groupedSample) curve() curve {
	doublings := float64(bits.Len64(uint64(e.size - 1)))
	base := sampledGaussianCurve(e.probability, e.noiseMultiplier)
	all := gaussianCurve(float64(e.size) / e.noiseMultiplier) // all records of the group are in the batch
	order, factor := math.Exp2(doublings), math.Pow(3, doublings)
	return func(a float64) float64 {
		return math.Min(all(a), factor*base(math.Max(a, 2)*order))
	}
}
