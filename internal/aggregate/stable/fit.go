package stable

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

// Task holds the public parameters of a planned run.
type Task struct {
	Mechanism string
	Queries   int     // number of queries
	Failures  int     // MSvec, SVT: refusals after which the run stops
	Delta     float64 // probability that a run releases an unstable answer
	// Noise is for [MStab]: stability.Laplace, stability.Gaussian, or 0. If Noise is 0, Fit chooses.
	Noise stability.Noise
	// Success is the probability of an answer if enough votes must move to change the plurality. Fit
	// minimises this number of votes. The default is 0.95. For SVT, the probability is at least 1 -
	// Failures/(2*Queries).
	Success float64
}

var ErrNoFit = errors.New("stable: no noise fits")

const (
	leastNoise = 0x1p-8
	mostNoise  = 0x1p16
)

// Fit returns a config for t with the least noise that fits a budget (see [aggregate.LeastNoise]). For MStab,
// Fit tries Laplace and Gaussian noise, unless t.Noise is set. For SVT, Fit tries several ratios of the noise
// scales B1 and B2. Fit returns the config that answers at the smallest distance, with the probability of
// Task.Success. The distance counts moved votes. If no noise fits any config, the error matches ErrNoFit.
func Fit(t Task, least aggregate.LeastNoise) (Config, error) {
	if t.Success == 0 {
		t.Success = 0.95
	}
	if err := t.check(); err != nil {
		return Config{}, err
	}
	var best Config
	found, shortest := false, int64(0)
	for _, family := range t.families() {
		cfg, err := t.fit(family, least)
		if errors.Is(err, accountant.ErrNoBracket) || errors.Is(err, ErrNoFit) {
			continue
		}
		if err != nil {
			return Config{}, err
		}
		m, err := New(cfg)
		if err != nil {
			return Config{}, err
		}
		d, err := m.DistanceFor(t.success())
		if err != nil {
			return Config{}, fmt.Errorf("stable: %w", err)
		}
		if !found || d < shortest {
			best, found, shortest = cfg, true, d
		}
	}
	if !found {
		return Config{}, fmt.Errorf("%w: %s, %d queries, %d failures", ErrNoFit, t.Mechanism, t.Queries, t.Failures)
	}
	return best, nil
}

func (t Task) check() error {
	switch {
	case t.Queries < 1:
		return fmt.Errorf("stable: Queries must be at least 1, not %d", t.Queries)
	case t.Mechanism != MStab && (t.Failures < 1 || t.Failures > t.Queries):
		return fmt.Errorf("stable: Failures must be in [1, Queries], not %d", t.Failures)
	case t.Mechanism == MStab && t.Failures != 0:
		return fmt.Errorf("stable: %s has no Failures, which must be 0", MStab)
	case t.Noise != 0 && (t.Mechanism != MStab || t.Noise != stability.Gaussian && t.Noise != stability.Laplace):
		return fmt.Errorf("stable: Noise %d is not a choice for %s", t.Noise, t.Mechanism)
	case !(t.Delta > 0 && t.Delta < 1):
		return fmt.Errorf("stable: Delta must lie strictly between 0 and 1, not %v", t.Delta)
	case !(t.Success > 0 && t.Success < 1):
		return fmt.Errorf("stable: Success must lie strictly between 0 and 1, not %v", t.Success)
	case t.Mechanism != MStab && t.Mechanism != MSvec && t.Mechanism != SVT:
		return fmt.Errorf("stable: no mechanism %q: one of %s, %s, %s", t.Mechanism, MStab, MSvec, SVT)
	}
	return nil
}

func (t Task) success() float64 {
	if t.Mechanism != SVT {
		return t.Success
	}
	return 1 - min(1-t.Success, float64(t.Failures)/(2*float64(t.Queries)))
}

type family func(noise float64) (Config, error)

func (t Task) families() []family {
	switch t.Mechanism {
	case MStab:
		gaussian := func(noise float64) (Config, error) { return t.mstab(noise, 0) }
		laplace := func(noise float64) (Config, error) { return t.mstab(0, noise) }
		switch t.Noise {
		case stability.Gaussian:
			return []family{gaussian}
		case stability.Laplace:
			return []family{laplace}
		}
		return []family{gaussian, laplace}
	case MSvec:
		return []family{t.msvec}
	}
	var all []family
	for _, tilt := range []float64{1, 1.1, 1.25, 1.5, 2, 3, 5, 1 / 1.1, 1 / 1.25, 1 / 1.5, 0.5} {
		all = append(all, func(noise float64) (Config, error) { return t.svt(noise, tilt) })
	}
	return all
}

