package dpsgd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// SumConfig configures [Sum].
type SumConfig struct {
	ClipNorm         float64 // bound on the norm of a record's contribution, in [2^-40, 2^40]
	NoiseMultiplier  float64 // standard deviation of the noise divided by the clip norm, in [2^-10, 2^20]
	Records, Workers int     // as in Config
}

// Event returns the event of one sum. Neighbours differ by one added or removed record.
func (c SumConfig) Event() accountant.Event {
	return accountant.Gaussian{NoiseMultiplier: c.NoiseMultiplier}
}

// Validate returns an error for a field that is missing or out of range.
func (c SumConfig) Validate() error {
	return cmp.Or(
		within("SumConfig.ClipNorm", c.ClipNorm, minClip, maxClip),
		within("SumConfig.NoiseMultiplier", c.NoiseMultiplier, minNoise, maxNoise),
		within("SumConfig.Records", float64(c.Records), 0, math.MaxInt32),
		within("SumConfig.Workers", float64(c.Workers), 0, maxWorkers),
	)
}

type SumResult struct {
	// Sum is the noisy sum, with one element per model parameter. The standard deviation of the noise on each
	// element is just above NoiseMultiplier times ClipNorm.
	Sum         []float64
	Event       accountant.Event // the charged event
	Releasable  bool             // false for a seeded key
	Diagnostics Diagnostics
}

// Sum releases the sum of the clipped gradients of all records, with Gaussian noise. Sum equals one step of
// [Train] with every record in the batch, but does not change the model. The model determines the summands,
// such as rows for a private mean.
//
// The reservation must be unused and made for cfg.Event(). Sum consumes the reservation, even if Sum fails
// later. Equal keys, data, configurations and models give the same sum.
func Sum(ctx context.Context, model Model, data Data, cfg SumConfig, reservation *ledger.Reservation, key rng.Key) (SumResult, error) {
	if err := cfg.Validate(); err != nil {
		return SumResult{}, err
	}
	if err := checkRun(model, data, key); err != nil {
		return SumResult{}, err
	}
	model = forRecords(model, data)
	all := setting{probability: 1, noiseMultiplier: cfg.NoiseMultiplier, clip: FlatClip(cfg.ClipNorm)}
	r, err := newRelease(model, data, all, cfg.Records, cfg.Workers)
	if err != nil {
		return SumResult{}, err
	}
	if err := begin(cfg.Event(), r.parameters, reservation, key); err != nil {
		return SumResult{}, err
	}
	r.key = key.DeriveBytes("dpsgd sum", fingerprint(
		fmt.Sprintf("dpsgd sum 3 %x %x %d", cfg.ClipNorm, cfg.NoiseMultiplier, cfg.Records), model, data, cfg.Workers))
	tally, err := r.run(ctx, 0)
	if err != nil {
		return SumResult{}, err
	}
	result := SumResult{
		Sum: make([]float64, r.parameters), Event: cfg.Event(), Releasable: key.Releasable(),
		Diagnostics: diagnosticsOf(len(r.batch.rows), tally),
	}
	r.read(1, func(_, low int, part []float64) { copy(result.Sum[low:], part) })
	return result, nil
}

func checkRun(model Model, data Data, key rng.Key) error {
	if key.IsZero() {
		return errors.New("dpsgd: the key is missing: make one with NewKey")
	}
	if err := data.validate(); err != nil {
		return err
	}
	if len(model.Parameters()) == 0 {
		return errors.New("dpsgd: the model has no parameters")
	}
	for i, v := range model.Parameters() {
		if !mathx.IsFinite(v) {
			return fmt.Errorf("dpsgd: parameter %d of the model is not finite", i)
		}
	}
	return checkModel(model, data)
}

func begin(event accountant.Event, draws int, reservation *ledger.Reservation, key rng.Key) error {
	// The argument event describes continuous noise. The drawn noise is discrete, and its Rényi divergences
	// are no larger (see type grid). If the charge has a failure that covers the drawn values, the charge
	// also bounds the privacy loss.
	use := ledger.Use{Relation: accountant.AddRemove, Renyi: true, Secret: key.Releasable()}
	if e, ok := reservation.Event().(accountant.WithFailure); ok {
		use.Renyi = !LatticeCovered(event, e.Delta, draws)
		event = accountant.WithFailure{Event: event, Delta: e.Delta}
	}
	if err := reservation.Begin(event, use); err != nil {
		return fmt.Errorf("dpsgd: %w", err)
	}
	return nil
}
