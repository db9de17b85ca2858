package accountant

import (
	"context"
	"errors"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

func (p *PLD) epsilon(ctx context.Context, delta float64) (PLDBound, error) {
	failure, sure := p.terms.failure(), p.certainFailure()
	b := PLDBound{Bound: Bound{FailureDelta: failure}, GapReached: true}
	above, below := p.schedules()
	inf := math.Inf(1)
	if above.nonPrivate {
		b.Lower, b.Upper, b.Floor = inf, inf, inf
		return b, nil
	}
	left := delta // for the body, above
	if failure > 0 {
		left = mathx.Down(delta - failure)
	}
	least := delta // for the body, below: 1-(1-d)(1-sure) > delta
	if sure > 0 {
		least = mathx.Up((delta - sure) / (1 - sure))
	}
	if least < 0 {
		b.Lower, b.Upper, b.Floor = inf, inf, inf
		return b, nil
	}
	pure := above.pure(false) * (1 + 0x1p-50)
	switch {
	case left < 0 && failure > 0 || left == 0 && math.IsInf(pure, 1):
		b.Upper = inf
	case left == 0:
		b.Upper = mathx.Up(pure)
	}
	if left <= 0 {
		if least == 0 {
			b.Lower, b.Floor = below[0].pure(false)*(1-0x1p-50), above.pure(false)*(1-0x1p-50)
		}
		return b, nil
	}
	v, err := p.interval(ctx, above, target{deltaUp: left, deltaLow: least, gap: p.cfg.Gap, onlyUpper: p.onlyUpper})
	if err != nil {
		return PLDBound{}, err
	}
	b.Floor, b.Upper, b.GapReached, b.Points = v.lower, math.Min(v.upper, mathx.Up(pure)), v.reached, v.points
	b.Lower = b.Floor
	switch {
	case below[0] == above:
	case p.upper, p.onlyUpper:
		b.Lower = 0
	default:
		b.Lower = 0
		for _, s := range below {
			s.logDelta = mathx.Log(least)
			w, err := p.interval(ctx, s, target{deltaUp: least, deltaLow: least, gap: 8 * p.cfg.Gap, onlyLower: true})
			if err != nil {
				return PLDBound{}, err
			}
			b.Lower = math.Max(b.Lower, w.lower)
		}
		b.Floor = math.Max(b.Floor, b.Lower) // the dominating pairs cost no less
	}
	// Rényi divergences bound it too, and win where nothing finer could be
	// certified, or an event has a curve that its pair does not imply.
	if r, err := p.rdp(); err == nil {
		if rb, err := r.Epsilon(delta); err == nil {
			b.Upper = math.Min(b.Upper, rb.Upper)
		}
	}
	b.Floor = math.Min(b.Floor, b.Upper)
	b.Lower = math.Min(b.Lower, b.Upper)
	b.GapReached = b.Upper-b.Floor <= p.cfg.Gap
	return b, nil
}

// rdp returns the same run accounted by RDP, also a valid upper bound.
func (p *PLD) rdp() (*RDP, error) {
	r, err := NewRDP(Config{Relation: p.cfg.Relation})
	if err != nil {
		return nil, err
	}
	r.terms = p.terms // read only
	return r, nil
}

func (p *PLD) delta(ctx context.Context, epsilon float64) (PLDBound, error) {
	failure, sure := p.terms.failure(), p.certainFailure()
	b := PLDBound{Bound: Bound{FailureDelta: failure}, GapReached: true}
	above, below := p.schedules()
	if above.nonPrivate {
		b.Lower, b.Upper, b.Floor = 1, 1, 1
		return b, nil
	}
	lower, upper, points, err := p.bodyDelta(ctx, above, epsilon)
	if err != nil {
		return PLDBound{}, err
	}
	b.Points = points
	b.Floor = sure + (1-sure)*lower
	b.Lower = b.Floor
	if below[0] != above {
		b.Lower = sure
		for _, s := range below {
			s.logDelta = mathx.Log(upper)
			low, _, _, err := p.bodyDelta(ctx, s, epsilon)
			if err != nil {
				return PLDBound{}, err
			}
			b.Lower = math.Max(b.Lower, sure+(1-sure)*low)
		}
		b.Floor = math.Max(b.Floor, b.Lower)
	}
	b.Upper = upper
	if failure > 0 {
		b.Upper = math.Min(1, mathx.Up(upper+failure))
	}
	if r, err := p.rdp(); err == nil {
		if rb, err := r.Delta(epsilon); err == nil {
			b.Upper = math.Min(b.Upper, rb.Upper)
		}
	}
	b.Floor = math.Min(b.Floor, b.Upper)
	b.Lower = math.Min(b.Lower, b.Upper)
	return b, nil
}

// epsilonInterval is a bracket of an epsilon.
type epsilonInterval struct {
	lower, upper float64
	reached      bool
	points       int
}

// target says what interval has to find.
type target struct {
	deltaUp   float64 // delta of the upper end, above 0
	deltaLow  float64 // delta of the lower end, above 0
	gap       float64 // wanted width
	onlyLower bool    // the upper end is of no interest
	onlyUpper bool    // the lower end is of no interest: 0 will do
	enough    float64 // an upper end of at most this settles it, however wide; 0 if none does
}

// interval bounds the epsilon of a schedule in both orders of its pairs.
func (p *PLD) interval(ctx context.Context, s *schedule, to target) (epsilonInterval, error) {
	if math.IsInf(s.mu2, 1) { // noise too small for a float64
		return epsilonInterval{upper: math.Inf(1)}, nil
	}
	if len(s.pairs.Keys) == 0 {
		if s.mu2 == 0 {
			return epsilonInterval{reached: true}, nil
		}
		return gaussianInterval(s.mu2, to.deltaUp, to.deltaLow)
	}
	v, err := p.oneOrder(ctx, s, false, to)
	if err != nil || !s.asymmetric() {
		return v, err
	}
	if s.pure(true)*(1+0x1p-48) <= v.upper {
		return v, nil
	}
	to.enough = v.upper
	w, err := p.oneOrder(ctx, s, true, to)
	if err != nil {
		return epsilonInterval{}, err
	}
	return epsilonInterval{math.Max(v.lower, w.lower), math.Max(v.upper, w.upper), v.reached && w.reached, max(v.points, w.points)}, nil
}

// gaussianInterval returns the closed form (Balle, Wang 2018), good to slack.
func gaussianInterval(mu2, deltaUp, deltaLow float64) (epsilonInterval, error) {
	sigma := 1 / math.Sqrt(mu2)
	up, err := GaussianEpsilon(sigma, deltaUp)
	if err != nil {
		return epsilonInterval{}, err
	}
	low := up
	if deltaLow != deltaUp {
		if low, err = GaussianEpsilon(sigma, deltaLow); err != nil {
			return epsilonInterval{}, err
		}
	}
	v := epsilonInterval{lower: low * (1 - slack), upper: up, reached: true}
	if up > 0 {
		v.upper = mathx.Up(up * (1 + slack))
	}
	return v, nil
}

// maxRounds bounds how often grids are refined for one answer.
const maxRounds = 8

// firstBudget returns what share of the wanted width the first grids are meant to use up. What
// they cost is foreseen to a tenth or so where the sum is nearly normal and tails and rounding do
// not count as well, else to a factor of about 1.5.
func (q *query) firstBudget() float64 {
	switch {
	case q.steep >= 0.5:
		return 0.8
	case q.dense():
		return 0.6
	}
	return 0.7
}

// oneOrder bounds the epsilon of a schedule for one order of the pairs.
func (p *PLD) oneOrder(ctx context.Context, s *schedule, reverse bool, to target) (epsilonInterval, error) {
	parts, err := s.components(ctx, reverse)
	if err != nil {
		return epsilonInterval{}, err
	}
	q := &query{parts: parts, reverse: reverse, tilted: to.onlyLower}
	if law := q.enumerate(); law != nil && math.Min(to.deltaUp, to.deltaLow) > 1e-280 {
		return enumeratedEpsilon(law, to.deltaUp, to.deltaLow), nil
	}
	q.aimDelta(mathx.Log(to.deltaUp), to.gap)
	c := p.newConvolver(ctx)
	if !q.tilted && q.steep > 0 && q.foreseen(q.firstBudget()*q.width(to.gap, math.Inf(1))) > float64(c.maxLength)/2 {
		q.tilted = true // memory decides what grids there are
		q.aimDelta(mathx.Log(to.deltaUp), to.gap)
	}
	for i := range q.parts {
		if a := q.parts[i].atoms; a != nil {
			c.work += len(a.logp)
		}
	}
	best := epsilonInterval{upper: math.Inf(1)}
	aim := q.width(to.gap, best.upper)
	budget := q.firstBudget() * aim
	if to.enough > 0 { // often a coarse upper bound will do
		budgets := []float64{8 * budget}
		if far := (to.enough - q.aimed) / 2; q.steep > 0 && far > 8*budget {
			budgets = []float64{far, 8 * budget}
		}
		for _, coarse := range budgets {
			t, err := q.fit(c, &coarse, true)
			if err != nil {
				return epsilonInterval{}, err
			}
			best.upper, best.points = math.Min(best.upper, upperEpsilon(t, to.deltaUp)), c.largest
			if best.upper <= to.enough {
				best.reached = true
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
		case to.onlyLower:
			low, err = q.fit(c, &budget, false)
		case to.onlyUpper:
			up, err = q.fit(c, &budget, true)
		default:
			up, low, err = q.sides(c, &budget)
		}
		if err != nil {
			return epsilonInterval{}, err
		}
		if !to.onlyLower {
			best.upper = math.Min(best.upper, upperEpsilon(up, to.deltaUp))
		}
		capped = budget > before
		best.lower = math.Max(best.lower, lowerEpsilon(low, to.deltaLow))
		best.points = c.largest
		width := best.upper - best.lower
		aim = q.width(to.gap, best.upper)
		if to.onlyLower || to.onlyUpper || width <= aim || capped {
			break
		}
		shrink := 0.25
		if !math.IsInf(width, 1) {
			shrink = math.Min(0.7, math.Max(0.02, 0.8*aim/width))
			if width > 2*aim && q.steep > 0 { // it was not as foreseen
				q.tilted, q.steep = true, 0
			}
			if width > best.upper/10 { // aim where the answer is
				q.aim(best.upper, mathx.Log(to.deltaUp), to.gap)
			}
		}
		budget *= shrink
	}
	best.reached = best.upper-best.lower <= to.gap
	return best, nil
}

// width returns how wide an epsilon interval may be whose upper end is at most so large: the gap,
// or a hundredth of the answer if that is less.
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

// fit composes with the given budget, enlarging it until memory and rounding
// allow. It returns nil when nothing can be certified.
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

// bodyDelta bounds the delta of a schedule at epsilon.
func (p *PLD) bodyDelta(ctx context.Context, s *schedule, epsilon float64) (lower, upper float64, points int, err error) {
	if math.IsInf(s.mu2, 1) {
		return 0, 1, 0, nil
	}
	if len(s.pairs.Keys) == 0 {
		if s.mu2 == 0 {
			return 0, 0, 0, nil
		}
		d, err := GaussianDelta(1/math.Sqrt(s.mu2), epsilon)
		// An epsilon off by slack moves log delta by less than its own size.
		wide := 1e-11 * (1 - math.Log(math.Max(d, 1e-320)))
		return d * (1 - wide), math.Min(1, mathx.Up(d*(1+wide))), 0, err
	}
	orders := []bool{false}
	if s.asymmetric() {
		orders = append(orders, true)
	}
	for _, reverse := range orders {
		if epsilon >= s.pure(reverse)*(1+0x1p-48) {
			continue
		}
		parts, err := s.components(ctx, reverse)
		if err != nil {
			return 0, 0, 0, err
		}
		q := &query{parts: parts, reverse: reverse}
		if law := q.enumerate(); law != nil {
			l, u := enumeratedDelta(law, epsilon)
			lower, upper, points = math.Max(lower, l), math.Max(upper, u), max(points, len(law))
			continue
		}
		q.aimEpsilon(epsilon, p.cfg.Gap)
		c := p.newConvolver(ctx)
		budget := q.firstBudget() * math.Min(p.cfg.Gap, q.scale(epsilon)/100)
		if lower > 0 { // often a coarse upper bound shows that this order is the lesser
			coarse := 8 * budget
			up, err := q.fit(c, &coarse, true)
			if err != nil {
				return 0, 0, 0, err
			}
			if up != nil && up.delta(epsilon) <= lower {
				continue
			}
			if up == nil || up.delta(epsilon) > 2*lower {
				// Next to no loss of this order may be as large as epsilon, and a tilt that aims
				// there proves nothing. But one that aims at the delta of the other order may
				// prove that this order reaches it at less.
				to := target{deltaUp: lower, deltaLow: lower, gap: p.cfg.Gap, enough: epsilon}
				switch found, err := p.oneOrder(ctx, s, reverse, to); {
				case err != nil:
					return 0, 0, 0, err
				case found.upper <= epsilon:
					continue
				}
			}
		}
		l, u := 0.0, 1.0
		for range maxRounds {
			before := budget
			up, low, err := q.sides(c, &budget)
			if err != nil {
				return 0, 0, 0, err
			}
			if up != nil {
				u = math.Min(u, up.delta(epsilon))
			}
			if low != nil {
				l = math.Max(l, low.delta(epsilon))
			}
			aim := p.cfg.Gap * math.Max(1, q.lambda)
			width := math.Log(u / l)
			if up == nil || low == nil || budget > before || u < 1e-300 || width <= aim {
				break
			}
			budget *= math.Min(0.7, math.Max(0.02, 0.8*aim/width))
		}
		upper, lower = math.Max(upper, u), math.Max(lower, l)
		points = max(points, c.largest)
	}
	return lower, upper, points, nil
}

// newConvolver returns a convolver with the limits of the account.
func (p *PLD) newConvolver(ctx context.Context) *convolver {
	return &convolver{ctx: ctx, maxLength: p.maxPoints(), maxWork: p.maxWork}
}

// maxPoints returns how long a window may be.
func (p *PLD) maxPoints() int { return int(p.cfg.MaxMemory / bytesPerPoint) }

// bytesPerPoint is the memory of a convolution per point of its window, the
// laws before and after and cached roots of unity included.
const bytesPerPoint = 160
