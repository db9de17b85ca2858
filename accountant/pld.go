package accountant

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

type PLDConfig struct {
	Relation  Relation // required
	Gap       float64  // wanted width of an epsilon interval, at least 1e-9; 0 means 1e-3
	MaxMemory int64    // memory limit of one query in bytes, at least 1 MB; 0 means 100 MB
}

// NewAccount returns an empty PLD account.
func (c PLDConfig) NewAccount() (Accountant, error) { return NewPLD(c) }

// PLD accounts by the privacy loss distributions of dominating pairs. PLD discretises each distribution
// twice, for an upper and a lower bound. Exponentially tilted convolution composes the discretised
// distributions. The bounds of all numerical errors widen the interval, so both ends of the interval are
// certified.
//
// Upper is valid for every mechanism that the events describe. At least one of these mechanisms has a true
// epsilon or delta of at least Lower. The dominating pairs of noisy argmax, thresholds and stability releases
// are not tight. For these events, Lower stays well below Upper even with a small PLDConfig.Gap. Bound.Floor
// is a lower bound for the dominating pairs, so the numerical error is at most Upper - Floor.
type PLD struct {
	cfg      PLDConfig
	composer pld.Composer
	terms    terms
	pairs    pld.Sum // dominating pairs of the terms, without Gaussians
	epsilons map[float64]Bound
	deltas   map[float64]Bound
	upper    bool // Lower is not needed; it is 0 unless the dominating pairs are attained
	// onlyUpper makes Epsilon compute only Bound.Upper, without refinement to PLDConfig.Gap.
	onlyUpper bool
	maxPairs  int // limit on the number of different pairs; 0 for no limit
}

var _ Accountant = (*PLD)(nil)

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
	return &PLD{cfg: cfg, composer: pld.Composer{Gap: cfg.Gap, MaxMemory: cfg.MaxMemory}}, nil
}

// Compose implements Accountant. It supports every event with a known dominating pair. It rejects ZCDP,
// selections, groups of Poisson samples, and discrete Gaussians of sensitivity 2 or more.
func (p *PLD) Compose(e Event, count int64) error {
	added, err := parse(e, count, p.cfg.Relation)
	if err != nil {
		return err
	}
	var s pld.Sum
	for i, leaf := range added.curves.Keys {
		if err := addPairs(&s, leaf, added.curves.Counts[i]); err != nil {
			return err
		}
	}
	if p.maxPairs > 0 && p.pairs.Different(&s) > p.maxPairs {
		return &UnsupportedEventError{e, fmt.Sprintf("privacy loss distributions of more than %d different releases take long", p.maxPairs)}
	}
	if s.Full() || !p.terms.fits(&added) || !p.pairs.Fits(&s) {
		return errTooMany
	}
	p.terms.merge(&added)
	p.pairs.Merge(&s)
	p.epsilons, p.deltas = nil, nil
	return nil
}

func (p *PLD) certainFailure() float64 {
	log := 0.0
	for i, d := range p.terms.stated.Keys {
		log += float64(p.terms.stated.Counts[i]) * math.Log1p(-d)
	}
	return math.Max(0, -math.Expm1(log)*(1-0x1p-48))
}

// Epsilon bounds the least epsilon at delta in [0, 1). If no finite epsilon is known, Upper is +Inf.
func (p *PLD) Epsilon(ctx context.Context, delta float64) (Bound, error) {
	if !(delta >= 0 && delta < 1) {
		return Bound{}, fmt.Errorf("accountant: delta must be in [0, 1), got %v", delta)
	}
	return remembered(ctx, &p.epsilons, delta, p.epsilon)
}

func remembered(ctx context.Context, made *map[float64]Bound, x float64, answer func(context.Context, float64) (Bound, error)) (Bound, error) {
	if b, ok := (*made)[x]; ok {
		return b, nil
	}
	b, err := answer(ctx, x)
	if err != nil {
		return Bound{}, err
	}
	if *made == nil {
		*made = make(map[float64]Bound)
	}
	(*made)[x] = b
	return b, nil
}

// Delta bounds the least delta at a finite epsilon >= 0. PLDConfig.Gap determines the width of the bound.
func (p *PLD) Delta(ctx context.Context, epsilon float64) (Bound, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return Bound{}, fmt.Errorf("accountant: epsilon must be a finite number, at least 0, got %v", epsilon)
	}
	return remembered(ctx, &p.deltas, epsilon, p.delta)
}

func (p *PLD) sums() (above *pld.Sum, below []*pld.Sum) {
	above = new(pld.Sum)
	for i, e := range p.terms.curves.Keys {
		_ = addPairs(above, e, p.terms.curves.Counts[i]) // Compose checked that all are supported
	}
	low, same := p.attained(false)
	if same {
		return above, []*pld.Sum{above}
	}
	below = append(below, low)
	if low.HasSeveral() {
		plain, _ := p.attained(true)
		below = append(below, plain)
	}
	return above, below
}

