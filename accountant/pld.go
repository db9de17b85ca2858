package accountant

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// PLDConfig fixes what a PLD account is about, once and for all.
type PLDConfig struct {
	Relation  Relation // required
	Gap       float64  // wanted width of an epsilon interval, at least 1e-9; 0 means 1e-3
	MaxMemory int64    // bytes one query may take, at least 1 MB; 0 means 100 MB
}

// NewAccount starts a PLD account.
func (c PLDConfig) NewAccount() (Accountant, error) { return NewPLD(c) }

// PLD accounts by privacy loss distributions: every step is a pair of laws
// whose loss is discretised once so that the result dominates and once so
// that it is dominated, and composed by exponentially tilted convolution. Both
// ends of an answer are certified: discretisation errs outwards by
// construction; truncated tails, the mass a window leaves outside, rounding of
// masses, losses and transforms are bounded and added. What cannot be
// certified is answered by a wider interval.
//
// Upper bounds every mechanism the events describe. Lower is what some of them
// cost: for noisy argmax, thresholds and stability releases, whose published
// pairs are not attained, it stays well below Upper whatever the gap; the
// numerical error alone is PLDBound.Floor to Upper.
type PLD struct {
	cfg      PLDConfig
	leaves   tally[Event]
	failures tally[float64] // of all events
	explicit tally[float64] // of WithFailure alone, attained
	plans    map[int]*mathx.FFT
	epsilons map[float64]PLDBound
	deltas   map[float64]PLDBound
}

var _ Accountant = (*PLD)(nil)

// PLDBound is an answer with its numerical side.
type PLDBound struct {
	Bound
	// Floor bounds from below what the dominating pairs cost, attained or
	// not: Upper - Floor is the numerical error of Upper.
	Floor float64
	// GapReached says that Upper - Floor is within the gap asked for.
	GapReached bool
	// Points is the longest window convolved, 0 for a closed form.
	Points int
}

// NewPLD starts an empty account.
func NewPLD(cfg PLDConfig) (*PLD, error) {
	if _, err := cfg.Relation.MarshalText(); err != nil {
		return nil, fmt.Errorf("accountant: PLDConfig.Relation must be AddRemove or ReplaceOne, got %v", cfg.Relation)
	}
	if cfg.Gap == 0 {
		cfg.Gap = 1e-3
	}
	if !(cfg.Gap >= 1e-9) || math.IsInf(cfg.Gap, 1) {
		return nil, fmt.Errorf("accountant: PLDConfig.Gap must be a finite number, at least 1e-9, got %v", cfg.Gap)
	}
	if cfg.MaxMemory == 0 {
		cfg.MaxMemory = 100 << 20
	}
	if cfg.MaxMemory < 1<<20 {
		return nil, fmt.Errorf("accountant: PLDConfig.MaxMemory must be at least 1 MB, got %d bytes", cfg.MaxMemory)
	}
	return &PLD{cfg: cfg, plans: make(map[int]*mathx.FFT)}, nil
}

// Compose implements Accountant. Poisson sampling is supported of a single
// Gaussian, under AddRemove.
func (p *PLD) Compose(e Event, count int64) error {
	if err := validTree(e, 0); err != nil {
		return err
	}
	if err := atLeast("compose", "count", count, 0); err != nil {
		return err
	}
	var added PLD
	if err := added.flatten(e, count, p.cfg.Relation); err != nil {
		return err
	}
	var check schedule
	for i, leaf := range added.leaves.keys {
		if err := check.dominating(leaf, added.leaves.counts[i]); err != nil {
			return err
		}
	}
	if !p.leaves.fits(&added.leaves) || !p.failures.fits(&added.failures) || !p.explicit.fits(&added.explicit) {
		return errTooMany
	}
	p.leaves.merge(&added.leaves)
	p.failures.merge(&added.failures)
	p.explicit.merge(&added.explicit)
	p.epsilons, p.deltas = nil, nil
	return nil
}

// flatten takes a valid event tree apart into leaves and failures.
func (p *PLD) flatten(e Event, count int64, rel Relation) error {
	fail := func(delta float64) error {
		if delta == 0 {
			return nil
		}
		return p.failures.add(delta, count)
	}
	if ok, err := unfold(e, count, func(inner Event, n int64) error { return p.flatten(inner, n, rel) }); ok {
		return err
	}
	switch e := e.(type) {
	case WithFailure:
		if err := errors.Join(fail(e.Delta), p.explicit.add(e.Delta, count)); err != nil {
			return err
		}
		return p.flatten(e.Event, count, rel)
	case PoissonSampled:
		switch e.Probability {
		case 0: // nobody takes part; still refuse what could not be accounted
			return new(PLD).flatten(e.Event, count, rel)
		case 1:
			return p.flatten(e.Event, count, rel)
		}
		if _, ok := e.Event.(Gaussian); !ok {
			return &UnsupportedEventError{e, fmt.Sprintf("Poisson sampling has a known pair here for a single Gaussian only, not for %T", e.Event)}
		}
		if rel == ReplaceOne {
			return &UnsupportedEventError{e, "Poisson sampling is accounted under add_remove only; under replace_one no worst pair is known under composition"}
		}
	case MStab:
		if err := fail(mathx.Up(0.5 * math.Exp(-e.Epsilon*e.Threshold))); err != nil {
			return err
		}
	case StableSVT:
		if err := fail(math.Min(1, mathx.Up(math.Exp(-(float64(e.Threshold)+1)/e.B1)))); err != nil {
			return err
		}
	}
	return p.leaves.add(e, count)
}

