package accountant

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// Method is the accountant that makes a claim about a fixed list of events.
type Method string

const (
	// ByAuto is the least claim of those below that hold the events.
	ByAuto Method = "auto"
	// ByPLD is the upper end of [PLD], which refuses events without a known pair.
	ByPLD Method = "pld"
	// ByRDP is [RDP] at the best order.
	ByRDP Method = "rdp"
)

// ParseMethod reads the name of a method.
func ParseMethod(name string) (Method, error) {
	switch m := Method(name); m {
	case ByAuto, ByPLD, ByRDP:
		return m, nil
	}
	return "", fmt.Errorf("accountant: %q makes no claims: there are auto, pld and rdp", name)
}

// AutoConfig fixes what a tight account is about.
type AutoConfig struct {
	Relation Relation  // required
	Method   Method    // "" means ByAuto
	Orders   []float64 // Rényi orders, as in Config
}

// NewAccount starts a tight account.
func (c AutoConfig) NewAccount() (Accountant, error) { return NewAuto(c) }

// Auto accounts for a run whose events are all fixed before its first answer, by whichever accountant
// proves least. Both are bounds of the same run, and neither is chosen by an answer, so the lesser is a
// bound.
//
// It is no filter. A run that goes on for as long as a total of privacy loss distributions is within a
// budget is not covered by that budget; see package ledger, mode Filter.
//
// Privacy loss distributions are left out where they would be no help to wait for: of events without a
// pair, of more than 64 different releases, and where an answer would take more than a few seconds, counted
// in points and not by a clock. So the same events have the same claim wherever it is computed.
type Auto struct {
	cfg  AutoConfig
	rdp  *RDP
	pld  *PLD  // nil once it does not hold the events
	lack error // why
}

var _ Accountant = (*Auto)(nil)

const (
	// maxTightPairs bounds the different pairs of a tight account: time grows with them.
	maxTightPairs = 64
	// maxTightWork bounds the points that one answer transforms or places.
	maxTightWork = 1 << 27
)

// NewAuto starts an empty account.
func NewAuto(cfg AutoConfig) (*Auto, error) {
	if cfg.Method == "" {
		cfg.Method = ByAuto
	}
	if _, err := ParseMethod(string(cfg.Method)); err != nil {
		return nil, err
	}
	t := &Auto{cfg: cfg}
	var err error
	if t.rdp, err = NewRDP(RDPConfig{Relation: cfg.Relation, Orders: cfg.Orders}); err != nil {
		return nil, err
	}
	if cfg.Method == ByRDP {
		return t, nil
	}
	if t.pld, err = NewPLD(PLDConfig{Relation: cfg.Relation}); err != nil {
		return nil, err
	}
	t.pld.upper, t.pld.maxPairs, t.pld.composer.MaxWork = true, maxTightPairs, maxTightWork
	return t, nil
}

// Compose implements Accountant.
func (t *Auto) Compose(e Event, count int64) error {
	if t.pld != nil {
		if err := t.pld.Compose(e, count); err != nil {
			if t.cfg.Method == ByPLD || !errors.Is(err, ErrUnsupportedEvent) {
				return err
			}
			if err := t.rdp.Compose(e, count); err != nil {
				return err
			}
			t.pld, t.lack = nil, err
			return nil
		}
	}
	return t.rdp.Compose(e, count) // whose only errors are also those of PLD
}

// Claim is the cost of a list of events, and the accountant that proves it.
type Claim struct {
	Bound
	By Method // ByPLD or ByRDP
	// Lack is the reason that privacy loss distributions did not answer; nil if they did, or were not asked.
	Lack error
}

// Claim bounds the epsilon of everything composed at delta in [0, 1).
func (t *Auto) Claim(ctx context.Context, delta float64) (Claim, error) {
	return t.least(func(a Accountant) (Bound, error) { return a.Epsilon(ctx, delta) })
}

// least returns the lesser answer.
func (t *Auto) least(ask func(Accountant) (Bound, error)) (Claim, error) {
	b, err := ask(t.rdp)
	c := Claim{Bound: b, By: ByRDP, Lack: t.lack}
	if err != nil {
		return Claim{}, err
	}
	if t.pld == nil {
		return c, nil
	}
	p, err := ask(t.pld)
	switch {
	case errors.Is(err, pld.ErrTooMuchWork) && t.cfg.Method != ByPLD:
		c.Lack = err
	case err != nil:
		return Claim{}, err
	case t.cfg.Method == ByPLD || p.Upper < b.Upper: // what PLD answers is the lesser of its own and a Rényi bound
		c.Bound, c.By = p, ByPLD
	default:
		c.Lower, c.Floor = math.Min(p.Lower, b.Upper), math.Min(p.Floor, b.Upper)
	}
	return c, nil
}

// Epsilon implements Accountant; see Claim.
func (t *Auto) Epsilon(ctx context.Context, delta float64) (Bound, error) {
	c, err := t.Claim(ctx, delta)
	return c.Bound, err
}

// Delta implements Accountant.
func (t *Auto) Delta(ctx context.Context, epsilon float64) (Bound, error) {
	c, err := t.least(func(a Accountant) (Bound, error) { return a.Delta(ctx, epsilon) })
	return c.Bound, err
}

// Rough implements Rougher: Rényi divergences alone.
func (t *Auto) Rough() Accountant {
	if t.cfg.Method == ByRDP {
		return nil
	}
	return &RDP{cfg: t.rdp.cfg, orders: t.rdp.orders, refine: t.rdp.refine}
}

func (t *Auto) leaveLowerEnds() bool { return t.pld != nil && t.pld.leaveLowerEnds() }

// Epsilon returns what events cost together, by the method that claims least of those that hold them, or by
// the one that is named. The events must be fixed before any answer: see [Auto].
func Epsilon(ctx context.Context, m Method, rel Relation, delta float64, events ...Event) (Claim, error) {
	t, err := NewAuto(AutoConfig{Relation: rel, Method: m})
	if err != nil {
		return Claim{}, err
	}
	for _, e := range events {
		if err := t.Compose(e, 1); err != nil {
			return Claim{}, err
		}
	}
	return t.Claim(ctx, delta)
}
