package accountant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/pate-go/pate/internal/mathx"
)

// Target is the guarantee asked for.
type Target struct {
	Epsilon float64 // > 0
	Delta   float64 // in [0, 1)
}

func (t Target) validate() error {
	if !mathx.IsFinite(t.Epsilon) || t.Epsilon <= 0 {
		return fmt.Errorf("accountant: Target.Epsilon must be a finite number above 0, got %v", t.Epsilon)
	}
	if !(t.Delta >= 0 && t.Delta < 1) {
		return fmt.Errorf("accountant: Target.Delta must be in [0, 1), got %v", t.Delta)
	}
	return nil
}

// ErrNoBracket is matched by every *NoBracketError.
var ErrNoBracket = errors.New("accountant: the target is not between two trials")

// NoBracketError says that a search met no trial on one side of its target.
type NoBracketError struct {
	Parameter string  // what was searched: "noise", "probability" or "count"
	Last      float64 // the outermost value tried
	Epsilon   float64 // what it costs
	Target    Target
}

// Error implements error.
func (e *NoBracketError) Error() string {
	relation := "still above"
	if e.Epsilon <= e.Target.Epsilon {
		relation = "still within"
	}
	return fmt.Sprintf("accountant: no %s brackets the target: at %g epsilon is %g, %s %g (delta %g)",
		e.Parameter, e.Last, e.Epsilon, relation, e.Target.Epsilon, e.Target.Delta)
}

// Is makes errors.Is(err, ErrNoBracket) hold.
func (e *NoBracketError) Is(target error) bool { return target == ErrNoBracket }

const (
	minNoise = 1e-6
	maxNoise = 1e15
	maxCount = int64(1) << 53
	// noiseTolerance is how much noise, relatively, a calibration may waste.
	noiseTolerance = 1e-8
)

// NewAccount starts the accounts a calibration tries; Config.NewAccount is one.
type NewAccount func() (Accountant, error)

// NewAccount starts an RDP account.
func (c Config) NewAccount() (Accountant, error) { return NewRDP(c) }

// epsilonOfEvent charges one event to a fresh account.
func epsilonOfEvent(ctx context.Context, newAccount NewAccount, e Event, delta float64) (Bound, error) {
	account, err := newAccount()
	if err != nil {
		return Bound{}, err
	}
	if err := account.Compose(e, 1); err != nil {
		return Bound{}, err
	}
	switch long := account.(type) {
	case *PLD:
		b, err := long.EpsilonContext(ctx, delta)
		return b.Bound, err
	case *Tight:
		return long.EpsilonContext(ctx, delta)
	}
	return account.Epsilon(delta)
}

// A Rougher is an account that takes long and can start one that does not, whose
// claims are never below its own. Calibrations begin where the rough one ends.
type Rougher interface {
	// Rough starts the rough account; nil if there is none.
	Rough() Accountant
}

// roughly returns how the rough accounts of a slow one are started; nil if there are
// none.
func roughly(newAccount NewAccount) NewAccount {
	account, err := newAccount()
	if err != nil {
		return nil // the calibration will say so
	}
	slow, ok := account.(Rougher)
	if !ok || slow.Rough() == nil {
		return nil
	}
	return func() (Accountant, error) {
		account, err := newAccount()
		if err != nil {
			return nil, err
		}
		return account.(Rougher).Rough(), nil
	}
}

