package accountant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/pate-go/pate/internal/mathx"
)

// A NewAccount function returns an empty account for one trial of a calibration, as RDPConfig.NewAccount
// does.
type NewAccount func() (Accountant, error)

// NewAccount returns an empty RDP account.
func (c RDPConfig) NewAccount() (Accountant, error) { return NewRDP(c) }

func epsilonOfEvent(ctx context.Context, newAccount NewAccount, e Event, delta float64) (Bound, error) {
	account, err := newAccount()
	if err != nil {
		return Bound{}, err
	}
	if err := account.Compose(e, 1); err != nil {
		return Bound{}, err
	}
	return account.Epsilon(ctx, delta)
}

// Rougher is a slow account that can create a fast account. The bounds of the fast account are larger or
// equal. A calibration searches with the fast account and refines the result with the slow account.
type Rougher interface {
	// Rough returns an empty fast account, or nil if none exists.
	Rough() Accountant
}

const roughTolerance = 1e-3

type upperEnds interface{ leaveLowerEnds() bool }

type cheaperAccount struct {
	tolerance float64                             // relative tolerance of the search
	of        func(account Accountant) Accountant // converts the real account; returns nil if it cannot
}

func cheaper() []cheaperAccount {
	rough := func(account Accountant) Accountant {
		if slow, ok := account.(Rougher); ok {
			return slow.Rough()
		}
		return nil
	}
	return []cheaperAccount{{roughTolerance, rough}, {noiseTolerance, func(account Accountant) Accountant {
		if p, ok := account.(upperEnds); ok && p.leaveLowerEnds() {
			return account
		}
		return nil
	}}}
}

func inTurn(newAccount NewAccount, search func(newAccount NewAccount, from start, tolerance float64) (start, Bound, error)) (start, Bound, error) {
	from := start{parameter: 1}
	for _, cheap := range cheaper() {
		starts := func() (Accountant, error) {
			account, err := newAccount()
			if err != nil {
				return nil, err
			}
			return cheap.of(account), nil
		}
		if account, err := starts(); err != nil || account == nil {
			continue // the real account will return the error again
		}
		found, _, err := search(starts, from, cheap.tolerance)
		var none *NoBracketError
		switch {
		case err == nil:
			from = found
		case errors.As(err, &none): // the next account may find one, or fail at once
			from = start{parameter: none.Last}
		}
	}
	return search(newAccount, from, noiseTolerance)
}

func tried[T int64 | float64](ctx context.Context, newAccount NewAccount, target Target, event func(T) (Event, error)) func(T) (Bound, error) {
	type claim struct {
		event Event
		bound Bound
	}
	var made []claim
	return func(parameter T) (Bound, error) {
		if err := ctx.Err(); err != nil {
			return Bound{}, err
		}
		e, err := event(parameter)
		if err != nil {
			return Bound{}, err
		}
		for _, c := range made {
			if reflect.DeepEqual(c.event, e) {
				return c.bound, nil
			}
		}
		b, err := epsilonOfEvent(ctx, newAccount, e, target.Delta)
		if err == nil {
			made = append(made, claim{e, b})
		}
		return b, err
	}
}

// CalibrateNoise returns the least noise for which event(noise) meets the target, and the bound of this
// event. The privacy cost of the event must fall as the noise grows. The search covers noise from 1e-6 to
// 1e15. The relative tolerance is 1e-8, or 1e-6 where the bound jumps. For integer noise with a small scale,
// the cost is not quite monotone. The result then meets the target, but a smaller noise may also do so. The
// error is a *NoBracketError if no noise in the range meets the target, or noise 1e-6 meets it. Errors of the
// function event are returned unchanged.
func CalibrateNoise(ctx context.Context, newAccount NewAccount, target Target, event func(noise float64) (Event, error)) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	found, best, err := inTurn(newAccount, func(newAccount NewAccount, from start, tolerance float64) (start, Bound, error) {
		return leastNoise(target, from, tolerance, tried(ctx, newAccount, target, event))
	})
	return found.parameter, best, err
}

