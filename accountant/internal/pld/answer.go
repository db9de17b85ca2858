package pld

import (
	"context"
	"errors"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// A Composer bounds the epsilon and the delta of a Sum. It caches slow intermediate results. Concurrent use
// is not safe.
type Composer struct {
	Gap       float64 // wanted width of an epsilon interval
	MaxMemory int64   // memory limit of one query, in bytes
	MaxWork   int     // points that one query may transform or place; 0 for no limit

	allocations map[Pair]*allocation
}

// Interval contains an epsilon or a delta.
type Interval struct {
	Lower, Upper float64
	Reached      bool // the interval is as narrow as requested
	Points       int  // length of the longest window convolved; 0 for a closed form
}

// Target describes the epsilon interval to compute.
type Target struct {
	DeltaUp   float64 // delta of the upper end, above 0
	DeltaLow  float64 // delta of the lower end, above 0
	Gap       float64 // wanted width
	OnlyLower bool    // the upper end is not needed
	OnlyUpper bool    // the lower end is not needed; 0 is enough

	enough float64 // an upper end of at most enough ends the search; 0 for none
}

// Epsilon bounds the epsilon of the sum s. This epsilon is the maximum over the directions (P, Q) and (Q, P).
func (m *Composer) Epsilon(ctx context.Context, s *Sum, to Target) (Interval, error) {
	switch {
	case math.IsInf(s.mu2, 1): // noise too small for a float64
		return Interval{Upper: math.Inf(1)}, nil
	case s.variation() <= math.Min(to.DeltaUp, to.DeltaLow), len(s.pairs.Keys) == 0 && s.mu2 == 0:
		return Interval{Reached: true}, nil
	case len(s.pairs.Keys) == 0:
		return gaussianInterval(s.mu2, to.DeltaUp, to.DeltaLow), nil
	}
	v, err := m.oneOrder(ctx, s, false, to)
	if err != nil || !s.Asymmetric() {
		return v, err
	}
	if s.Pure(true)*(1+0x1p-48) <= v.Upper {
		return v, nil
	}
	to.enough = v.Upper
	w, err := m.oneOrder(ctx, s, true, to)
	if err != nil {
		return Interval{}, err
	}
	return Interval{math.Max(v.Lower, w.Lower), math.Max(v.Upper, w.Upper), v.Reached && w.Reached, max(v.Points, w.Points)}, nil
}

// slack exceeds the relative error of mathx.GaussianEpsilon.
const slack = 2e-12

func gaussianInterval(mu2, deltaUp, deltaLow float64) Interval {
	sigma := 1 / math.Sqrt(mu2)
	up := mathx.GaussianEpsilon(sigma, deltaUp)
	low := up
	if deltaLow != deltaUp {
		low = mathx.GaussianEpsilon(sigma, deltaLow)
	}
	v := Interval{Lower: low * (1 - slack), Upper: up, Reached: true}
	if up > 0 {
		v.Upper = mathx.Up(up * (1 + slack))
	}
	return v
}

const maxRounds = 8

func (q *query) firstBudget() float64 {
	switch {
	case q.steep >= 0.5:
		return 0.8
	case q.dense():
		return 0.6
	}
	return 0.7
}

func (m *Composer) oneOrder(ctx context.Context, s *Sum, reverse bool, to Target) (Interval, error) {
	parts, err := m.components(ctx, s, reverse)
	if err != nil {
		return Interval{}, err
	}
	q := &query{parts: parts, reverse: reverse, tilted: to.OnlyLower}
	if law := q.enumerate(); law != nil && math.Min(to.DeltaUp, to.DeltaLow) > 1e-280 {
		return enumeratedEpsilon(law, to.DeltaUp, to.DeltaLow), nil
	}
	q.aimDelta(mathx.Log(to.DeltaUp), to.Gap)
	c := m.newConvolver(ctx)
	if !q.tilted && q.steep > 0 && q.foreseen(q.firstBudget()*q.width(to.Gap, math.Inf(1))) > float64(c.maxLength) {
		q.tilted = true // memory limits the grids
		q.aimDelta(mathx.Log(to.DeltaUp), to.Gap)
	}
	for i := range q.parts {
		if a := q.parts[i].atoms; a != nil {
			c.work += len(a.logp)
		}
	}
	best := Interval{Upper: math.Inf(1)}
	budget := q.firstBudget() * q.width(to.Gap, best.Upper)
	if to.enough > 0 { // often a coarse upper bound is enough
		budgets := []float64{8 * budget}
		if far := (to.enough - q.aimed) / 2; q.steep > 0 && far > 8*budget {
			budgets = []float64{far, 8 * budget}
		}
		for _, coarse := range budgets {
			t, err := q.fit(c, &coarse, true)
			if err != nil {
				return Interval{}, err
			}
			if best.Points = c.largest; t != nil {
				best.Upper = math.Min(best.Upper, t.epsilon(to.DeltaUp))
			}
			if best.Upper <= to.enough {
				best.Reached = true
				return best, nil
			}
		}
	}
	last := math.Inf(1)
	for range maxRounds {
		before := budget
		var up, low *profile
		var err error
		switch {
		case to.OnlyLower:
			low, err = q.fit(c, &budget, false)
		case to.OnlyUpper:
			up, err = q.fit(c, &budget, true)
		default:
			up, low, err = q.sides(c, &budget)
		}
		if err != nil {
			return Interval{}, err
		}
		if up != nil {
			best.Upper = math.Min(best.Upper, up.epsilon(to.DeltaUp))
		}
		if low != nil {
			best.Lower = math.Max(best.Lower, low.epsilon(to.DeltaLow))
		}
		best.Points = c.largest
		width := best.Upper - best.Lower
		aim := q.width(to.Gap, best.Upper)
		if to.OnlyLower || to.OnlyUpper || width <= aim || budget > before || q.sparse() && width <= to.Gap && width > 0.95*last {
			break
		}
		last = width
		shrink, used := 0.25, q.used
		if !math.IsInf(width, 1) {
			shrink = math.Min(0.7, math.Max(0.02, 0.8*aim/width))
			if width > 2*aim && q.steep > 0 { // the width was not as predicted
				q.tilted, q.steep = true, 0
			}
			if width > best.Upper/10 { // aim near the result
				q.aim(best.Upper, mathx.Log(to.DeltaUp), to.Gap)
			}
		}
		budget *= shrink * used
	}
	best.Reached = best.Upper-best.Lower <= to.Gap
	return best, nil
}

func (q *query) width(gap, upper float64) float64 {
	aim := math.Min(gap, q.scale(upper)/100)
	if q.splits() { // a finer grid costs next to nothing
		aim /= 2
	}
	return aim
}

func (q *query) scale(most float64) float64 {
	scale := math.Max(q.center, q.spread)
	if q.sparse() {
		scale = math.Max(scale, math.Min(q.aimed, most))
	}
	return scale
}

// fit composes the pairs on grids of privacy losses. Rounding to the grids widens the interval for epsilon by
// about *budget. If the convolution is too long or too imprecise, fit doubles *budget and tries again. If fit
// finds no bound, it returns nil.
func (q *query) fit(c *convolver, budget *float64, up bool) (*profile, error) {
	for range 60 {
		t, err := q.compose(c, *budget, up)
		switch {
		case err == nil && t.sound():
			return newProfile(t, q.lambda, up), nil
		case err == nil, errors.Is(err, errTooCoarse):
			return nil, nil
		case !errors.Is(err, errTooLong) && !errors.Is(err, errRounding):
			return nil, err
		}
		*budget *= 2
	}
	return nil, nil
}

// Delta bounds the delta of the sum at the given epsilon, for the worse of the directions (P, Q) and (Q, P).
func (m *Composer) Delta(ctx context.Context, s *Sum, epsilon float64) (Interval, error) {
	if len(s.pairs.Keys) == 0 {
		return gaussianDelta(s.mu2, epsilon), nil
	}
	if math.IsInf(s.mu2, 1) {
		return Interval{Upper: 1}, nil
	}
	var out Interval
	orders := []bool{false}
	if s.Asymmetric() {
		orders = append(orders, true)
	}
	for _, reverse := range orders {
		if epsilon >= s.Pure(reverse)*(1+0x1p-48) {
			continue
		}
		parts, err := m.components(ctx, s, reverse)
		if err != nil {
			return Interval{}, err
		}
		q := &query{parts: parts, reverse: reverse}
		if law := q.enumerate(); law != nil {
			l, u := enumeratedDelta(law, epsilon)
			out.widen(l, u, len(law))
			continue
		}
		q.aimEpsilon(epsilon, m.Gap)
		c := m.newConvolver(ctx)
		budget := q.firstBudget() * math.Min(m.Gap, q.scale(epsilon)/100)
		if out.Lower > 0 { // often a coarse upper bound shows that this direction is smaller
			coarse := 8 * budget
			up, err := q.fit(c, &coarse, true)
			if err != nil {
				return Interval{}, err
			}
			if up != nil && up.delta(epsilon) <= out.Lower {
				continue
			}
			if up == nil || up.delta(epsilon) > 2*out.Lower {
				// If few losses reach epsilon, a tilt towards epsilon gives a useless bound. Instead bound
				// the epsilon at which this direction has the delta of the other direction.
				to := Target{DeltaUp: out.Lower, DeltaLow: out.Lower, Gap: m.Gap, enough: epsilon}
				switch found, err := m.oneOrder(ctx, s, reverse, to); {
				case err != nil:
					return Interval{}, err
				case found.Upper <= epsilon:
					continue
				}
			}
		}
		l, u := 0.0, 1.0
		for range maxRounds {
			before := budget
			up, low, err := q.sides(c, &budget)
			if err != nil {
				return Interval{}, err
			}
			if up != nil {
				u = math.Min(u, up.delta(epsilon))
			}
			if low != nil {
				l = math.Max(l, low.delta(epsilon))
			}
			aim := m.Gap * math.Max(1, q.lambda)
			width := math.Log(u / l)
			if up == nil || low == nil || budget > before || u < 1e-300 || width <= aim {
				break
			}
			budget *= math.Min(0.7, math.Max(0.02, 0.8*aim/width))
		}
		out.widen(l, u, c.largest)
	}
	return out, nil
}

func gaussianDelta(mu2, epsilon float64) Interval {
	if mu2 == 0 || math.IsInf(mu2, 1) {
		return Interval{Upper: math.Min(1, mu2)}
	}
	d := math.Exp(mathx.LogGaussianDelta(1/math.Sqrt(mu2), epsilon))
	// A relative error of epsilon of at most slack changes log d by less than wide.
	wide := 1e-11 * (1 - math.Log(math.Max(d, 1e-320)))
	return Interval{Lower: d * (1 - wide), Upper: math.Min(1, mathx.Up(d*(1+wide)))}
}

func (v *Interval) widen(lower, upper float64, points int) {
	v.Lower, v.Upper, v.Points = math.Max(v.Lower, lower), math.Max(v.Upper, upper), max(v.Points, points)
}

func (m *Composer) newConvolver(ctx context.Context) *convolver {
	return &convolver{ctx: ctx, maxLength: m.maxPoints(), maxWork: m.MaxWork}
}

func (m *Composer) maxPoints() int { return int(m.MaxMemory / bytesPerPoint) }

const bytesPerPoint = 160
