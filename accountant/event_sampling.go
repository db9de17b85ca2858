package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// PoissonSampled runs Event on a sample in which every record takes part
// independently with the given probability. Only Poisson sampling is meant:
// shuffled or fixed-size batches are other events.
type PoissonSampled struct {
	Probability float64 `json:"probability"` // in [0, 1]
	Event       Event   `json:"event"`
}

// Validate implements Event.
func (e PoissonSampled) Validate() error { return validTree(e, 0) }

type poissonSampledRow struct {
	unsupported
	PoissonSampled
}

func (e PoissonSampled) row() row { return poissonSampledRow{unsupported{e}, e} }

func (poissonSampledRow) name() string        { return "poisson_sampled" }
func (r poissonSampledRow) children() []Event { return []Event{r.Event} }

func (r poissonSampledRow) words(p printer) (mechanism, parameters string) {
	return "on a Poisson sample", "q " + p.number(r.Probability)
}

func (r poissonSampledRow) check() error { return isProbability("poisson_sampled", r.Probability) }

func (r poissonSampledRow) flatten(t *terms, count int64, rel Relation) error {
	return t.sampled(r.PoissonSampled, count, rel)
}

// curve and pair are those of the leaves that sampledForm makes.
func (r poissonSampledRow) curve() curve { return r.Event.row().sampledCurve(r.Probability) }

func (r poissonSampledRow) pair() (pld.Pair, error) {
	one, err := r.Event.row().pair()
	return one.OnPoissonSample(r.Probability), err
}

func (poissonSampledRow) attained(*pld.Sum, int64) (dominating bool) { return true }

func (r poissonSampledRow) group(n int64) (Event, error) {
	if inner, ok := r.Event.(Gaussian); ok && r.Probability > 0 && r.Probability < 1 {
		return groupedSample{r.Probability, inner.NoiseMultiplier, n}, nil
	}
	return nil, nil
}

// SampledWithoutReplacement runs Event on a uniformly random subset of exactly
// Size of Population records. Noise multipliers are relative to the sensitivity under
// the relation of the account: under replace_one, where the size of the data is public,
// twice the clipping norm for a clipped sum; under add_remove the norm, and the event is
// accounted as a group of two sees it, since a record that is drawn takes the place of
// another. Population is then that of the larger data, or less.
type SampledWithoutReplacement struct {
	Size       int64 `json:"size"`       // in [0, Population]
	Population int64 `json:"population"` // >= 1
	Event      Event `json:"event"`
}

// TruncatedPoisson is PoissonSampled with a cap: when more than MaxBatch
// records were drawn, anything may be done with them, such as keeping MaxBatch
// at random. Population is an upper bound of the number of records, whose size
// decides how likely the cap is met.
type TruncatedPoisson struct {
	Probability float64 `json:"probability"` // in [0, 1]
	MaxBatch    int64   `json:"max_batch"`   // >= 1
	Population  int64   `json:"population"`  // >= 1
	Event       Event   `json:"event"`
}

// Validate implements Event.
func (e SampledWithoutReplacement) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e TruncatedPoisson) Validate() error { return validTree(e, 0) }

// Probability returns the share of the records that is drawn, rounded up.
func (e SampledWithoutReplacement) Probability() float64 {
	return float64(e.Size) / float64(e.Population) * (1 + 4e-16)
}

// Failure bounds the chance that the batch is full without the record that
// differs.
func (e TruncatedPoisson) Failure() float64 {
	log := mathx.LogBinomialTail(e.MaxBatch, e.Population-1, e.Probability)
	if math.IsInf(log, -1) {
		return 0
	}
	return math.Min(1, mathx.Up(math.Exp(log)))
}

type sampledWithoutReplacementRow struct {
	unsupported
	SampledWithoutReplacement
}

func (e SampledWithoutReplacement) row() row {
	return sampledWithoutReplacementRow{unsupported{e}, e}
}

func (sampledWithoutReplacementRow) name() string        { return "sampled_without_replacement" }
func (r sampledWithoutReplacementRow) children() []Event { return []Event{r.Event} }

func (r sampledWithoutReplacementRow) words(printer) (mechanism, parameters string) {
	return "on a sample without replacement", fmt.Sprintf("%d of %d", r.Size, r.Population)
}

func (r sampledWithoutReplacementRow) check() error {
	return errors.Join(atLeast("sampled_without_replacement", "size", r.Size, 0),
		atLeast("sampled_without_replacement", "population", r.Population, max(r.Size, 1)))
}

func (r sampledWithoutReplacementRow) flatten(t *terms, count int64, rel Relation) error {
	return t.withoutReplacement(r.SampledWithoutReplacement, count, rel)
}

func (r sampledWithoutReplacementRow) curve() curve {
	return withoutReplacementCurve(r.Probability(), r.Event)
}

func (r sampledWithoutReplacementRow) pair() (pld.Pair, error) {
	inner, _, err := r.inside()
	if err != nil {
		return pld.Pair{}, err
	}
	one, err := inner.row().pair()
	return one.OnFixedSample(r.Probability()), err
}

// attained adds the pair of data in which all records but one are alike.
func (r sampledWithoutReplacementRow) attained(s *pld.Sum, n int64) (dominating bool) {
	inner, same, err := r.inside()
	if err != nil || !same {
		return false
	}
	if one, err := inner.row().pair(); err == nil {
		s.Add(one.OnPoissonSample(float64(r.Size)/float64(r.Population)*(1-4e-16)), n)
	}
	return false
}

// inside returns noise or a pure event that dominates the event inside, and whether it
// is that event.
func (r sampledWithoutReplacementRow) inside() (inner Event, same bool, err error) {
	if inner, same = r.Event.row().sampledAs(); inner != nil {
		return inner, same, nil
	}
	if pure, ok := guaranteeOf(r.Event); ok && pure.delta == 0 && !math.IsInf(pure.epsilon, 1) {
		return PureDP{pure.epsilon}, false, nil
	}
	return nil, false, &UnsupportedEventError{r.event, "no dominating pair is known for the event inside"}
}

type truncatedPoissonRow struct {
	unsupported
	TruncatedPoisson
}

func (e TruncatedPoisson) row() row { return truncatedPoissonRow{unsupported{e}, e} }

func (truncatedPoissonRow) name() string        { return "truncated_poisson" }
func (r truncatedPoissonRow) children() []Event { return []Event{r.Event} }

func (r truncatedPoissonRow) words(p printer) (mechanism, parameters string) {
	return "on a Poisson sample with a largest size", fmt.Sprintf("q %s, at most %d", p.number(r.Probability), r.MaxBatch)
}

func (r truncatedPoissonRow) check() error {
	if err := isProbability("truncated_poisson", r.Probability); err != nil {
		return err
	}
	return errors.Join(atLeast("truncated_poisson", "max_batch", r.MaxBatch, 1),
		atLeast("truncated_poisson", "population", r.Population, 1))
}

func (r truncatedPoissonRow) flatten(t *terms, count int64, rel Relation) error {
	return t.truncated(r.TruncatedPoisson, count, rel)
}