func (t Task) fit(f family, least aggregate.LeastNoise) (Config, error) {
	noise, err := least.Find(func(noise float64) (accountant.Event, error) {
		cfg, err := f(min(max(noise, leastNoise), mostNoise))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoFit, err)
		}
		m, err := New(cfg)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoFit, err)
		}
		return m.Event(), nil
	})
	if err != nil {
		return Config{}, err
	}
	if noise > mostNoise {
		return Config{}, fmt.Errorf("%w: %s needs %.3g votes", ErrNoFit, t.Mechanism, noise)
	}
	return f(max(noise, leastNoise))
}

func (t Task) mstab(sigma, scale float64) (Config, error) {
	c, err := mstabConfig(sigma, scale, t.Queries)
	if err != nil {
		return Config{}, err
	}
	c.Delta = min(0.25, t.Delta/float64(t.Queries))
	m, err := stability.NewMStab(c)
	if err != nil {
		return Config{}, err
	}
	return Config{Mechanism: MStab, Sigma: sigma, Scale: scale, Threshold: m.Threshold(), Queries: t.Queries}, nil
}

func (t Task) msvec(lambda float64) (Config, error) {
	m, err := svt.NewMSvec(svt.MSvecConfig{Lambda: lambda, Failures: t.Failures})
	if err != nil {
		return Config{}, err
	}
	within := func(threshold int64) bool {
		released, _ := m.LawAt(-threshold)
		return float64(t.Failures)*math.Exp(released) <= t.Delta*(1-1e-8) // the charge has room for rounding
	}
	return Config{Mechanism: MSvec, Lambda: lambda, Threshold: mathx.Least(within), Failures: t.Failures}, nil
}

func (t Task) svt(noise, tilt float64) (Config, error) {
	refusal := math.Pow(1-t.success(), tilt)
	c, err := svt.CalibrateStableSVT(min(1/noise, 0x1p9), t.Delta, t.Failures, max(refusal, 1e-12))
	if err != nil {
		return Config{}, err
	}
	return Config{Mechanism: SVT, B1: c.B1, B2: c.B2, Threshold: c.Threshold, Failures: t.Failures}, nil
}

// Balanced returns an SVT that refuses answers at distance d (in moved votes) with probability at most beta.
// It minimises d over a grid of ratios B1/B2 (see [Config]).
func Balanced(epsilon, delta float64, failures int, beta float64) (Config, error) {
	var best svt.StableSVTConfig
	least := int64(math.MaxInt64)
	for tilt := 0.3; tilt < 4; tilt *= 1.02 {
		c, err := svt.CalibrateStableSVT(epsilon*(1-1e-9), delta, failures, max(1e-12, math.Pow(beta, tilt))) // the claim is rounded up
		if err != nil {
			return Config{}, err
		}
		m, err := svt.NewStableSVT(c)
		if err != nil {
			return Config{}, err
		}
		d, err := svt.DistanceFor(m, 1-beta)
		if err != nil {
			return Config{}, err
		}
		if d < least {
			least, best = d, c
		}
	}
	return Config{Mechanism: SVT, B1: best.B1, B2: best.B2, Threshold: best.Threshold, Failures: best.Failures}, nil
}

// Sparse configures a sparse vector mechanism for a budget of epsilon and t.Delta. The argument name selects
// the mechanism and its noise. For SVT, the probability that a stable answer is refused is at most `refusal`.
// If no noise fits, the error matches [accountant.ErrNoBracket].
func Sparse(name string, epsilon float64, t Task, refusal float64, least aggregate.LeastNoise) (cfg Config, err error) {
	switch name {
	case SVT:
		cfg, err = Balanced(epsilon, t.Delta, t.Failures, refusal)
	case SVTCalibrated:
		t.Mechanism, t.Delta = MSvec, t.Delta/2
		if cfg, err = Fit(t, least); !errors.Is(err, ErrNoFit) {
			return cfg, err
		}
	default:
		var c svt.MSvecConfig
		c, err = svt.PrintedMSvec(epsilon, t.Delta, t.Queries, t.Failures)
		cfg = Config{Mechanism: MSvec, Lambda: c.Lambda, Threshold: c.Threshold, Failures: c.Failures}
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", accountant.ErrNoBracket, err)
	}
	return cfg, err
}
