package accountant

import (
	"context"
	"fmt"
	"math"
)

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
