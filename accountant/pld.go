package accountant

import (
	"context"
	"fmt"
	"math"
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
	terms    terms
	pairs    tally[pairKey] // that dominate the terms, Gaussians apart
	spread   map[pairKey]*allocation
	epsilons map[float64]PLDBound
	deltas   map[float64]PLDBound
	upper    bool // Lower is of no interest: 0 where it takes pairs of its own
	// onlyUpper leaves all lower ends at 0, and so no gap is aimed at: the upper end of an epsilon
	// is that of the first grids.
	onlyUpper bool
	maxPairs  int // different ones that are taken; 0 for any number
	maxWork   int // points that one answer may transform or place; 0 for any number
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
	return &PLD{cfg: cfg, spread: make(map[pairKey]*allocation)}, nil
}

// Compose implements Accountant. It holds every event with a known dominating
// pair: not ZCDP, selections, groups of Poisson samples, nor discrete Gaussians
// from sensitivity 2 on.
func (p *PLD) Compose(e Event, count int64) error {
	added, err := parse(e, count, p.cfg.Relation, nil)
	if err != nil {
		return err
	}
	var s schedule
	for i, leaf := range added.curves.Keys {
		if err := leaf.row().pair(&s, added.curves.Counts[i]); err != nil {
			return err
		}
	}
	if p.maxPairs > 0 && p.pairs.Union(&s.pairs.Multiset) > p.maxPairs {
		return &UnsupportedEventError{e, fmt.Sprintf("loss distributions of more than %d different releases take long", p.maxPairs)}
	}
	if !p.terms.fits(&added) || !p.pairs.fits(&s.pairs) {
		return errTooMany
	}
	p.terms.merge(&added)
	p.pairs.merge(&s.pairs)
	p.epsilons, p.deltas = nil, nil
	return nil
}

// certainFailure returns the probability, rounded down, that one of the failures an
// event allows happens when they are independent.
func (p *PLD) certainFailure() float64 {
	log := 0.0
	for i, d := range p.terms.stated.Keys {
		log += float64(p.terms.stated.Counts[i]) * math.Log1p(-d)
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

// Rough implements Rougher: Rényi divergences alone.
func (p *PLD) Rough() Accountant {
	r, err := NewRDP(Config{Relation: p.cfg.Relation})
	if err != nil {
		return nil // the relation was asked about before
	}
	return r
}