// CalibrateProbability returns the largest sampling probability for which event(probability) meets the
// target. It also returns the bound of this event. The relative tolerance is 1e-8. The error is a
// *NoBracketError if no probability in [1e-15, 1] meets the target.
func CalibrateProbability(
	ctx context.Context, newAccount NewAccount, target Target, event func(probability float64) (Event, error),
) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	whole, err := event(1)
	if err != nil {
		return 0, Bound{}, err
	}
	all, err := epsilonOfEvent(ctx, newAccount, whole, target.Delta)
	if err != nil {
		return 0, Bound{}, err
	}
	if all.Upper <= target.Epsilon {
		return 1, all, nil
	}
	inverse, b, err := CalibrateNoise(ctx, newAccount, target, func(noise float64) (Event, error) { return event(math.Min(1, 1/noise)) })
	var none *NoBracketError
	if errors.As(err, &none) {
		return 0, Bound{}, &NoBracketError{"probability", 1 / none.Last, none.Epsilon, target}
	}
	return 1 / inverse, b, err
}

// CalibrateCount returns the largest count for which event(count) meets the target, and the bound at this
// count. The error is a *NoBracketError if count 1 misses the target or count 2^53 meets the target.
func CalibrateCount(ctx context.Context, newAccount NewAccount, target Target, event func(count int64) (Event, error)) (int64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	found, best, err := inTurn(newAccount, func(newAccount NewAccount, from start, _ float64) (start, Bound, error) {
		return mostCount(target, from, tried(ctx, newAccount, target, event))
	})
	return int64(found.parameter), best, err
}

// Affordable returns the largest count for which event(count) meets the target. The result is 0 if count 1
// misses the target, and 2^53 if count 2^53 meets the target. Other errors are as in [CalibrateCount].
func Affordable(ctx context.Context, newAccount NewAccount, target Target, event func(count int64) (Event, error)) (int64, error) {
	n, _, err := CalibrateCount(ctx, newAccount, target, event)
	var bracket *NoBracketError
	if !errors.As(err, &bracket) {
		return n, err
	}
	if bracket.Epsilon > bracket.Target.Epsilon {
		return 0, nil
	}
	return int64(bracket.Last), nil
}

// CalibrateGaussian returns the least noise multiplier for which one Gaussian release meets the target, and
// its bound. The relative tolerance is 1e-10. The formula is exact (Balle, Wang 2018). Delta must be above 0.
func CalibrateGaussian(target Target) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	noise, err := GaussianNoise(target.Epsilon, target.Delta)
	if err != nil {
		return 0, Bound{}, err
	}
	// The formula has relative error 1e-12. The loop raises the noise until the outward bound meets the
	// target.
	for step := 1e-12; ; step *= 2 {
		eps, err := GaussianEpsilon(noise, target.Delta)
		if err != nil {
			return 0, Bound{}, err
		}
		if upper := mathx.Up(eps * (1 + slack)); upper <= target.Epsilon {
			return noise, Bound{Lower: eps * (1 - slack), Upper: upper}, nil
		}
		noise *= 1 + step
	}
}

// GaussianDelta returns the exact delta of one Gaussian release at epsilon >= 0 (Balle, Wang 2018, Theorem
// 8). The result is not rounded up. For several releases with noise multipliers sigma_i, use the noise
// multiplier 1/sqrt(sum 1/sigma_i^2).
func GaussianDelta(noiseMultiplier, epsilon float64) (float64, error) {
	if err := within("gaussian", "noise_multiplier", ">0", noiseMultiplier); err != nil {
		return 0, err
	}
	if err := within("gaussian", "epsilon", ">=0", epsilon); err != nil {
		return 0, err
	}
	return math.Exp(mathx.LogGaussianDelta(noiseMultiplier, epsilon)), nil
}

// GaussianEpsilon returns the smallest epsilon >= 0 of one Gaussian release at delta in (0, 1). Due to
// rounding, the result may be slightly too small.
func GaussianEpsilon(noiseMultiplier, delta float64) (float64, error) {
	if err := within("gaussian", "noise_multiplier", ">0", noiseMultiplier); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	return mathx.GaussianEpsilon(noiseMultiplier, delta), nil
}

