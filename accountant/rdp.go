package accountant

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

type RDPConfig struct {
	Relation   Relation   // required
	Orders     []float64  // Rényi orders to try, each > 1, +Inf allowed; nil means DefaultOrders with a search between them
	Conversion Conversion // default Improved
}

// RDP accounts by Rényi divergence. It adds up divergence bounds, and the probabilities that these bounds
// fail. Bound.Lower is always 0.
type RDP struct {
	cfg    RDPConfig
	orders []float64
	refine bool
	terms  terms
}

var _ Accountant = (*RDP)(nil)

// NewRDP returns an empty account.
func NewRDP(cfg RDPConfig) (*RDP, error) {
	if _, err := cfg.Relation.MarshalText(); err != nil {
		return nil, fmt.Errorf("accountant: RDPConfig.Relation must be AddRemove or ReplaceOne, got %v", cfg.Relation)
	}
	if _, err := cfg.Conversion.MarshalText(); err != nil {
		return nil, fmt.Errorf("accountant: RDPConfig.Conversion: %w", err)
	}
	grid, refine := cfg.Orders, false
	if len(grid) == 0 {
		grid, refine = DefaultOrders(), true
	}
	orders, err := checkOrders(grid)
	if err != nil {
		return nil, err
	}
	return &RDP{cfg: cfg, orders: orders, refine: refine}, nil
}

func (r *RDP) Compose(e Event, count int64) error {
	added, err := parse(e, count, r.cfg.Relation)
	if err != nil {
		return err
	}
	if !r.terms.fits(&added) {
		return errTooMany
	}
	r.terms.merge(&added)
	return nil
}

// Divergence bounds the Rényi divergence of one run of e at an order above 1. The result failure bounds the
// probability that the divergence bound is not valid.
func Divergence(rel Relation, order float64, e Event) (divergence, failure float64, err error) {
	account, err := NewRDP(RDPConfig{Relation: rel})
	if err != nil {
		return 0, 0, err
	}
	if err := account.Compose(e, 1); err != nil {
		return 0, 0, err
	}
	at, failure, err := account.RDP([]float64{order})
	if err != nil {
		return 0, 0, err
	}
	return at[0], failure, nil
}

func (r *RDP) failure() float64 { return r.terms.failure() }

// Runs returns each mechanism of the composed events with its number of runs. A mechanism's type may be
// unexported.
func (r *RDP) Runs() []Repeated {
	runs := make([]Repeated, len(r.terms.curves.Keys))
	for i, e := range r.terms.curves.Keys {
		runs[i] = Repeated{e, r.terms.curves.Counts[i]}
	}
	return runs
}

// RDP returns the composed divergence bound at each order. The result failure bounds the probability that the
// divergence bounds are not valid.
func (r *RDP) RDP(orders []float64) (divergence []float64, failure float64, err error) {
	for _, a := range orders {
		if !(a > 1) {
			return nil, 0, fmt.Errorf("accountant: order %v is not above 1", a)
		}
	}
	total := r.terms.total()
	divergence = make([]float64, len(orders))
	for i, a := range orders {
		divergence[i] = total(a)
	}
	return divergence, r.failure(), nil
}

func (r *RDP) Epsilon(_ context.Context, delta float64) (Bound, error) {
	if !(delta >= 0 && delta < 1) {
		return Bound{}, fmt.Errorf("accountant: delta must be in [0, 1), got %v", delta)
	}
	b := Bound{Conversion: r.cfg.Conversion, FailureDelta: r.failure()}
	left := delta
	if b.FailureDelta > 0 {
		left = mathx.Down(delta - b.FailureDelta)
	}
	if left < 0 || (left == 0 && delta > 0) {
		b.Upper = math.Inf(1)
		return b, nil
	}
	if len(r.terms.curves.Keys) == 0 {
		return b, nil // nothing ran; a few orders alone would not give 0
	}
	logDelta, total := mathx.Log(left), r.terms.total()
	// Epsilon 0 holds if delta exceeds the total variation distance. By Bretagnolle-Huber this distance is at
	// most sqrt(1 - e^-D), where D is the divergence at any order. The distributions must sum to one. So the
	// argument does not apply with a failure probability.
	trivial := math.Inf(-1)
	if r.cfg.Conversion == Improved && b.FailureDelta == 0 && left > 0 {
		trivial = -math.Log1p(-left*left) * (1 - 1e-15)
	}
	b.Upper, b.Order, b.AtGridEdge = r.best(func(a float64) float64 {
		d := total(a)
		if d <= trivial {
			return 0
		}
		return r.cfg.Conversion.epsilon(a, d, logDelta)
	})
	if b.Upper > 0 {
		b.Upper = mathx.Up(b.Upper * (1 + 4e-16))
	}
	return b, nil
}

