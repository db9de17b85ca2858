package dpsgd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"

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
	if key.IsZero() {
		return Result{}, errors.New("dpsgd: the key is missing: make one with NewKey")
	}
	if err := data.validate(); err != nil {
		return Result{}, err
	}
	if err := model.Check(data); err != nil {
		return Result{}, err
	}
	t, err := newTrainer(model, data, cfg)
	if err != nil {
		return Result{}, err
	}
	if err := begin(cfg, reservation, key); err != nil {
		return Result{}, err
	}
	t.key = key.DeriveBytes("dpsgd", t.fingerprint())
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

func begin(cfg Config, reservation *ledger.Reservation, key Key) error {
	if cfg.NonPrivate {
		if reservation != nil {
			return errors.New("dpsgd: non-private training takes no reservation: no budget covers it")
		}
		return nil
	}
	if err := reservation.Begin(cfg.Event(), ledger.Use{Relation: accountant.AddRemove, Secret: key.Releasable()}); err != nil {
		return fmt.Errorf("dpsgd: %w", err)
	}
	return nil
}

// trainer is the state of a run.
type trainer struct {
	cfg   Config
	model Model
	data  Data
	key   Key

	grid  grid
	noise *rng.DiscreteGaussian // nil without privacy

	batch     *batcher
	sum       *summer
	total     []int64   // noise, then noise plus sum, in units
	gradient  []float64 // estimate of the mean
	optimizer heavyBall
}

func newTrainer(model Model, data Data, cfg Config) (*trainer, error) {
	n := len(model.Parameters())
	t := &trainer{
		cfg: cfg, model: model, data: data,
		batch:     newBatcher(cfg.SamplingProbability, data.X.Rows),
		gradient:  make([]float64, n),
		optimizer: heavyBall{momentum: cfg.Momentum, velocity: make([]float64, n)},
	}
	if !cfg.NonPrivate {
		var err error
		if t.grid, err = newGrid(cfg.NoiseMultiplier, cfg.ClipNorm, n, data.X.Rows); err != nil {
			return nil, err
		}
		if t.noise, err = rng.NewDiscreteGaussian(t.grid.sigma); err != nil {
			return nil, fmt.Errorf("dpsgd: %w", err)
		}
		t.total = make([]int64, n)
	}
	t.sum = newSummer(model, data, cfg.ClipNorm, t.grid.unit, cfg.Workers)
	return t, nil
}

// fingerprint hashes all that the run is a function of, so that no two
// different sums ever meet the same noise: their difference would be bare.
func (t *trainer) fingerprint() []byte {
	h := sha256.New()
	own := t.model.Fingerprint()
	b := fmt.Appendf(nil, "dpsgd 2 %T %d", t.model, len(own))
	b = append(b, own...)
	for _, v := range []float64{
		t.cfg.SamplingProbability, t.cfg.NoiseMultiplier, t.cfg.ClipNorm,
		t.cfg.LearningRate, t.cfg.FinalLearningRate, t.cfg.Momentum,
	} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	for _, n := range []int{t.cfg.Steps, t.data.X.Rows, t.data.X.Cols, len(t.model.Parameters())} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	h.Write(appendFloats(b, t.model.Parameters()))
	for _, piece := range t.data.digest(t.cfg.Workers) {
		h.Write(piece[:])
	}
	return h.Sum(nil)
}

// step makes one update. The noise is drawn before the data is touched.
func (t *trainer) step(ctx context.Context, step int, d *Diagnostics) error {
	if t.noise != nil {
		t.drawNoise(uint64(step))
	}
	t.batch.draw(t.key.Derive("sample", uint64(step)).Stream(), t.key.Derive("deal", uint64(step)).Stream())
	tally, err := t.sum.add(ctx, t.batch)
	if err != nil {
		return err
	}
	d.Sampled += int64(len(t.batch.rows))
	d.Clipped += tally.Clipped
	d.NonFinite += tally.NonFinite
	t.estimate()
	if !descend(&t.optimizer, t.model.Parameters(), t.gradient, t.cfg.rate(step)) {
		return fmt.Errorf("dpsgd: parameters are not finite after step %d: lower Config.LearningRate", step+1)
	}
	return nil
}

// drawNoise sets total to the step's noise. A run of parameters has a stream of
// its own, so that goroutines share the work.
func (t *trainer) drawNoise(step uint64) {
	const run = 1024
	parallel(t.cfg.Workers, (len(t.total)+run-1)/run, func(_, i int) {
		stream := t.key.Derive("noise", step, uint64(i)).Stream()
		part := t.total[i*run : min((i+1)*run, len(t.total))]
		for j := range part {
			part[j] = t.noise.Sample(stream)
		}
	})
}

// estimate turns the lanes into the estimate of the mean gradient: divided by
// the expected size of a batch.
func (t *trainer) estimate() {
	expected := t.cfg.SamplingProbability * float64(t.data.X.Rows)
	if t.noise == nil {
		clear(t.gradient)
		for _, lane := range t.sum.floats {
			for j, v := range lane {
				t.gradient[j] += v
			}
		}
		for j := range t.gradient {
			t.gradient[j] /= expected
		}
		return
	}
	for _, lane := range t.sum.ints {
		for j, v := range lane {
			t.total[j] += v
		}
	}
	for j, v := range t.total {
		t.gradient[j] = float64(v) * t.grid.unit / expected
	}
}
