package mathx

import (
	"cmp"
	"math"
	"slices"
)

type LossAtom struct{ Loss, LogMass float64 }

// EpsilonOfLaw returns the least epsilon >= 0 with E[(1 - e^{epsilon - L})_+] <= delta, where L is the
// privacy loss.
func EpsilonOfLaw(atoms []LossAtom, delta float64) float64 {
	// For a number l, let A and B be the masses of the atoms with losses of at least l under the first and
	// the second distribution. The expectation is the maximum of A - e^epsilon B over l. So epsilon is the
	// maximum of log((A-delta)/B) over l. The code has masses in units of delta.
	slices.SortFunc(atoms, func(a, b LossAtom) int { return cmp.Compare(b.Loss, a.Loss) })
	logDelta := Log(delta)
	// u bounds the relative errors of the masses, which come from the rounding of their logs.
	u := 4e-15 - 1e-15*logDelta
	var first, second, excess compensated // A, B e^ref, A - B
	ref := math.Inf(1)
	best := 0.0
	for _, a := range atoms {
		if a.Loss <= 0 {
			break
		}
		mass := math.Exp(a.LogMass - logDelta)
		if math.IsInf(ref, 1) {
			ref = a.Loss
		}
		if ref-a.Loss > 20 { // masses are in units of delta >= 1e-290, so more than this could overflow
			second.scale(math.Exp(a.Loss - ref))
			ref = a.Loss
		}
		first.add(mass)
		second.add(mass * math.Exp(ref-a.Loss))
		excess.add(mass * -math.Expm1(-a.Loss))
		gain := first.sum()*(1+u) - 1
		if gain <= 0 {
			continue
		}
		eps := math.Log(gain/(second.sum()*(1-u))) + ref
		if eps < 0.5 && ref < 300 {
			if e := excess.sum()*(1+u) - 1; e > 0 {
				eps = math.Log1p(e / (second.sum() * math.Exp(-ref) * (1 - u)))
			} else {
				eps = 0
			}
		}
		best = math.Max(best, eps)
	}
	return best * (1 + 4e-15)
}

type compensated struct{ s, c float64 }

func (k *compensated) add(x float64) {
	t := k.s + x
	if math.Abs(k.s) >= math.Abs(x) {
		k.c += (k.s - t) + x
	} else {
		k.c += (x - t) + k.s
	}
	k.s = t
}

func (k *compensated) scale(f float64) { k.s, k.c = k.s*f, k.c*f }

func (k *compensated) sum() float64 { return k.s + k.c }
