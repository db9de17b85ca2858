package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// profile is delta as a function of epsilon, on one side.
type profile struct {
	t      *tilted
	lambda float64
	up     bool
	// With x the distance above point k: excess[k] is the tilted mean of e^{-lambda x} (1 - e^-x), rest[k]
	// the mean of e^{-(lambda+1) x}, over x >= 0.
	excess, rest []float64
	weight       float64 // max over x > 0 of w(x) = e^{-lambda x} (1 - e^-x)
	spread       float64 // bounds sqrt(h sum of w(x)^2) on the lattice and all finer ones
}

func newProfile(t *tilted, lambda float64, up bool) *profile {
	n := len(t.p)
	p := &profile{t: t, lambda: lambda, up: up, excess: make([]float64, n), rest: make([]float64, n)}
	down, step, decay := math.Exp(-lambda*t.h), -math.Expm1(-t.h), math.Exp(-(lambda+1)*t.h)
	e, r := 0.0, 0.0
	for k := n - 1; k >= 0; k-- { // no cancellation: all terms are positive
		e = down * (e + step*r)
		r = t.p[k] + decay*r
		p.excess[k], p.rest[k] = e, r
	}
	p.weight = 1
	if lambda > 0 {
		p.weight = math.Exp(-lambda*math.Log1p(1/lambda)) / (1 + lambda)
	}
	// The integral of w^2 is 1/(2 l (l+1) (2l+1)); a sum over a lattice of step h exceeds it over h by the
	// maximum at most, as w has one peak.
	square := 2 * t.h * float64(n)
	if lambda > 0 {
		square = math.Min(square, 1/(2*lambda*(lambda+1)*(2*lambda+1)))
	}
	p.spread = math.Sqrt(square + t.h*p.weight*p.weight)
	return p
}

// delta bounds delta at epsilon from the profile's side, all errors included: errors of the law's masses
// weigh at most weight each, or spread for noise, errors of its losses move epsilon, mass at infinity
// counts in full.
func (p *profile) delta(eps float64) float64 {
	t := p.t
	if p.up {
		eps -= t.lossError
	} else {
		eps += t.lossError
	}
	last := len(t.p) - 1
	body := 0.0
	if eps < t.loss(last) {
		k := int(math.Floor((eps - t.loss(0)) / t.h))
		switch {
		case k < 0:
			a := t.loss(0)
			body = (p.excess[0] - p.rest[0]*math.Expm1(eps-a)) * math.Exp(t.logM-p.lambda*a)
		case k >= last:
			// rounding put eps past the last point
		default: // linear in e^eps between points
			a := t.loss(k)
			w := math.Min(math.Max(math.Expm1(eps-a)/math.Expm1(t.h), 0), 1)
			body = (p.excess[k]*(1-w) + p.excess[k+1]*math.Exp(-p.lambda*t.h)*w) * math.Exp(t.logM-p.lambda*a)
		}
	}
	rounding := 0x1p-49 * (16 + float64(last)/64 + math.Abs(t.logM) + p.lambda*math.Abs(eps))
	fault := (t.err*p.weight + t.noise*p.spread) * math.Exp(t.logM-p.lambda*eps)
	if p.up {
		d := body*(1+rounding) + fault*(1+rounding) + t.inf
		if math.IsNaN(d) {
			return 1
		}
		return math.Min(1, mathx.Up(d))
	}
	d := body*(1-rounding) - fault*(1+rounding)
	if !(d > 0) {
		return 0
	}
	return math.Min(1, d)
}

// epsilon bounds, from the profile's side, the least epsilon >= 0 whose delta is at most the given one:
// above by an epsilon at which the upper delta is, below by one at which the lower delta is not.
func (p *profile) epsilon(delta float64) float64 {
	if p.up && p.delta(0) <= delta {
		return 0
	}
	// Away from the tilted mean the faults outgrow delta on the left, so the search starts on the right.
	hi := math.Max(1e-300, p.t.loss(len(p.t.p)-1)+2*p.t.lossError)
	for try := 0; p.delta(hi) > delta; try++ {
		if try == 60 {
			if p.up {
				return math.Inf(1)
			}
			return hi
		}
		hi *= 2
	}
	lo := hi
	for step := hi / 1024; p.delta(lo) <= delta; step *= 1.1 {
		if lo == 0 {
			return 0
		}
		hi = lo
		lo = math.Max(0, lo-step)
	}
	for hi-lo > 1e-14*hi {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if p.delta(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	if p.up {
		return hi
	}
	return lo
}
