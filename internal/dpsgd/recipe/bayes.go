package recipe

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/accountant/bayes"
)

// Bayes asks for the figures of package internal/accountant/bayes beside epsilon. They change nothing
// about the training. They are private and charged nowhere: [Result.WithoutTimes] has none.
type Bayes struct {
	Delta   float64       // delta_mu; default 1e-10
	Between dpsgd.Between // what distances are between
	Most    int           // distances of a step; default that of dpsgd.Distances
}

// DefaultDeltaMu is the delta_mu of a Bayes that names none. By Markov's inequality a bound
// at 1e-10 holds at 1e-5 for all but a share 1e-5 of records.
const DefaultDeltaMu = 1e-10

func (b *Bayes) validate() error {
	if b == nil {
		return nil
	}
	if !(b.Delta >= 0 && b.Delta < 1) {
		return fmt.Errorf("delta_mu %v must be above 0 and below 1", b.Delta)
	}
	if b.Most < 0 {
		return fmt.Errorf("%d distances of a step: must be positive", b.Most)
	}
	return nil
}

// typical follows a training with Bayesian accounts, one for each estimator.
type typical struct {
	accounts []*bayes.Account
	step     bayes.Step // of all steps
	steps    int
	err      error
}

// newTypical returns nil where nothing is asked for.
func (b *Bayes) newTypical(cfg *dpsgd.Config) (*typical, error) {
	if b == nil || cfg.NonPrivate {
		return nil, nil
	}
	if len(cfg.Phases) > 0 || cfg.Clipping.Adaptive.Quantile != 0 {
		return nil, fmt.Errorf("%w: Bayesian accounting needs one phase and a fixed clip norm", ErrConfig)
	}
	if s := cfg.Sampling.Scheme; s != "" && s != dpsgd.Poisson {
		return nil, fmt.Errorf("%w: Bayesian accounting needs Poisson sampling", ErrConfig)
	}
	clip, delta := cfg.ClipNorm, b.Delta
	if delta == 0 {
		delta = DefaultDeltaMu
	}
	if len(cfg.Clipping.GroupNorms) > 0 {
		clip = dpsgd.Clip{Norms: cfg.Clipping.GroupNorms}.Norm()
	}
	bound := clip
	if b.Between == dpsgd.Records {
		bound *= 2
	}
	t := &typical{
		step:  bayes.Step{SamplingProbability: cfg.SamplingProbability, Noise: cfg.NoiseMultiplier * clip},
		steps: cfg.TotalSteps(),
	}
	for _, e := range []bayes.Estimator{bayes.Bernstein, bayes.StudentT} {
		a, err := bayes.New(bayes.Config{Steps: t.steps, Delta: delta, Estimator: e, Bound: bound})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
		t.accounts = append(t.accounts, a)
	}
	cfg.Distances = dpsgd.Distances{Observe: t.observe, Between: b.Between, Most: b.Most}
	return t, nil
}

// observe adds a step. Steps that are not seen, before a checkpoint, are added by figures.
func (t *typical) observe(s dpsgd.StepDistances) {
	for _, a := range t.accounts {
		t.err = errors.Join(t.err, a.Add(t.step, s.Values))
	}
}

// unseen adds worst cases up to a step.
func (t *typical) unseen(upTo int) {
	for _, a := range t.accounts {
		for a.Steps() < upTo && t.err == nil {
			t.err = a.AddUnseen(t.step)
		}
	}
}

// figures ends the training.
func (t *typical) figures() ([]bayes.Figure, error) {
	if t == nil {
		return nil, nil
	}
	t.unseen(t.steps)
	if t.err != nil {
		return nil, fmt.Errorf("recipe: %w", t.err)
	}
	var figures []bayes.Figure
	for _, a := range t.accounts {
		figures = append(figures, a.Figure())
	}
	return figures, nil
}
