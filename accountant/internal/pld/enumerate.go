package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

const (
	maxOutcomes  = 1 << 13 // of the whole composition
	maxOwnPoints = 1 << 8  // of one pair on its own lattice
	massError    = 1e-12   // relative error of an enumerated mass
)

func (q *query) enumerate() []mathx.LossAtom {
	total := 1.0
	for i := range q.parts {
		a, n := q.parts[i].atoms, float64(q.parts[i].count)
		if a == nil || !math.IsInf(a.logBeyond, -1) {
			return nil
		}
		own := float64(len(a.logp)-1)*n + 1
		if total *= own; own > maxOwnPoints || total > maxOutcomes {
			return nil
		}
	}
	all := []mathx.LossAtom{{}}
	for i := range q.parts {
		a, n := q.parts[i].atoms, q.parts[i].count
		next := make([]mathx.LossAtom, 0, maxOutcomes)
		for k, logMass := range logPower(a.logp, n) {
			if math.IsInf(logMass, -1) {
				continue
			}
			loss := a.off*float64(n) + a.h*float64(k)
			for _, x := range all {
				next = append(next, mathx.LossAtom{Loss: x.Loss + loss, LogMass: x.LogMass + logMass})
			}
		}
		all = next
	}
	return all
}

func logPower(p []float64, n int64) []float64 {
	out := []float64{0}
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			out = logConvolve(out, p)
		}
		if n > 1 {
			p = logConvolve(p, p)
		}
	}
	return out
}

func logConvolve(p, q []float64) []float64 {
	out := make([]float64, len(p)+len(q)-1)
	for i := range out {
		out[i] = math.Inf(-1)
	}
	for i, a := range p {
		for j, b := range q {
			out[i+j] = mathx.LogAddExp(out[i+j], a+b)
		}
	}
	return out
}

func enumeratedEpsilon(law []mathx.LossAtom, deltaUp, deltaLow float64) Interval {
	v := Interval{Reached: true, Points: len(law)}
	shifted := func(by float64) []mathx.LossAtom {
		out := make([]mathx.LossAtom, len(law))
		for i, a := range law {
			out[i] = mathx.LossAtom{Loss: a.Loss, LogMass: a.LogMass + by}
		}
		return out
	}
	slack := lossSlack(law)
	if up := mathx.EpsilonOfLaw(shifted(massError), deltaUp); up > 0 {
		v.Upper = mathx.Up(up + slack)
	}
	v.Lower = math.Max(0, mathx.EpsilonOfLaw(shifted(-massError), deltaLow)*(1-1e-12)-slack)
	return v
}

func lossSlack(law []mathx.LossAtom) float64 {
	most := 0.0
	for _, a := range law {
		most = math.Max(most, math.Abs(a.Loss))
	}
	return 1e-14 * most
}

func enumeratedDelta(law []mathx.LossAtom, epsilon float64) (lower, upper float64) {
	slack := lossSlack(law)
	for _, a := range law {
		mass := math.Exp(a.LogMass)
		if x := a.Loss + slack - epsilon; x > 0 {
			upper += mass * -math.Expm1(-x)
		}
		if x := a.Loss - slack - epsilon; x > 0 {
			lower += mass * -math.Expm1(-x)
		}
	}
	return lower * (1 - 2*massError), math.Min(1, mathx.Up(upper*(1+2*massError)))
}
