package dpsgd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/rng"
)

// Key is the secret all randomness of a run derives from.
type Key = rng.Key

// NewKey draws a key from the operating system; what it trains may be released.
func NewKey() (Key, error) { return rng.NewKey() }

// SeedKey makes a repeatable key for experiments; nothing it trains may be
// released.
func SeedKey(seed uint64) Key { return rng.SeedKey(seed) }

// Result says what a run was.
type Result struct {
	// Event is what the reservation was charged for.
	Event accountant.Event
	Steps int
	// Releasable is false for a seeded key and for non-private training.
	Releasable  bool
	Diagnostics Diagnostics
}

// Diagnostics counts what happened to records, summed over steps. It is an
// exact function of the private data, protected by nothing and charged
// nowhere: for the data's owner, not for release. It prints redacted and has
// no JSON form.
type Diagnostics struct {
	Sampled   int64 // records in batches
	Clipped   int64 // of them, those whose gradient was scaled down
	NonFinite int64 // of them, those whose gradient was not finite and counted as zero
}

func (d *Diagnostics) add(sampled int, tally Tally) {
	d.Sampled += int64(sampled)
	d.Clipped += tally.Clipped
	d.NonFinite += tally.NonFinite
}

// String returns a redacted word.
func (Diagnostics) String() string { return "dpsgd.Diagnostics(redacted)" }

// GoString returns a redacted word.
func (d Diagnostics) GoString() string { return d.String() }

// LogValue returns a redacted word.
func (d Diagnostics) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalJSON always fails.
func (Diagnostics) MarshalJSON() ([]byte, error) {
	return nil, errors.New("dpsgd: Diagnostics are private and have no JSON form; read the fields on purpose")
}

// Train trains model on data in place, from the parameters it has. The
// reservation must be for cfg.Event() and unused; it is used up when Train
// starts, whatever comes of it. For cfg.NonPrivate it must be nil.
//
// The same key, data, configuration and initial parameters give the same model,
// bit for bit on machines of one kind. When ctx ends, Train returns its error;
// the model then holds the iterate of a finished step, which the charge covers.
func Train(ctx context.Context, model Model, data Data, cfg Config, reservation *ledger.Reservation, key Key) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	if err := checkRun(model, data, key); err != nil {
		return Result{}, err
	}
	t, err := newTrainer(model, data, cfg)
	if err != nil {
		return Result{}, err
	}
	if err := start(cfg, reservation, key); err != nil {
		return Result{}, err
	}
	t.release.key = key.DeriveBytes("dpsgd", t.fingerprint())
	result := Result{Event: cfg.Event(), Releasable: key.Releasable() && !cfg.NonPrivate}
	if result.Steps, err = t.resume(&result.Diagnostics); err != nil {
		return Result{}, err
	}
	for step := result.Steps; step < cfg.Steps; step++ {
		if err := t.step(ctx, step, &result.Diagnostics); err != nil {
			return Result{}, err
		}
		result.Steps++
		if err := t.save(result.Steps, result.Diagnostics); err != nil {
			return Result{}, err
		}
		if cfg.Progress != nil {
			cfg.Progress(step+1, cfg.Steps)
		}
	}
	return result, nil
}

func start(cfg Config, reservation *ledger.Reservation, key Key) error {
	if !cfg.NonPrivate {
		return begin(cfg.Event(), reservation, key)
	}
	if reservation != nil {
		return errors.New("dpsgd: non-private training takes no reservation: no budget covers it")
	}
	return nil
}

// trainer is the state of a run.
type trainer struct {
	cfg       Config
	model     Model
	data      Data
	release   *release
	gradient  []float64 // estimate of the mean
	optimizer heavyBall
}

func newTrainer(model Model, data Data, cfg Config) (*trainer, error) {
	r, err := newRelease(model, data, cfg.SamplingProbability, cfg.NoiseMultiplier, cfg.ClipNorm, cfg.Workers)
	if err != nil {
		return nil, err
	}
	n := len(model.Parameters())
	return &trainer{
		cfg: cfg, model: model, data: data, release: r,
		gradient:  make([]float64, n),
		optimizer: heavyBall{momentum: cfg.Momentum, velocity: make([]float64, n)},
	}, nil
}

func (t *trainer) fingerprint() []byte {
	c := t.cfg
	return fingerprint("dpsgd 3", t.model, t.data, c.Workers,
		c.SamplingProbability, c.NoiseMultiplier, c.ClipNorm,
		c.LearningRate, c.FinalLearningRate, c.Momentum, float64(c.Steps))
}

// step makes one update. Its gradient is the sum divided by the expected size
// of a batch.
func (t *trainer) step(ctx context.Context, step int, d *Diagnostics) error {
	tally, err := t.release.run(ctx, uint64(step))
	if err != nil {
		return err
	}
	d.add(len(t.release.batch.rows), tally)
	t.release.read(t.gradient, t.cfg.SamplingProbability*float64(t.data.X.Rows))
	if !descend(&t.optimizer, t.model.Parameters(), t.gradient, t.cfg.rate(step)) {
		return fmt.Errorf("dpsgd: parameters are not finite after step %d: lower Config.LearningRate", step+1)
	}
	return nil
}
