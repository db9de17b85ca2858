package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// SampledWithoutReplacement runs Event on a uniformly random subset of exactly
// Size of Population records. It is accounted under replace_one, where the
// size of the data is public; noise multipliers are then relative to the
// sensitivity to replacing a record, twice the clipping norm for a clipped sum.
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

func (SampledWithoutReplacement) event() {}
func (TruncatedPoisson) event()          {}

// Validate implements Event.
func (e SampledWithoutReplacement) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e TruncatedPoisson) Validate() error { return validTree(e, 0) }

// probability returns the share of the records that is drawn, rounded up.
func (e SampledWithoutReplacement) probability() float64 {
	return float64(e.Size) / float64(e.Population) * (1 + 4e-16)
}

// failure bounds the chance that the batch is full without the record that
// differs.
func (e TruncatedPoisson) failure() float64 {
	log := logBinomialTail(e.MaxBatch, e.Population-1, e.Probability)
	if math.IsInf(log, -1) {
		return 0
	}
	return math.Min(1, mathx.Up(math.Exp(log)))
}
