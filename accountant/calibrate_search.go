package accountant

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// Target is an (epsilon, delta) guarantee to meet.
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

var ErrNoBracket = errors.New("accountant: the target is not between two trials")

// NoBracketError reports a search in which all trials were on the same side of the target.
type NoBracketError struct {
	Parameter string  // the parameter searched: "noise", "probability" or "count"
	Last      float64 // the outermost value tried
	Epsilon   float64 // the privacy cost at Last
	Target    Target
}

func (e *NoBracketError) Error() string {
	return fmt.Sprintf("accountant: no %[1]s was found for epsilon %[4]g at delta %[5]g: the last %[1]s tried, %[2]g, gives epsilon %.6[3]g",
		e.Parameter, e.Last, e.Epsilon, e.Target.Epsilon, e.Target.Delta)
}

func (e *NoBracketError) Is(target error) bool { return target == ErrNoBracket }

const (
	minNoise       = 1e-6
	maxNoise       = 1e15
	maxCount       = int64(1) << 53
	noiseTolerance = 1e-8
)

// trial has position log(noise) or -log(count), and excess log(epsilon/target epsilon).
type trial struct{ position, excess float64 }

type trials struct {
	made  []trial
	slope float64 // slope of excess as a function of position, from an earlier search; 0 if unknown
}

func (t *trials) add(position, cost, target float64) trial {
	made := trial{position, math.Log(cost / target)}
	if !math.IsInf(made.excess, 0) {
		t.made = append(t.made, made)
	}
	return made
}

func (t *trials) nearest(n int, aim float64) []trial {
	sorted := slices.Clone(t.made)
	slices.SortStableFunc(sorted, func(a, b trial) int {
		switch x, y := math.Abs(a.excess-aim), math.Abs(b.excess-aim); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return sorted[:min(n, len(sorted))]
}

func falling(a, b trial) float64 {
	if slope := (b.excess - a.excess) / (b.position - a.position); slope < 0 && !math.IsInf(slope, 0) {
		return slope
	}
	return 0
}

func (t *trials) steepness() float64 {
	if near := t.nearest(2, 0); len(near) == 2 {
		return falling(near[0], near[1])
	}
	return t.slope
}

func (t *trials) meets(aim float64) (position float64, ok bool) {
	near := t.nearest(3, aim)
	if len(near) == 0 {
		return 0, false
	}
	a := near[0]
	if len(near) == 1 {
		return a.position + (aim-a.excess)/t.slope, t.slope < 0
	}
	b := near[1]
	if falling(a, b) == 0 {
		return 0, false
	}
	position = a.position + (aim-a.excess)/falling(a, b)
	if len(near) == 2 || falling(a, near[2]) == 0 || falling(b, near[2]) == 0 {
		return position, true
	}
	// The position as a quadratic function of the excess, in Newton's form.
	c := near[2]
	second := (1/falling(b, c) - 1/falling(a, b)) / (c.excess - a.excess)
	return position + second*(aim-a.excess)*(aim-b.excess), true
}

func (t *trials) improves(last trial, aim float64) bool {
	for _, x := range t.made[:max(0, len(t.made)-1)] {
		if math.Abs(last.excess-aim) > math.Abs(x.excess-aim)/2 {
			return false
		}
	}
	return true
}

type start struct{ parameter, slope float64 }

// jumpTolerance is the relative tolerance of a noise search where epsilon jumps as a function of noise.
const jumpTolerance = 1e-6

func leastNoise(target Target, from start, tolerance float64, try func(noise float64) (Bound, error)) (start, Bound, error) {
	// The tolerance is relative. Invariant: the noise hi meets the target with the bound best, and the noise
	// lo does not meet it.
	t := trials{slope: from.slope}
	var lo, hi float64 // 0 until found
	var best Bound
	noise, factor := from.parameter, 2.0
	if from.slope < 0 {
		factor = 1.3
	}
	halve, step := 0, 0.0
	for tries := 1; ; tries++ {
		b, err := try(noise)
		if err != nil {
			return start{}, Bound{}, err
		}
		last := t.add(math.Log(noise), b.Upper, target.Epsilon)
		slope := t.steepness()
		aim := tolerance / 2 * slope
		if b.Upper <= target.Epsilon {
			hi, best = noise, b
			if last.excess >= 2*aim && slope < 0 {
				return start{hi, slope}, best, nil
			}
		} else {
			lo = noise
		}
		at, ok := t.meets(aim)
		switch {
		case lo == 0 && hi == minNoise, hi == 0 && lo == maxNoise:
			return start{}, Bound{}, &NoBracketError{"noise", noise, b.Upper, target}
		case lo == 0 || hi == 0:
			// Extrapolation may be far off, so every step is bounded. From the third trial on, steps grow at
			// least fourfold, so that they do not become tiny.
			far, sign := math.Log(factor), 1.0
			if hi > 0 {
				sign = -1
			}
			next := sign * (at - last.position)
			if !ok || !(next > 0) {
				next = far
			}
			if tries > 2 {
				next = math.Max(next, 4*step)
			}
			step = math.Min(next, 3*far)
			factor = math.Min(factor*factor, 1024)
			noise = math.Min(math.Max(noise*math.Exp(sign*step), minNoise), maxNoise)
			continue
		case hi <= lo*(1+tolerance):
			return start{hi, slope}, best, nil
		}
		switch improves := t.improves(last, aim); {
		case improves:
			halve = 0
		case hi <= lo*(1+jumpTolerance):
			return start{hi, slope}, best, nil
		case halve == 0:
			halve = 2
		default:
			halve--
		}
		if noise = math.Exp(at); halve > 0 || !ok || !(noise > lo && noise < hi) {
			noise = math.Sqrt(lo * hi)
		}
	}
}

func mostCount(target Target, from start, try func(count int64) (Bound, error)) (start, Bound, error) {
	// Invariant: the count lo is 0, or meets the target with the bound best. The count hi is 0, or does not
	// meet the target.
	t := trials{slope: from.slope}
	var lo, hi int64
	var best Bound
	count, factor := int64(from.parameter), int64(2)
	halve := false
	for tries := 1; ; tries++ {
		b, err := try(count)
		if err != nil {
			return start{}, Bound{}, err
		}
		last := t.add(-math.Log(float64(count)), b.Upper, target.Epsilon)
		if b.Upper <= target.Epsilon {
			lo, best = count, b
		} else {
			hi = count
		}
		switch {
		case hi == 1, lo == maxCount:
			return start{}, Bound{}, &NoBracketError{"count", float64(count), b.Upper, target}
		case hi > 0 && hi-lo == 1:
			return start{float64(lo), t.steepness()}, best, nil
		}
		at, ok := t.meets(0)
		next := math.Floor(math.Exp(-at))
		switch {
		case hi == 0:
			far := math.Min(float64(maxCount), float64(lo)*float64(factor))
			if !ok || tries >= 4 {
				next = far
			}
			next = math.Min(math.Max(next, float64(lo+1)), math.Min(far*float64(factor), float64(maxCount)))
			factor = min(factor*factor, 1024)
		default:
			if halve = !halve && !t.improves(last, 0); halve || !ok {
				next = float64(lo + (hi-lo)/2)
			}
			next = math.Min(math.Max(next, float64(lo+1)), float64(hi-1))
		}
		count = int64(next)
	}
}