func (r *RDP) Delta(_ context.Context, epsilon float64) (Bound, error) {
	if !(epsilon >= 0) || math.IsInf(epsilon, 1) {
		return Bound{}, fmt.Errorf("accountant: epsilon must be a finite number, at least 0, got %v", epsilon)
	}
	return r.delta(r.terms.total(), epsilon), nil
}

func (r *RDP) delta(total curve, epsilon float64) Bound {
	b := Bound{Conversion: r.cfg.Conversion, FailureDelta: r.failure()}
	var logDelta float64
	logDelta, b.Order, b.AtGridEdge = r.best(func(a float64) float64 {
		d := total(a)
		ld := r.cfg.Conversion.logDelta(a, d, epsilon)
		if r.cfg.Conversion == Improved && b.FailureDelta == 0 && !math.IsInf(d, 1) {
			ld = math.Min(ld, mathx.Log1mExp(d)/2)
		}
		return ld
	})
	b.Upper = b.FailureDelta
	if !math.IsInf(logDelta, -1) {
		b.Upper += mathx.Up(math.Exp(logDelta) * (1 + 1e-15*(2-logDelta)))
	}
	b.Upper = math.Min(1, mathx.Up(b.Upper))
	if b.Upper == 5e-324 && math.IsInf(logDelta, -1) && b.FailureDelta == 0 {
		b.Upper = 0
	}
	return b
}

// best minimises f over the orders. With the default orders, it also tries real orders near the best one. Any
// order gives a valid bound.
func (r *RDP) best(f func(a float64) float64) (value, order float64, edge bool) {
	value, at := math.Inf(1), -1
	for i, a := range r.orders {
		if v := f(a); v < value {
			value, at = v, i
		}
	}
	if at < 0 {
		return math.Inf(1), 0, false
	}
	order = r.orders[at]
	last := len(r.orders) - 1
	finite := last
	if math.IsInf(r.orders[last], 1) {
		finite--
	}
	edge = at == 0 || (at == finite && at > 0 && finite == last)
	if !r.refine || at > finite || math.IsInf(value, -1) || value == 0 {
		return value, order, edge && value != 0
	}
	lo, hi := 1+(r.orders[0]-1)/100, r.orders[finite]
	if at > 0 {
		lo = r.orders[at-1]
	}
	if at < finite {
		hi = r.orders[at+1]
	}
	a, v := mathx.GoldenSection(f, lo, hi)
	if v < value {
		value, order = v, a
	}
	return value, order, edge
}

// DefaultOrders returns a fresh copy of the default Rényi orders: numbers from 1.01 to 2^20, then +Inf.
// The order +Inf gives the pure bound (the sum of worst-case losses). Low orders give the best bound for
// large epsilons, and high orders for small costs or tiny deltas.
func DefaultOrders() []float64 {
	orders := []float64{1.01, 1.03, 1.06}
	for i := 11; i <= 109; i++ {
		orders = append(orders, float64(i)/10)
	}
	for i := 11; i <= 64; i++ {
		orders = append(orders, float64(i))
	}
	for i := 1; i <= 16; i++ {
		orders = append(orders, math.Round(64*math.Exp2(float64(i)/4)))
	}
	for o := 2048.0; o <= 1<<20; o *= 2 {
		orders = append(orders, o)
	}
	return append(orders, math.Inf(1))
}

func checkOrders(orders []float64) ([]float64, error) {
	out := slices.Clone(orders)
	for _, a := range out {
		if !(a > 1) {
			return nil, fmt.Errorf("accountant: RDPConfig.Orders: order %v is not above 1", a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
