package accountant

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// Group is Event seen by neighbours that differ in up to Size records instead
// of one: its cost protects groups of that size, such as all records of a
// family. Mechanisms are rewritten to what they are at a distance of Size: the
// sensitivity of additive noise and pure epsilons grow Size-fold, rho Size^2
// fold (Bun, Steinke 2016, Proposition 1.9), and (epsilon, delta) becomes
// (g epsilon, delta (e^{g epsilon}-1)/(e^epsilon - 1)).
type Group struct {
	Size  int64 `json:"size"` // >= 1
	Event Event `json:"event"`
}

// Validate implements Event.
func (e Group) Validate() error { return validTree(e, 0) }

type groupRow struct {
	unsupported
	Group
}

func (e Group) row() row { return groupRow{unsupported{e}, e} }

func (groupRow) name() string        { return "group" }
func (r groupRow) children() []Event { return []Event{r.Event} }
func (r groupRow) check() error      { return atLeast("group", "size", r.Size, 1) }

func (r groupRow) words(printer) (mechanism, parameters string) {
	return "for groups", fmt.Sprintf("of %d", r.Size)
}

func (r groupRow) flatten(t *terms, count int64, rel Relation) error {
	return t.group(r.Group, count, rel)
}

func (r groupRow) group(n int64) (Event, error) {
	m, err := mul(n, r.Size)
	if err != nil {
		return nil, err
	}
	return grouped(r.Event, m)
}

// groupedSample is a Poisson sampled Gaussian seen by a group. No exact law is
// used: a group of 2^c records costs 3^c times the divergence at the 2^c-fold
// order, for orders from 2 (Mironov 2017, Proposition 2).
type groupedSample struct {
	probability, noiseMultiplier float64
	size                         int64
}

// Validate implements Event.
func (groupedSample) Validate() error { return nil }

type groupedSampleRow struct {
	leaf
	groupedSample
}

func (e groupedSample) row() row { return groupedSampleRow{leafOf(e), e} }

func (groupedSampleRow) name() string                   { return "group of poisson_sampled" }
func (groupedSampleRow) words(printer) (string, string) { return "", "" }
func (r groupedSampleRow) curve() curve                 { return r.groupedSample.curve() }

func (r groupedSampleRow) flatten(t *terms, count int64, rel Relation) error {
	if rel == ReplaceOne {
		return &UnsupportedEventError{PoissonSampled{r.probability, Gaussian{r.noiseMultiplier}}, poissonNeedsAddRemove}
	}
	return t.curves.add(r.event, count)
}

func (r groupedSampleRow) pair() (pld.Pair, error) {
	return pld.Pair{}, &UnsupportedEventError{r.event, "a Poisson sample seen by a group has a divergence bound, but its pair is not known to be the worst"}
}

func (e groupedSample) curve() curve {
	doublings := float64(bits.Len64(uint64(e.size - 1)))
	base := sampledGaussianCurve(e.probability, e.noiseMultiplier)
	all := gaussianCurve(float64(e.size) / e.noiseMultiplier) // all of the group in the batch
	order, factor := math.Exp2(doublings), math.Pow(3, doublings)
	return func(a float64) float64 {
		return math.Min(all(a), factor*base(math.Max(a, 2)*order))
	}
}

// Expand returns the event as it is seen by a group, without Group in it: mechanisms of
// a larger sensitivity, or bounds that only an account knows.
func (e Group) Expand() (Event, error) { return grouped(e.Event, e.Size) }

// grouped returns e as n records see it.
func grouped(e Event, n int64) (Event, error) {
	if n == 1 {
		if inner, ok := e.(Group); ok {
			return inner.Expand()
		}
		return e, nil
	}
	if out, err := e.row().group(n); out != nil || err != nil {
		return out, err
	}
	if one, ok := guaranteeAnywhere(e); ok {
		return one.group(float64(n))
	}
	return nil, &UnsupportedEventError{e, fmt.Sprintf("its cost for groups of %d records is not known", n)}
}

// downBy divides noise by g, rounding down, but not to zero.
func downBy(noise, g float64) float64 {
	return math.Max(mathx.Down(noise/g), math.SmallestNonzeroFloat64)
}

// group returns an event with the guarantee of a group of g records.
func (o guarantee) group(g float64) (Event, error) {
	eps := mathx.Up(o.epsilon * g)
	if math.IsInf(eps, 1) {
		return NonPrivate{}, nil
	}
	if o.delta == 0 {
		return PureDP{eps}, nil
	}
	// (e^{g eps}-1)/(e^eps-1) = e^{(g-1) eps} (1-e^{-g eps})/(1-e^-eps)
	delta := o.delta * g
	if o.epsilon > 0 {
		delta = o.delta * math.Exp((g-1)*o.epsilon) * (math.Expm1(-g*o.epsilon) / math.Expm1(-o.epsilon))
	}
	delta *= 1 + 1e-15*(4+eps)
	if !(delta < 1) {
		return NonPrivate{}, nil
	}
	return WithFailure{PureDP{eps}, delta}, nil
}
