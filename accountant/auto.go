package accountant

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// Method selects the accountant that bounds the privacy cost of a fixed list of events.
type Method string

const (
	// ByAuto selects the least bound among the other methods that support the events.
	ByAuto Method = "auto"
	// ByPLD selects the accountant [PLD]. An event without a known dominating pair is an error.
	ByPLD Method = "pld"
	// ByRDP selects the accountant [RDP].
	ByRDP Method = "rdp"
)

func ParseMethod(name string) (Method, error) {
	switch m := Method(name); m {
	case ByAuto, ByPLD, ByRDP:
		return m, nil
	}
	return "", fmt.Errorf("accountant: %q makes no claims: there are auto, pld and rdp", name)
}

// AutoConfig configures an [Auto] account.
type AutoConfig struct {
	Relation Relation  // required
	Method   Method    // "" means ByAuto
	Orders   []float64 // Rényi orders, as in RDPConfig
}

// NewAccount returns an empty [Auto] account.
func (c AutoConfig) NewAccount() (Accountant, error) { return NewAuto(c) }

// Auto accounts for a run in which all events are fixed before the first output. It returns the smaller bound
// of [RDP] and [PLD]. The smaller bound is valid because both bounds hold for fixed events.
//
// Auto is not a filter. If outputs decide when a run stops, the bound is wrong: use the mode Filter of
// package ledger.
//
// Auto uses only RDP in three cases: an event has no known dominating pair, there are more than 64 different
// non-Gaussian pairs, or PLD would need more than 2^27 grid points. These cases and the bound do not depend
// on the machine.
type Auto struct {
	cfg  AutoConfig
	rdp  *RDP
	pld  *PLD  // nil after an unsupported event
	lack error // the error that made pld nil
}

var _ Accountant = (*Auto)(nil)

const (
	maxTightPairs = 64
	maxTightWork  = 1 << 27
)

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
	return t.rdp.Compose(e, count) // if PLD succeeds, RDP does too
}

// Claim is the privacy cost of a list of events, with the method that proves it.
type Claim struct {
	Bound
	By Method // ByPLD or ByRDP
	// Lack is the reason why PLD gave no bound. Lack is nil if PLD gave a bound or was not tried.
	Lack error
}

// Claim bounds the epsilon of all composed events at delta in [0, 1).
func (t *Auto) Claim(ctx context.Context, delta float64) (Claim, error) {
	return t.least(func(a Accountant) (Bound, error) { return a.Epsilon(ctx, delta) })
}

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
	case t.cfg.Method == ByPLD || p.Upper < b.Upper: // PLD already takes the smaller of its own Upper and a Rényi bound
		c.Bound, c.By = p, ByPLD
	default:
		c.Lower, c.Floor = math.Min(p.Lower, b.Upper), math.Min(p.Floor, b.Upper)
	}
	return c, nil
}

// Epsilon returns the bound of [Auto.Claim].
func (t *Auto) Epsilon(ctx context.Context, delta float64) (Bound, error) {
	c, err := t.Claim(ctx, delta)
	return c.Bound, err
}

func (t *Auto) Delta(ctx context.Context, epsilon float64) (Bound, error) {
	c, err := t.least(func(a Accountant) (Bound, error) { return a.Delta(ctx, epsilon) })
	return c.Bound, err
}

// Rough returns an empty RDP account (see [Rougher]). Rough returns nil if the method is ByRDP.
func (t *Auto) Rough() Accountant {
	if t.cfg.Method == ByRDP {
		return nil
	}
	return &RDP{cfg: t.rdp.cfg, orders: t.rdp.orders, refine: t.rdp.refine}
}

func (t *Auto) leaveLowerEnds() bool { return t.pld != nil && t.pld.leaveLowerEnds() }

// Epsilon returns the total privacy cost of the events by method m. The events must be fixed before any
// output is seen (see [Auto]).
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