// failure returns the summed failure probability, rounded up.
func (p *PLD) failure() float64 {
	sum := 0.0
	for i, d := range p.failures.keys {
		sum = mathx.Up(sum + mathx.Up(float64(p.failures.counts[i])*d))
	}
	return math.Min(1, sum)
}

// surely returns the probability, rounded down, that one of the failures an
// event allows happens when they are independent.
func (p *PLD) surely() float64 {
	log := 0.0
	for i, d := range p.explicit.keys {
		log += float64(p.explicit.counts[i]) * math.Log1p(-d)
	}
	return math.Max(0, -math.Expm1(log)*(1-0x1p-48))
}

// Epsilon implements Accountant; see EpsilonContext.
func (p *PLD) Epsilon(delta float64) (Bound, error) {
	b, err := p.EpsilonContext(context.Background(), delta)
	return b.Bound, err
}

// Delta implements Accountant; see DeltaContext.
func (p *PLD) Delta(epsilon float64) (Bound, error) {
	b, err := p.DeltaContext(context.Background(), epsilon)
	return b.Bound, err
}

// EpsilonContext bounds the least epsilon at delta in [0, 1). Upper is +Inf,
// without an error, when no finite epsilon holds.
func (p *PLD) EpsilonContext(ctx context.Context, delta float64) (PLDBound, error) {
	if !(delta >= 0 && delta < 1) {
		return PLDBound{}, fmt.Errorf("accountant: delta must be in [0, 1), got %v", delta)
	}
	if b, ok := p.epsilons[delta]; ok {
		return b, nil
	}
	b, err := p.epsilon(ctx, delta)
	if err != nil {
		return PLDBound{}, err
	}
	if p.epsilons == nil {
		p.epsilons = make(map[float64]PLDBound)
	}
	p.epsilons[delta] = b
	return b, nil
}

// DeltaContext bounds the least delta at a finite epsilon >= 0. The gap is not
// a goal here: the interval is as wide as that of an epsilon of that gap.
func (p *PLD) DeltaContext(ctx context.Context, epsilon float64) (PLDBound, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return PLDBound{}, fmt.Errorf("accountant: epsilon must be a finite number, at least 0, got %v", epsilon)
	}
	if b, ok := p.deltas[epsilon]; ok {
		return b, nil
	}
	b, err := p.delta(ctx, epsilon)
	if err != nil {
		return PLDBound{}, err
	}
	if p.deltas == nil {
		p.deltas = make(map[float64]PLDBound)
	}
	p.deltas[epsilon] = b
	return b, nil
}

