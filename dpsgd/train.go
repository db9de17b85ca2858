package dpsgd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/rng"
)

// Result describes a finished run.
type Result struct {
	Event accountant.Event // event of the reservation
	Steps int
	// Average is the moving average of the iterates, if Config.AverageDecay is a > 0, and nil otherwise. It
	// starts at the initial parameters. After every step it becomes a times itself plus (1 - a) times the
	// parameters. To use it, copy it over the model's Parameters.
	Average     []float32
	ClipNorm    float64 // after the last step; adaptive clipping changes it
	Releasable  bool    // false for a seeded key and for non-private training
	Diagnostics Diagnostics
}

// Train trains model in place on data, from the current parameters. The reservation must be for cfg.Event()
// and unused. It is used up when Train starts, even if Train then fails. For cfg.NonPrivate it must be nil.
//
// The same key, data, configuration and initial parameters give the same model, bit for bit on machines of
// one kind. When ctx ends, Train returns its error. The model then holds the iterate of a finished step, and
// the charge covers it.
func Train(ctx context.Context, model Model, data Data, cfg Config, reservation *ledger.Reservation, key rng.Key) (Result, error) {
	if err := cfg.Validate(); err != nil {
		return Result{}, err
	}
	if err := checkRun(model, data, key); err != nil {
		return Result{}, err
	}
	t, err := newTrainer(forRecords(model, data), data, cfg)
	if err != nil {
		return Result{}, err
	}
	o, err := newObserver(model, cfg)
	if err != nil {
		return Result{}, err
	}
	if err := t.start(reservation, key); err != nil {
		return Result{}, err
	}
	if err := t.resume(); err != nil {
		return Result{}, err
	}
	for t.done < cfg.TotalSteps() {
		m, err := t.step(ctx)
		if err == nil {
			err = t.save()
		}
		if err == nil {
			err = o.report(ctx, m)
		}
		if err != nil {
			return Result{}, err
		}
	}
	return t.result(key), nil
}

type trainer struct {
	cfg     Config
	model   Model
	data    Data
	release *release
	entry   int64 // of the reservation in its ledger; 0 without reservation

	optimizer *optim.Optimizer
	average   []float64 // nil without Config.AverageDecay
	clip      Clip      // of the next step
	done      int       // steps
	counts    Diagnostics
	meter     *meter // made when Config.Distances needs it
}

func newTrainer(model Model, data Data, cfg Config) (*trainer, error) {
	n := len(model.Parameters())
	if cfg.Laplace && n != 1 {
		return nil, fmt.Errorf("dpsgd: Config.Laplace is for one parameter, the model has %d", n)
	}
	t := &trainer{cfg: cfg, model: model, data: data}
	var err error
	if t.clip, err = cfg.clip(model); err != nil {
		return nil, err
	}
	if t.optimizer, err = optim.New(cfg.Optimizer, n); err != nil {
		return nil, fmt.Errorf("dpsgd: %w", err)
	}
	if cfg.AverageDecay > 0 {
		t.average = make([]float64, n)
		optim.Average(t.average, model.Parameters(), 0)
	}
	if t.release, err = newRelease(model, data, t.setting(0), cfg.Records, cfg.Workers); err != nil {
		return nil, err
	}
	start := 0
	for _, p := range cfg.Phases { // refused before the charge
		if err := t.release.set(t.setting(start)); err != nil {
			return nil, err
		}
		start += p.Steps
	}
	return t, nil
}

// start uses the reservation and derives the run's key.
func (t *trainer) start(reservation *ledger.Reservation, key rng.Key) error {
	if t.cfg.NonPrivate {
		if reservation != nil {
			return errors.New("dpsgd: non-private training takes no reservation: no budget covers it")
		}
	} else {
		if err := begin(t.cfg.Event(), reservation, key); err != nil {
			return err
		}
		t.entry = reservation.Entry()
	}
	t.release.key = key.DeriveBytes("dpsgd", fingerprint(t.cfg.identity(), t.model, t.data, t.cfg.Workers))
	return nil
}

func (t *trainer) setting(step int) setting {
	p, start := t.cfg.phaseAt(step)
	if t.cfg.Sampling.EpochSteps == 0 {
		start = 0 // each step is drawn by itself
	}
	return setting{
		probability: t.cfg.Sampling.scheme().probability(p), sampling: t.cfg.Sampling, start: start,
		noiseMultiplier: p.NoiseMultiplier, laplace: t.cfg.Laplace,
		clip: t.clip, countMultiplier: t.cfg.Clipping.Adaptive.CountNoise,
	}
}

// step makes one update. Its gradient is the sum divided by the expected size of a batch.
func (t *trainer) step(ctx context.Context) (Metrics, error) {
	phase, _ := t.cfg.phaseAt(t.done)
	if err := t.release.set(t.setting(t.done)); err != nil {
		return Metrics{}, err
	}
	tally, err := t.release.run(ctx, uint64(t.done))
	if err != nil {
		return Metrics{}, err
	}
	t.observeDistances(phase)
	m := Metrics{
		Step: t.done + 1, Steps: t.cfg.TotalSteps(), LearningRate: t.cfg.rate(t.done),
		ClipNorm: t.clip.Norm(), Unclipped: math.NaN(),
		Private: diagnosticsOf(len(t.release.batch.rows), tally),
	}
	expected := t.cfg.Sampling.scheme().probability(phase) * float64(t.release.records)
	if !t.descend(expected, m.LearningRate) {
		return Metrics{}, fmt.Errorf("dpsgd: parameters are not finite after step %d: lower Config.LearningRate", m.Step)
	}
	if a := t.cfg.Clipping.Adaptive; a.on() {
		r := t.release
		m.Unclipped = float64(r.total[r.parameters]) / float64(r.units) / expected
		t.clip = FlatClip(a.next(m.ClipNorm, m.Unclipped))
	}
	t.done++
	t.counts.add(m.Private)
	return m, nil
}

// descend updates the parameters and their average. It reports whether all are finite.
func (t *trainer) descend(expected, rate float64) bool {
	parameters := t.model.Parameters()
	diverged := make([]bool, spansOf(len(parameters)))
	t.optimizer.Begin(rate)
	t.release.read(expected, func(i, low int, gradient []float64) {
		part := parameters[low : low+len(gradient)]
		diverged[i] = !optim.Apply(t.optimizer, low, part, gradient) || diverged[i]
		if t.average != nil {
			optim.Average(t.average[low:low+len(gradient)], part, t.cfg.AverageDecay)
		}
	})
	return !slices.Contains(diverged, true)
}

func (t *trainer) result(key rng.Key) Result {
	r := Result{
		Event: t.cfg.Event(), Steps: t.done, ClipNorm: t.clip.Norm(),
		Releasable: key.Releasable() && !t.cfg.NonPrivate, Diagnostics: t.counts,
	}
	for _, v := range t.average {
		r.Average = append(r.Average, float32(v))
	}
	return r
}
