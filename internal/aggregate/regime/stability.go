package regime

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

// Stability methods look at d, how many votes must move before the winner changes:
// floor((gap-1)/2) whatever the tie rule, so d needs a gap of 2d+1.
func gapOf(distance int64) float64 { return 2*float64(distance) + 1 }

func distanceOf(gap int) int64 { return int64(max(0, (gap-1)/2)) }

// stableMethod returns what a mechanism of package stable, which the laws and charges are
// from, does in a regime. success is what its distance is judged by.
func (r Regime) stableMethod(ctx context.Context, account accountant.AutoConfig, name string,
	noise, success float64, cfg stable.Config) (Method, error) {
	m, err := stable.New(cfg)
	if err != nil {
		return Method{}, fmt.Errorf("plan: %s: %w", name, err)
	}
	distance, err := m.DistanceFor(success)
	if err != nil {
		return Method{}, fmt.Errorf("plan: %s: %w", name, err)
	}
	released, _ := m.LawAt(distanceOf(r.Gap))
	claim, err := claimed(ctx, account, m.Event(), r.Delta) // failure probabilities included
	return Method{Mechanism: name, Stability: true, Noise: noise, Epsilon: claim.Upper, By: claim.By,
		GapNeeded: gapOf(distance), AtGap: math.Exp(released)}, err
}

// mstabLaplaceRegime tests each query by itself. Half of delta pays for releases at
// d = 0, the same for each query.
func mstabLaplaceRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	cfg, err := r.fit(ctx, account, stable.Task{Mechanism: stable.MStab, Noise: stability.Laplace, Delta: r.Delta / 2})
	if err != nil {
		return Method{}, err
	}
	return r.stableMethod(ctx, account, stable.MStabLaplace, cfg.Scale, r.Success, cfg)
}

// mstabGaussianRegime does the same with Gaussian noise, and the share of delta for releases at d = 0
// that needs the smallest distance, by the quantiles of continuous noise.
func mstabGaussianRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	least, best := math.Inf(1), 0.0
	renyi := account
	renyi.Method = accountant.ByRDP // at once, and the share hardly depends on it
	for share := 0.04; share < 0.99; share += 0.02 {
		each := r.Delta * share / float64(r.Queries)
		sigma, _, err := r.calibrate(ctx, renyi, func(sigma float64) (accountant.Event, error) {
			return accountant.Repeated{Count: int64(r.Queries),
				Event: accountant.WithFailure{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Delta: each}}, nil
		})
		if err != nil {
			return Method{}, err
		}
		if distance := sigma * (distuv.UnitNormal.Quantile(r.Success) - distuv.UnitNormal.Quantile(each)); distance < least {
			least, best = distance, share
		}
	}
	cfg, err := r.fit(ctx, account, stable.Task{Mechanism: stable.MStab, Noise: stability.Gaussian, Delta: r.Delta * best})
	if err != nil {
		return Method{}, err
	}
	return r.stableMethod(ctx, account, stable.MStabGaussian, cfg.Sigma, r.Success, cfg)
}

// svtPrintedRegime returns the sparse vector over stable queries as lecture notes calibrate
// it, svtCalibratedRegime the same mechanism at the noise that it needs.
func svtPrintedRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	c, err := svt.PrintedMSvec(r.Epsilon, r.Delta, r.Queries, r.Unstable)
	if err != nil {
		return Method{}, noBracket(err)
	}
	return r.stableMethod(ctx, account, stable.SVTPrinted, c.Lambda, r.Success,
		stable.Config{Mechanism: stable.MSvec, Lambda: c.Lambda, Threshold: c.Threshold, Failures: c.Failures})
}

func svtCalibratedRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	cfg, err := r.fit(ctx, account, stable.Task{Mechanism: stable.MSvec, Failures: r.Unstable, Delta: r.Delta / 2})
	if err != nil {
		return Method{}, err
	}
	return r.stableMethod(ctx, account, stable.SVTCalibrated, cfg.Lambda, r.Success, cfg)
}

// stableSVTRegime returns the stable sparse vector with one-sided noise, at pure epsilon
// with all of delta for releases at d = 0. A stable query is refused with probability
// beta and then uses up one of the Q failures too, so beta is at most Q/(2m).
func stableSVTRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	beta := math.Min(1-r.Success, float64(r.Unstable)/(2*float64(r.Queries)))
	cfg, err := stable.Balanced(r.Epsilon, r.Delta, r.Unstable, beta)
	if err != nil {
		return Method{}, noBracket(err)
	}
	return r.stableMethod(ctx, account, stable.SVT, cfg.B2, 1-beta, cfg)
}

// fit gives all queries of a regime their noise.
func (r Regime) fit(ctx context.Context, account accountant.AutoConfig, t stable.Task) (stable.Config, error) {
	t.Queries, t.Success = r.Queries, r.Success
	target := accountant.Target{Epsilon: r.Epsilon, Delta: r.Delta}
	cfg, err := stable.Fit(t, func(event func(float64) (accountant.Event, error)) (float64, error) {
		noise, _, err := accountant.CalibrateNoise(ctx, account.NewAccount, target, event)
		return noise, err
	})
	if errors.Is(err, stable.ErrNoFit) {
		return cfg, noBracket(err)
	}
	return cfg, err
}

// noBracket returns the error of a method that cannot be had in a regime.
func noBracket(err error) error { return fmt.Errorf("plan: %w: %w", accountant.ErrNoBracket, err) }