// GaussianNoise returns the smallest noise multiplier for which one Gaussian release is (epsilon,
// delta)-private. It needs epsilon >= 0 and delta in (0, 1).
func GaussianNoise(epsilon, delta float64) (float64, error) {
	if err := within("gaussian", "epsilon", ">=0", epsilon); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	target := mathx.Log(delta)
	f := func(logSigma float64) bool { return mathx.LogGaussianDelta(math.Exp(logSigma), epsilon) <= target }
	lo, hi := 0.0, 0.0
	for step := 1.0; !f(hi); step *= 2 {
		lo, hi = hi, hi+step
	}
	for step := 1.0; f(lo); step *= 2 {
		hi, lo = lo, lo-step
	}
	return math.Exp(mathx.Bisect(f, lo, hi)), nil
}

// RiskTarget limits membership attacks. At a false positive rate of at most FalseAlarms, the true positive
// rate is at most Found.
type RiskTarget struct {
	Found       float64 // in (FalseAlarms, 1)
	FalseAlarms float64 // in (0, 1)
}

func (t RiskTarget) validate() error {
	switch {
	case !(t.FalseAlarms > 0 && t.FalseAlarms < 1):
		return fmt.Errorf("accountant: RiskTarget.FalseAlarms must be in (0, 1), got %v", t.FalseAlarms)
	case !(t.Found > t.FalseAlarms && t.Found < 1):
		const wrong = "accountant: RiskTarget.Found must be above FalseAlarms (%v), which accusing at random finds, and below 1, got %v"
		return fmt.Errorf(wrong, t.FalseAlarms, t.Found)
	}
	return nil
}

const riskTolerance = 1e-4

// CalibrateRisk returns the least noise for which event(noise) meets the target. The Interval contains the
// true positive rate of the best attack, and Upper is at most target.Found. The relative tolerance of the
// noise is 1e-4. The range of the noise and the errors are as in [CalibrateNoise]. The Target of a
// *NoBracketError is an (epsilon, delta) that suffices for the target.
func CalibrateRisk(ctx context.Context, cfg AutoConfig, target RiskTarget, event func(noise float64) (Event, error)) (float64, Interval, error) {
	if err := target.validate(); err != nil {
		return 0, Interval{}, err
	}
	try := func(noise float64) (Interval, error) {
		if err := ctx.Err(); err != nil {
			return Interval{}, err
		}
		e, err := event(noise)
		if err != nil {
			return Interval{}, err
		}
		t, err := NewAuto(cfg)
		if err != nil {
			return Interval{}, err
		}
		if err := t.Compose(e, 1); err != nil {
			return Interval{}, err
		}
		r, err := t.Risk(ctx)
		if err != nil {
			return Interval{}, err
		}
		return r.TPR(target.FalseAlarms)
	}
	// (epsilon, delta) allows a true positive rate of e^epsilon FalseAlarms + delta. So noise for this
	// (epsilon, delta) suffices, except for numerical errors.
	start := Target{Delta: (target.Found - target.FalseAlarms) / 10}
	start.Epsilon = math.Log((target.Found - start.Delta) / target.FalseAlarms)
	hi, _, err := CalibrateNoise(ctx, RDPConfig{Relation: cfg.Relation, Orders: cfg.Orders}.NewAccount, start, event)
	if err != nil {
		return 0, Interval{}, err
	}
	best, err := try(hi)
	for ; err == nil && best.Upper > target.Found; best, err = try(hi) {
		if hi *= 1.5; hi > maxNoise {
			return 0, Interval{}, &NoBracketError{"noise", hi, start.Epsilon, start}
		}
	}
	lo := hi
	for err == nil {
		if lo /= 1.5; lo < minNoise {
			return 0, Interval{}, &NoBracketError{"noise", lo, start.Epsilon, start}
		}
		var v Interval
		if v, err = try(lo); v.Upper > target.Found {
			break
		}
		hi, best = lo, v
	}
	// Invariant: the noise hi meets the target with the rate best. The noise lo does not.
	for err == nil && hi > lo*(1+riskTolerance) {
		mid := math.Sqrt(lo * hi)
		var v Interval
		if v, err = try(mid); v.Upper > target.Found {
			lo = mid
		} else {
			hi, best = mid, v
		}
	}
	if err != nil {
		return 0, Interval{}, err
	}
	return hi, best, nil
}