func (p *PLD) attained(plain bool) (below *pld.Sum, same bool) {
	below, same = &pld.Sum{Plain: plain}, true
	for i, e := range p.terms.curves.Keys {
		n := p.terms.curves.Counts[i]
		if addAttained(below, e, n) {
			_ = addPairs(below, e, n)
		} else {
			same = false
		}
	}
	return below, same
}

func (p *PLD) epsilon(ctx context.Context, delta float64) (Bound, error) {
	failure, sure := p.terms.failure(), p.certainFailure()
	b := Bound{FailureDelta: failure, GapReached: true}
	above, below := p.sums()
	inf := math.Inf(1)
	if above.Reveals() {
		b.Lower, b.Upper, b.Floor = inf, inf, inf
		return b, nil
	}
	left := delta // delta at the upper end, minus failures
	if failure > 0 {
		left = mathx.Down(delta - failure)
	}
	least := delta // delta at the lower end: 1-(1-d)(1-sure) > delta
	if sure > 0 {
		least = mathx.Up((delta - sure) / (1 - sure))
	}
	if least < 0 {
		b.Lower, b.Upper, b.Floor = inf, inf, inf
		return b, nil
	}
	pure := above.Pure(false) * (1 + 0x1p-50)
	switch {
	case left < 0 && failure > 0 || left == 0 && math.IsInf(pure, 1):
		b.Upper = inf
	case left == 0:
		b.Upper = mathx.Up(pure)
	}
	if left <= 0 {
		if least == 0 {
			b.Lower, b.Floor = below[0].Pure(false)*(1-0x1p-50), above.Pure(false)*(1-0x1p-50)
		}
		return b, nil
	}
	v, err := p.composer.Epsilon(ctx, above, pld.Target{DeltaUp: left, DeltaLow: least, Gap: p.cfg.Gap, OnlyUpper: p.onlyUpper})
	if err != nil {
		return Bound{}, err
	}
	b.Floor, b.Upper, b.GapReached, b.Points = v.Lower, math.Min(v.Upper, mathx.Up(pure)), v.Reached, v.Points
	b.Lower = b.Floor
	switch {
	case below[0] == above:
	case p.upper, p.onlyUpper:
		b.Lower = 0
	default:
		b.Lower = 0
		for _, s := range below {
			s.About(least)
			w, err := p.composer.Epsilon(ctx, s, pld.Target{DeltaUp: least, DeltaLow: least, Gap: 8 * p.cfg.Gap, OnlyLower: true})
			if err != nil {
				return Bound{}, err
			}
			b.Lower = math.Max(b.Lower, w.Lower)
		}
		b.Floor = math.Max(b.Floor, b.Lower) // the dominating pairs cost at least as much
	}
	r, err := p.rdp().Epsilon(ctx, delta)
	b.atMost(r, err)
	b.GapReached = b.Upper-b.Floor <= p.cfg.Gap
	return b, nil
}

func (p *PLD) rdp() *RDP {
	r, _ := NewRDP(RDPConfig{Relation: p.cfg.Relation}) // NewPLD checked the relation
	r.terms = p.terms                                   // read only
	return r
}

func (b *Bound) atMost(r Bound, err error) {
	if err == nil {
		b.Upper = math.Min(b.Upper, r.Upper)
	}
	b.Floor, b.Lower = math.Min(b.Floor, b.Upper), math.Min(b.Lower, b.Upper)
}

func (p *PLD) delta(ctx context.Context, epsilon float64) (Bound, error) {
	failure, sure := p.terms.failure(), p.certainFailure()
	b := Bound{FailureDelta: failure, GapReached: true}
	above, below := p.sums()
	if above.Reveals() {
		b.Lower, b.Upper, b.Floor = 1, 1, 1
		return b, nil
	}
	body, err := p.composer.Delta(ctx, above, epsilon)
	if err != nil {
		return Bound{}, err
	}
	b.Points = body.Points
	b.Floor = sure + (1-sure)*body.Lower
	b.Lower = b.Floor
	if below[0] != above {
		b.Lower = sure
		for _, s := range below {
			s.About(body.Upper)
			low, err := p.composer.Delta(ctx, s, epsilon)
			if err != nil {
				return Bound{}, err
			}
			b.Lower = math.Max(b.Lower, sure+(1-sure)*low.Lower)
		}
		b.Floor = math.Max(b.Floor, b.Lower)
	}
	b.Upper = body.Upper
	if failure > 0 {
		b.Upper = math.Min(1, mathx.Up(body.Upper+failure))
	}
	r, err := p.rdp().Delta(ctx, epsilon)
	b.atMost(r, err)
	return b, nil
}

// Rough returns an empty account by Rényi divergence (see [Rougher]).
func (p *PLD) Rough() Accountant {
	r := p.rdp()
	r.terms = terms{}
	return r
}

func (p *PLD) leaveLowerEnds() bool {
	p.onlyUpper = true
	return true
}