func (p *PLD) epsilon(ctx context.Context, delta float64) (PLDBound, error) {
	failure, sure := p.failure(), p.surely()
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
			b.Lower, b.Floor = below.pure(false)*(1-0x1p-50), above.pure(false)*(1-0x1p-50)
		}
		return b, nil
	}
	v, err := p.interval(ctx, above, left, least, p.cfg.Gap, true)
	if err != nil {
		return PLDBound{}, err
	}
	b.Floor, b.Upper, b.GapReached, b.Points = v.lower, math.Min(v.upper, mathx.Up(pure)), v.reached, v.points
	b.Lower = b.Floor
	if below != above {
		w, err := p.interval(ctx, below, least, least, 8*p.cfg.Gap, false)
		if err != nil {
			return PLDBound{}, err
		}
		b.Lower = w.lower
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

// rdp is the same run accounted by RDP, also a valid upper bound.
func (p *PLD) rdp() (*RDP, error) {
	r, err := NewRDP(Config{Relation: p.cfg.Relation})
	if err != nil {
		return nil, err
	}
	for i, e := range p.leaves.keys { // failures of leaves come with them
		if err := r.Compose(e, p.leaves.counts[i]); err != nil {
			return nil, err
		}
	}
	for i, d := range p.explicit.keys {
		if err := r.Compose(WithFailure{Event: PureDP{}, Delta: d}, p.explicit.counts[i]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (p *PLD) delta(ctx context.Context, epsilon float64) (PLDBound, error) {
	failure, sure := p.failure(), p.surely()
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
	if below != above {
		low, _, _, err := p.bodyDelta(ctx, below, epsilon)
		if err != nil {
			return PLDBound{}, err
		}
		b.Lower = sure + (1-sure)*low
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

// spanned is what interval answers.
type spanned struct {
	lower, upper float64
	reached      bool
	points       int
}

// interval bounds the epsilon of a schedule: above at deltaUp, below at
// deltaLow, both positive. Without both it only looks for lower.
func (p *PLD) interval(ctx context.Context, s *schedule, deltaUp, deltaLow, gap float64, both bool) (spanned, error) {
	if len(s.pairs.keys) == 0 {
		if s.mu2 == 0 {
			return spanned{reached: true}, nil
		}
		return gaussianInterval(s.mu2, deltaUp, deltaLow)
	}
	v, err := p.oneOrder(ctx, s, false, deltaUp, deltaLow, gap, both, 0)
	if err != nil || !s.asymmetric() {
		return v, err
	}
	if s.pure(true)*(1+0x1p-48) <= v.upper {
		return v, nil
	}
	w, err := p.oneOrder(ctx, s, true, deltaUp, deltaLow, gap, both, v.upper)
	if err != nil {
		return spanned{}, err
	}
	return spanned{math.Max(v.lower, w.lower), math.Max(v.upper, w.upper), v.reached && w.reached, max(v.points, w.points)}, nil
}

// gaussianInterval is the closed form (Balle, Wang 2018), good to slack.
func gaussianInterval(mu2, deltaUp, deltaLow float64) (spanned, error) {
	sigma := 1 / math.Sqrt(mu2)
	up, err := GaussianEpsilon(sigma, deltaUp)
	if err != nil {
		return spanned{}, err
	}
	low := up
	if deltaLow != deltaUp {
		if low, err = GaussianEpsilon(sigma, deltaLow); err != nil {
			return spanned{}, err
		}
	}
	v := spanned{lower: low * (1 - slack), upper: up, reached: true}
	if up > 0 {
		v.upper = mathx.Up(up * (1 + slack))
	}
	return v, nil
}

// maxRounds bounds how often grids are refined for one answer.
const maxRounds = 8

// oneOrder is interval for one order of the pair. An upper bound that stays
// at or below enough settles the question at any width.
func (p *PLD) oneOrder(ctx context.Context, s *schedule, reverse bool, deltaUp, deltaLow, gap float64, both bool, enough float64) (spanned, error) {
	q := &query{parts: s.components(reverse), reverse: reverse}
	q.aimDelta(mathx.Log(deltaUp), gap)
	c := p.newConvolver(ctx)
	best := spanned{upper: math.Inf(1)}
	aim := math.Min(gap, math.Max(q.center, q.spread)/100)
	budget := 0.7 * aim
	if enough > 0 { // often a coarse upper bound will do
		budget *= 8
		t, err := q.fit(c, &budget, true)
		if err != nil {
			return spanned{}, err
		}
		best.upper, best.points = upperEpsilon(t, deltaUp), c.largest
		if best.upper <= enough {
			best.reached = true
			return best, nil
		}
		budget = 0.7 * aim
	}
	capped := false
	for round := 0; round < maxRounds; round++ {
		before := budget
		if both {
			t, err := q.fit(c, &budget, true)
			if err != nil {
				return spanned{}, err
			}
			best.upper = math.Min(best.upper, upperEpsilon(t, deltaUp))
		}
		t, err := q.fit(c, &budget, false)
		if err != nil {
			return spanned{}, err
		}
		capped = budget > before
		best.lower = math.Max(best.lower, lowerEpsilon(t, deltaLow))
		best.points = c.largest
		width := best.upper - best.lower
		if !both || width <= aim || capped {
			break
		}
		shrink := 0.25
		if !math.IsInf(width, 1) {
			shrink = math.Min(0.7, math.Max(0.02, 0.8*aim/width))
			if width > best.upper/10 { // aim where the answer is
				q.aim(best.upper, mathx.Log(deltaUp), gap)
			}
		}
		budget *= shrink
	}
	best.reached = best.upper-best.lower <= gap
	return best, nil
}

// fit composes with the given budget, enlarging it until memory and rounding
// allow. It returns nil when nothing can be certified.
func (q *query) fit(c *convolver, budget *float64, up bool) (*profile, error) {
	for range 60 {
		t, err := q.compose(c, *budget, up)
		switch {
		case err == nil && t.sound():
			return newProfile(t, q.lambda, up), nil
		case err == nil:
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
	if len(s.pairs.keys) == 0 {
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
		q := &query{parts: s.components(reverse), reverse: reverse}
		q.aimEpsilon(epsilon, p.cfg.Gap)
		c := p.newConvolver(ctx)
		budget := 0.7 * math.Min(p.cfg.Gap, math.Max(q.center, q.spread)/100)
		if lower > 0 { // often a coarse upper bound shows that this order is the lesser
			coarse := 8 * budget
			up, err := q.fit(c, &coarse, true)
			if err != nil {
				return 0, 0, 0, err
			}
			if up != nil && up.delta(epsilon) <= lower {
				continue
			}
		}
		l, u := 0.0, 1.0
		for range maxRounds {
			before := budget
			up, err := q.fit(c, &budget, true)
			if err != nil {
				return 0, 0, 0, err
			}
			low, err := q.fit(c, &budget, false)
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