// CalibrateNoise returns the least noise, to 1e-8 relative, for which the event meets
// the target, with what it achieves: always at most target.Epsilon. Noise is whatever
// parameter the event takes that costs less as it grows, searched from 1e-6 to 1e15. (A
// single release of small integer noise may cost a little more with a little more
// noise; the answer is within the target all the same.) It returns a *NoBracketError if
// no noise meets the target, or the least does. An error of event ends the search and is
// returned as it is.
func CalibrateNoise(ctx context.Context, newAccount NewAccount, target Target, event func(noise float64) (Event, error)) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	type claim struct {
		event Event
		bound Bound
	}
	var made []claim
	try := func(noise float64) (Bound, error) {
		if err := ctx.Err(); err != nil {
			return Bound{}, err
		}
		e, err := event(noise)
		if err != nil {
			return Bound{}, err
		}
		for _, c := range made { // events whose noise is rounded come again
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
	fail := func(noise float64, b Bound) (float64, Bound, error) {
		return 0, Bound{}, &NoBracketError{"noise", noise, b.Upper, target}
	}
	hi, first := 1.0, 2.0
	if rough := roughly(newAccount); rough != nil {
		if noise, _, err := CalibrateNoise(ctx, rough, target, event); err == nil {
			hi, first = noise, 1.3
		}
	}
	best, err := try(hi)
	if err != nil {
		return 0, Bound{}, err
	}
	lo := hi
	over := best.Upper // epsilon at lo
	if best.Upper > target.Epsilon {
		for factor := first; best.Upper > target.Epsilon; factor = math.Min(factor*factor, 1024) {
			if hi == maxNoise {
				return fail(hi, best)
			}
			lo, over, hi = hi, best.Upper, math.Min(hi*factor, maxNoise)
			if best, err = try(hi); err != nil {
				return 0, Bound{}, err
			}
		}
	} else {
		for factor := first; ; factor = math.Min(factor*factor, 1024) {
			if lo == minNoise {
				return fail(lo, best)
			}
			lo = math.Max(lo/factor, minNoise)
			b, err := try(lo)
			if err != nil {
				return 0, Bound{}, err
			}
			if over = b.Upper; over > target.Epsilon {
				break
			}
			hi, best = lo, b
		}
	}
	// Invariant: hi was tried and meets the target, with best; lo does not. Log
	// epsilon is nearly linear in log noise, so this is regula falsi (Illinois)
	// there, with a halving now and then.
	above, below := math.Log(over/target.Epsilon), math.Log(best.Upper/target.Epsilon)
	side := 0
	for i := 0; hi > lo*(1+noiseTolerance); i++ {
		mid := math.Sqrt(lo * hi)
		if x := lo * math.Pow(hi/lo, above/(above-below)); i%4 != 3 && x > lo && x < hi {
			mid = x
		}
		b, err := try(mid)
		if err != nil {
			return 0, Bound{}, err
		}
		f := math.Log(b.Upper / target.Epsilon)
		if b.Upper <= target.Epsilon {
			if hi, best, below = mid, b, f; side < 0 {
				above /= 2
			}
			side = -1
		} else {
			if lo, above = mid, f; side > 0 {
				below /= 2
			}
			side = 1
		}
	}
	return hi, best, nil
}

// CalibrateProbability returns the largest sampling probability in (0, 1], to
// 1e-8 relative, for which the event meets the target, with what it achieves. It
// returns a *NoBracketError if no probability above 1e-15 does.
func CalibrateProbability(ctx context.Context, newAccount NewAccount, target Target, event func(probability float64) (Event, error)) (float64, Bound, error) {
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

// CalibrateCount returns the largest count, steps or queries, for which the
// event meets the target, with what it achieves. It returns a *NoBracketError
// if one is too many, or 2^53 are not.
func CalibrateCount(ctx context.Context, newAccount NewAccount, target Target, event func(count int64) (Event, error)) (int64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	try := func(count int64) (Bound, error) {
		if err := ctx.Err(); err != nil {
			return Bound{}, err
		}
		e, err := event(count)
		if err != nil {
			return Bound{}, err
		}
		return epsilonOfEvent(ctx, newAccount, e, target.Delta)
	}
	// Invariant: lo meets the target, with best; hi, once tried, does not.
	var lo, hi int64 = 0, 1
	if rough := roughly(newAccount); rough != nil {
		if n, _, err := CalibrateCount(ctx, rough, target, event); err == nil {
			hi = n
		}
	}
	best, err := try(hi)
	if err != nil {
		return 0, Bound{}, err
	}
	if best.Upper > target.Epsilon {
		return 0, Bound{}, &NoBracketError{"count", float64(hi), best.Upper, target}
	}
	for near := hi > 1; ; near = false {
		lo, hi = hi, 2*hi
		if near {
			hi = lo + lo/4 + 1
		}
		if hi > maxCount {
			return 0, Bound{}, &NoBracketError{"count", float64(lo), best.Upper, target}
		}
		b, err := try(hi)
		if err != nil {
			return 0, Bound{}, err
		}
		if b.Upper > target.Epsilon {
			break
		}
		best = b
	}
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		b, err := try(mid)
		if err != nil {
			return 0, Bound{}, err
		}
		if b.Upper <= target.Epsilon {
			lo, best = mid, b
		} else {
			hi = mid
		}
	}
	return lo, best, nil
}

// Affordable returns the largest count for which the event meets the target: 0 if one is too
// many, and a count that does where 2^53 do. Errors are those of [CalibrateCount] otherwise.
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

// CalibrateGaussian returns the least noise multiplier, to 1e-10 relative, of
// one Gaussian release that meets the target, by the exact formula (Balle, Wang
// 2018), with what it achieves: always at most target.Epsilon. Delta must be
// above 0.
func CalibrateGaussian(target Target) (float64, Bound, error) {
	if err := target.validate(); err != nil {
		return 0, Bound{}, err
	}
	noise, err := GaussianNoise(target.Epsilon, target.Delta)
	if err != nil {
		return 0, Bound{}, err
	}
	// The formula is good to 1e-12; the claim is widened by more than that,
	// and the noise raised until it is met again.
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
