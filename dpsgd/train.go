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
	Event accountant.Event // the charged event
	Steps int
	// Average is the moving average of the iterates, or nil if Config.AverageDecay is 0. Average starts at
	// the initial parameters. Each step sets Average = d*Average + (1-d)*parameters, where d is AverageDecay.
	// To use Average, copy it into the model's Parameters.
	Average     []float32
	ClipNorm    float64 // after the last step, since adaptive clipping changes the norm
	Releasable  bool    // false for a seeded key or non-private training
	Diagnostics Diagnostics
}

// Train trains the model in place, from its current parameters. The reservation must be unused and made for
// cfg.Event(). Train consumes it, even if training fails later. With cfg.NonPrivate, reservation must be nil.
//
// Equal keys, data, configurations and initial parameters give the same model. On machines of one kind, the
// models agree to the last bit. If ctx ends, Train returns an error, and the model holds the iterate of the
// last finished step. The charge covers this iterate.
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
	entry   int64 // index of the reservation in its ledger; 0 without reservation

	optimizer *optim.Optimizer
	average   []float64 // nil if Config.AverageDecay is 0
	clip      Clip      // for the next step
	done      int       // number of finished steps
	counts    Diagnostics
	meter     *meter // created at the first measurement for Config.Distances
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
	for _, p := range cfg.Phases { // return errors before the charge
		if err := t.release.set(t.setting(start)); err != nil {
			return nil, err
		}
		start += p.Steps
	}
	return t, nil
}

func (t *trainer) start(reservation *ledger.Reservation, key rng.Key) error {
	if t.cfg.NonPrivate {
		if reservation != nil {
			return errors.New("dpsgd: non-private training takes no reservation: no budget covers it")
		}
	} else {
		if err := begin(t.cfg.Event(), t.cfg.GaussianDraws(len(t.model.Parameters())), reservation, key); err != nil {
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
		start = 0 // the steps are drawn independently
	}
	return setting{
		probability: t.cfg.Sampling.scheme().probability(p), sampling: t.cfg.Sampling, start: start,
		noiseMultiplier: p.NoiseMultiplier, laplace: t.cfg.Laplace,
		clip: t.clip, countMultiplier: t.cfg.Clipping.Adaptive.CountNoise,
	}
}

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
