package pld

import (
	"context"
	"errors"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// A Composer answers about sums of pairs. It keeps laws that take long for the next question, and is not
// safe for concurrent use.
type Composer struct {
	Gap       float64 // wanted width of an epsilon interval
	MaxMemory int64   // bytes one answer may take
	MaxWork   int     // points that one answer may transform or place; 0 for any number

	allocations map[Pair]*allocation
}

// Interval brackets an epsilon or a delta.
type Interval struct {
	Lower, Upper float64
	Reached      bool // it is as narrow as it was asked for
	Points       int  // of the longest window convolved, 0 for a closed form
}

// Target is the interval of epsilon to be found.
type Target struct {
	DeltaUp   float64 // delta of the upper end, above 0
	DeltaLow  float64 // delta of the lower end, above 0
	Gap       float64 // wanted width
	OnlyLower bool    // the upper end is of no interest
	OnlyUpper bool    // the lower end is of no interest: 0 will do

	enough float64 // an upper end of at most this settles it, however wide; 0 if none does
}

// Epsilon bounds the epsilon of a sum in both orders of its pairs.
func (m *Composer) Epsilon(ctx context.Context, s *Sum, to Target) (Interval, error) {
	if math.IsInf(s.mu2, 1) { // noise too small for a float64
		return Interval{Upper: math.Inf(1)}, nil
	}
	if len(s.pairs.Keys) == 0 {
		if s.mu2 == 0 {
			return Interval{Reached: true}, nil
		}
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

// slack is more than the closed form of Gaussian noise is off by, relatively.
const slack = 2e-12

// gaussianInterval returns the closed form (Balle, Wang 2018), good to slack.
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

// maxRounds bounds how often grids are refined for one answer.
const maxRounds = 8

// firstBudget returns what share of the wanted width the first grids are meant to use up. What they cost is
// foreseen to a tenth or so where the sum is nearly normal and tails and rounding do not count as well,
// else to a factor of about 1.5.
func (q *query) firstBudget() float64 {
	switch {
	case q.steep >= 0.5:
		return 0.8
	case q.dense():
		return 0.6
	}
	return 0.7
}

// oneOrder bounds the epsilon of a sum for one order of the pairs.
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
	if !q.tilted && q.steep > 0 && q.foreseen(q.firstBudget()*q.width(to.Gap, math.Inf(1))) > float64(c.maxLength)/2 {
		q.tilted = true // memory decides what grids there are
		q.aimDelta(mathx.Log(to.DeltaUp), to.Gap)
	}
	for i := range q.parts {
		if a := q.parts[i].atoms; a != nil {
			c.work += len(a.logp)
		}
	}
	best := Interval{Upper: math.Inf(1)}
	aim := q.width(to.Gap, best.Upper)
	budget := q.firstBudget() * aim
	if to.enough > 0 { // often a coarse upper bound will do
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
	capped := false
	for round := 0; round < maxRounds; round++ {
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
		capped = budget > before
		best.Points = c.largest
		width := best.Upper - best.Lower
		aim = q.width(to.Gap, best.Upper)
		if to.OnlyLower || to.OnlyUpper || width <= aim || capped {
			break
		}
		shrink := 0.25
		if !math.IsInf(width, 1) {
			shrink = math.Min(0.7, math.Max(0.02, 0.8*aim/width))
			if width > 2*aim && q.steep > 0 { // it was not as foreseen
				q.tilted, q.steep = true, 0
			}
			if width > best.Upper/10 { // aim where the answer is
				q.aim(best.Upper, mathx.Log(to.DeltaUp), to.Gap)
			}
		}
		budget *= shrink
	}
	best.Reached = best.Upper-best.Lower <= to.Gap
	return best, nil
}

// width returns how wide an epsilon interval may be whose upper end is at most so large: the gap, or a
// hundredth of the answer if that is less.
func (q *query) width(gap, upper float64) float64 {
	aim := math.Min(gap, q.scale(upper)/100)
	if q.splits() { // a finer grid costs next to nothing
		aim /= 2
	}
	return aim
}

// scale returns about how large the answer is, given that it is at most so large.
func (q *query) scale(most float64) float64 {
	scale := math.Max(q.center, q.spread)
	if q.sparse() {
		scale = math.Max(scale, math.Min(q.aimed, most))
	}
	return scale
}

// fit composes with the given budget, enlarging it until memory and rounding allow. It returns nil when
// nothing can be certified.
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

// Delta bounds the delta of a sum at epsilon.
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
		if out.Lower > 0 { // often a coarse upper bound shows that this order is the lesser
			coarse := 8 * budget
			up, err := q.fit(c, &coarse, true)
			if err != nil {
				return Interval{}, err
			}
			if up != nil && up.delta(epsilon) <= out.Lower {
				continue
			}
			if up == nil || up.delta(epsilon) > 2*out.Lower {
				// Next to no loss of this order may be as large as epsilon, and a tilt that aims there
				// proves nothing. But one that aims at the delta of the other order may prove that this
				// order reaches it at less.
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

// gaussianDelta returns the closed form.
func gaussianDelta(mu2, epsilon float64) Interval {
	if mu2 == 0 || math.IsInf(mu2, 1) {
		return Interval{Upper: math.Min(1, mu2)}
	}
	d := math.Exp(mathx.LogGaussianDelta(1/math.Sqrt(mu2), epsilon))
	// An epsilon off by slack moves log delta by less than its own size.
	wide := 1e-11 * (1 - math.Log(math.Max(d, 1e-320)))
	return Interval{Lower: d * (1 - wide), Upper: math.Min(1, mathx.Up(d*(1+wide)))}
}

// widen takes in the bounds of the other order.
func (v *Interval) widen(lower, upper float64, points int) {
	v.Lower, v.Upper, v.Points = math.Max(v.Lower, lower), math.Max(v.Upper, upper), max(v.Points, points)
}

// newConvolver returns a convolver with the limits of the account.
func (m *Composer) newConvolver(ctx context.Context) *convolver {
	return &convolver{ctx: ctx, maxLength: m.maxPoints(), maxWork: m.MaxWork}
}

// maxPoints returns how long a window may be.
func (m *Composer) maxPoints() int { return int(m.MaxMemory / bytesPerPoint) }

// bytesPerPoint is the memory of a convolution per point of its window, the laws before and after and
// cached roots of unity included.
const bytesPerPoint = 160
