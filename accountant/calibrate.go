package accountant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/pate-go/pate/internal/mathx"
)

// NewAccount starts the accounts a calibration tries; RDPConfig.NewAccount is one.
type NewAccount func() (Accountant, error)

// NewAccount starts an RDP account.
func (c RDPConfig) NewAccount() (Accountant, error) { return NewRDP(c) }

// epsilonOfEvent charges one event to a fresh account.
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

// A Rougher is an account that takes long and can start one that does not, whose claims are never below its
// own. Calibrations begin where the rough one ends.
type Rougher interface {
	// Rough starts the rough account; nil if there is none.
	Rough() Accountant
}

// roughTolerance is what a rough account is calibrated to: the next begins a percent or more away.
const roughTolerance = 1e-3

// upperEnds is an account that may leave out its lower ends; it reports whether it has any.
type upperEnds interface{ leaveLowerEnds() bool }

// cheaperAccount is one that a calibration tries before the account asked for.
type cheaperAccount struct {
	tolerance float64                             // how well it is worth to be calibrated
	of        func(account Accountant) Accountant // makes it of the account asked for; nil if there is none
}

// cheaper returns the accounts to be tried before the account of a calibration, each from where the one
// before has ended: its rough one, and privacy loss distributions without lower ends, which mostly have the
// same upper end at half of the work or less.
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

// inTurn searches by the cheaper accounts and then by that asked for, whose answer it returns.
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
			continue // an error comes again by the account asked for
		}
		found, _, err := search(starts, from, cheap.tolerance)
		var none *NoBracketError
		switch {
		case err == nil:
			from = found
		case errors.As(err, &none): // the next may find one, or says so at once
			from = start{parameter: none.Last}
		}
	}
	return search(newAccount, from, noiseTolerance)
}

// tried returns the epsilon of the event of a parameter by an account of its own. Events that come again,
// as with rounded noise, are not asked about twice.
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

// CalibrateNoise returns the least noise, to 1e-8 relative or to what that is worth of epsilon (1e-6 where
// the bound of an account jumps past the target), for which the event meets the target, with its bound:
// always at most target.Epsilon. Noise is whatever parameter the event takes that costs less as it grows,
// searched from 1e-6 to 1e15. (A single release of small integer noise may cost a little more with a little
// more noise; the answer is within the target all the same.) It returns a *NoBracketError if no noise meets
// the target, or the least does. An error of event ends the search and is returned as it is.
func CalibrateNoise(ctx context.Context, newAccount NewAccount, target Target, event func(noise float64) (Event, error)) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	found, best, err := inTurn(newAccount, func(newAccount NewAccount, from start, tolerance float64) (start, Bound, error) {
		return leastNoise(target, from, tolerance, tried(ctx, newAccount, target, event))
	})
	return found.parameter, best, err
}

// CalibrateProbability returns the largest sampling probability in (0, 1], to 1e-8 relative, for which the
// event meets the target, with its bound. It returns a *NoBracketError if no probability above 1e-15 does.
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

// CalibrateCount returns the largest count, steps or queries, for which the event meets the target, with
// its bound. It returns a *NoBracketError if one is too many, or 2^53 are not.
func CalibrateCount(ctx context.Context, newAccount NewAccount, target Target, event func(count int64) (Event, error)) (int64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	found, best, err := inTurn(newAccount, func(newAccount NewAccount, from start, _ float64) (start, Bound, error) {
		return mostCount(target, from, tried(ctx, newAccount, target, event))
	})
	return int64(found.parameter), best, err
}

// Affordable returns the largest count for which the event meets the target: 0 if one is too many, and a
// count that does where 2^53 do. Other errors are as in [CalibrateCount].
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

// CalibrateGaussian returns the least noise multiplier, to 1e-10 relative, of one Gaussian release that
// meets the target, by the exact formula (Balle, Wang 2018), with its bound: always at most target.Epsilon.
// Delta must be above 0.
func CalibrateGaussian(target Target) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	noise, err := GaussianNoise(target.Epsilon, target.Delta)
	if err != nil {
		return 0, Bound{}, err
	}
	// The formula is good to 1e-12; the claim is widened by more than that, and the noise raised until it
	// is met again.
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

// GaussianDelta returns the exact delta of one Gaussian release with the given noise multiplier at epsilon
// >= 0 (Balle, Wang 2018, Theorem 8), without outward rounding. Several releases are one release: their
// noise multipliers combine as 1/sqrt(sum 1/sigma_i^2).
func GaussianDelta(noiseMultiplier, epsilon float64) (float64, error) {
	if err := within("gaussian", "noise_multiplier", ">0", noiseMultiplier); err != nil {
		return 0, err
	}
	if err := within("gaussian", "epsilon", ">=0", epsilon); err != nil {
		return 0, err
	}
	return math.Exp(mathx.LogGaussianDelta(noiseMultiplier, epsilon)), nil
}

// GaussianEpsilon returns the smallest epsilon >= 0 of one Gaussian release at delta in (0, 1), never below
// the exact value by more than rounding.
func GaussianEpsilon(noiseMultiplier, delta float64) (float64, error) {
	if err := within("gaussian", "noise_multiplier", ">0", noiseMultiplier); err != nil {
		return 0, err
	}
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("accountant: delta must be in (0, 1), got %v", delta)
	}
	return mathx.GaussianEpsilon(noiseMultiplier, delta), nil
}

// GaussianNoise returns the smallest noise multiplier whose single release is (epsilon, delta)-private,
// epsilon >= 0 and delta in (0, 1).
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
	// The root in log sigma is only good to 1e-16 max(1, |log sigma|).
	return math.Exp(mathx.Bisect(f, lo, hi)), nil
}

// RiskTarget is protection in the words of an attack: of those who took part no test finds more than the
// share Found, if it wrongly accuses at most the share FalseAlarms of those who did not.
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

// riskTolerance is how much noise, relatively, a calibration by risk may waste.
const riskTolerance = 1e-4

// CalibrateRisk returns the least noise, to 1e-4 relative, at which the event meets the target, with the
// share that a test finds: Upper is at most target.Found. Noise is as in [CalibrateNoise], whose errors it
// has too; Epsilon of a *NoBracketError is the one of the (epsilon, delta) pair that the search began at.
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
	// One pair (epsilon, delta) allows e^epsilon FalseAlarms + delta, so its noise is enough but for the
	// curves' own error, and the search goes down from there.
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
	// Invariant: hi was tried and meets the target, with best; lo does not.
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
