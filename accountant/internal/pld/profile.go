package pld

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/pate-go/pate/internal/mathx"
)

type profile struct {
	t      *tilted
	lambda float64
	up     bool
	// Let x be the distance of a loss above point k. excess[k] is the tilted mean of e^{-lambda x} (1 - e^-x)
	// over x >= 0. rest[k] is the tilted mean of e^{-(lambda+1) x} over x >= 0.
	excess, rest []float64
	weight       float64 // max over x > 0 of w(x) = e^{-lambda x} (1 - e^-x)
	spread       float64 // bounds sqrt(h sum of w(x)^2) on the lattice and all finer lattices
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
	// The integral of w^2 is 1/(2 l (l+1) (2l+1)). w has one peak. So a sum over a lattice of step h exceeds
	// the integral divided by h by at most the maximum.
	square := 2 * t.h * float64(n)
	if lambda > 0 {
		square = math.Min(square, 1/(2*lambda*(lambda+1)*(2*lambda+1)))
	}
	p.spread = math.Sqrt(square + t.h*p.weight*p.weight)
	return p
}

// delta returns an upper bound on delta at epsilon eps if p.up, and otherwise a lower bound. The bound
// includes all errors.
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
			// rounding moved eps past the last point
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

func (p *profile) epsilon(delta float64) float64 {
	// At the result, delta is small enough for an upper profile, and too large for a lower profile (unless
	// the result is 0).
	if p.up && p.delta(0) <= delta {
		return 0
	}
	// At small epsilons the numerical errors may exceed delta. So the search starts at large epsilons.
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

const (
	curveGap  = 2e-5  // gap of the grids
	curveTail = 1e-10 // mass that windows and truncated losses may leave outside
)

// Curve returns the delta of a sum as a function of epsilon >= 0, for one direction of the pairs. Curve
// computes one distribution, without tilt, for all epsilon. So the absolute error of delta is small, but the
// relative error may be large.
func (m *Composer) Curve(ctx context.Context, s *Sum, reverse bool) (func(epsilon float64) Interval, error) {
	switch {
	case s.reveals:
		return func(float64) Interval { return Interval{Lower: 1, Upper: 1} }, nil
	case math.IsInf(s.mu2, 1):
		return func(float64) Interval { return Interval{Upper: 1} }, nil
	case len(s.pairs.Keys) == 0:
		return func(epsilon float64) Interval { return gaussianDelta(s.mu2, epsilon) }, nil
	}
	parts, err := m.components(ctx, s, reverse)
	if err != nil {
		return nil, err
	}
	q := &query{parts: parts, reverse: reverse}
	if law := q.enumerate(); law != nil {
		return func(epsilon float64) Interval {
			lower, upper := enumeratedDelta(law, epsilon)
			return Interval{Lower: lower, Upper: upper}
		}, nil
	}
	q.truncate(math.Log(curveTail))
	q.set(0)
	q.accuracy = curveTail
	c := m.newConvolver(ctx)
	var ends [2]*profile
	for i, up := range []bool{false, true} {
		budget := curveGap
		if ends[i], err = q.fit(c, &budget, up); err != nil {
			return nil, err
		}
	}
	return func(epsilon float64) Interval {
		v := Interval{Upper: 1}
		if ends[0] != nil {
			v.Lower = ends[0].delta(epsilon)
		}
		if ends[1] != nil {
			v.Upper = ends[1].delta(epsilon)
		}
		return v
	}, nil
}

func (q *query) sides(c *convolver, budget *float64) (up, low *profile, err error) {
	half := c.maxLength / 2
	if q.foreseen(*budget) <= 0.7*float64(half) && !q.allocates() {
		below := *q
		below.parts = slices.Clone(q.parts) // a plan modifies them
		a, b := c.fork(half), c.fork(half)
		var lower *tilted
		var errLow error
		var wait sync.WaitGroup
		wait.Go(func() { lower, errLow = below.compose(b, *budget, false) })
		upper, errUp := q.compose(a, *budget, true)
		wait.Wait()
		if errUp == nil && errLow == nil && upper.sound() && lower.sound() {
			c.largest = max(c.largest, a.largest, b.largest)
			err := c.spend(a.work + b.work)
			return newProfile(upper, q.lambda, true), newProfile(lower, q.lambda, false), err
		}
	}
	if up, err = q.fit(c, budget, true); err != nil {
		return nil, nil, err
	}
	low, err = q.fit(c, budget, false)
	return up, low, err
}

func (q *query) foreseen(budget float64) float64 {
	top, stages := q.plan(budget)
	most := 20 * q.spread / top // the last is about twenty standard deviations wide
	for i, s := range stages {
		if loss := q.parts[i].roughLaw.loss; len(s) > 0 && q.parts[i].atoms == nil {
			least, largest := loss[0], loss[len(loss)-1]
			most = math.Max(most, (largest+math.Min(largest, -least))/s[0].h)
		}
	}
	return most
}

func (q *query) allocates() bool {
	return slices.ContainsFunc(q.parts, func(c component) bool { return c.spread != nil })
}

func (c *convolver) fork(most int) *convolver {
	f := *c
	f.maxLength, f.work = most, 0
	if c.maxWork > 0 {
		f.maxWork = max(1, c.maxWork-c.work)
	}
	return &f
}
