package ledger

import (
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

type balance struct {
	cfg     Config // Orders filled in
	refine  bool   // search between orders, in mode Reserved with default orders
	log     float64
	penalty []float64 // epsilon that the conversion adds at each order, at the delta with logarithm log
	sum     []float64 // divergence at each order; carry holds its rounding error
	carry   []float64
	failure float64

	aloneOrders, alonePenalty []float64

	memo *Claim // result of total; nil after a new reservation

	kinds  []*charge // in order of first reservation
	byText map[string]*charge
}

type charge struct {
	event   accountant.Event
	text    string // JSON of the event
	count   int64
	curve   []float64 // divergence at each order; nil if not stored
	failure float64
}

const maxCurves = 1024

func newBalance(h header) (*balance, error) {
	b := &balance{cfg: h.config(), refine: h.Default && h.Mode == Reserved, byText: map[string]*charge{}}
	b.cfg.Orders = h.orders()
	n := len(b.cfg.Orders)
	b.penalty, b.sum, b.carry = make([]float64, n), make([]float64, n), make([]float64, n)
	delta := b.cfg.Delta
	if b.cfg.Mode == Filter {
		delta = share(b.cfg, delta)
	}
	b.log = math.Log(delta)
	held := false
	for i, a := range b.cfg.Orders {
		var err error
		if b.penalty[i], err = penalty(a, delta); err != nil {
			return nil, err
		}
		held = held || b.penalty[i] < b.cfg.Epsilon
	}
	if !held {
		return nil, fmt.Errorf("ledger: no event fits epsilon %g and delta %g at any order of Config.Orders", b.cfg.Epsilon, b.cfg.Delta)
	}
	return b, nil
}

func share(c Config, delta float64) float64 {
	// Every outcome belongs to an order whose budget was not exceeded. On the outcomes of one order, the run
	// equals a run with a filter of this order only. So the parts of delta add up to a bound for the whole
	// run. If every order had the whole delta, a run could have twice the target delta (examples in
	// testdata/filters.json).
	finite := 0
	for _, a := range c.Orders {
		if !math.IsInf(a, 1) {
			finite++
		}
	}
	delta = mathx.Down(delta - c.FailureDelta)
	if finite > 1 {
		delta = mathx.Down(delta / float64(finite))
	}
	return delta
}

// penalty returns epsilon - D, rounded up, for the conversion of a Rényi divergence D of order a to (epsilon,
// delta)-DP.
func penalty(a, delta float64) (float64, error) {
	if math.IsInf(a, 1) {
		return 0, nil
	}
	for known := 1.0 / 1024; ; known *= 8 { // until the result is above zero
		epsilon, err := accountant.Improved.Epsilon(a, known, delta)
		if err != nil {
			return 0, fmt.Errorf("ledger: %w", err)
		}
		if epsilon > 0 {
			// epsilon is known - log(delta)/(a-1) + log(1-1/a) - log(a)/(a-1). The last term is in [-1, 0].
			// The other terms are bounded for the rounding error below.
			return mathx.Up(epsilon - known + 1e-14*(known+epsilon-math.Log1p(-1/a)+1)), nil
		}
	}
}

func (b *balance) chargeOf(text []byte) (*charge, error) {
	if c, ok := b.byText[string(text)]; ok {
		return c, nil
	}
	e, err := accountant.UnmarshalEvent(text)
	if err != nil {
		return nil, err
	}
	c := &charge{event: e, text: string(text)}
	if c.curve, c.failure, err = b.curveOf(e); err != nil {
		return nil, err
	}
	return c, nil
}

func (b *balance) curveOf(e accountant.Event) ([]float64, float64, error) {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: b.cfg.Relation})
	if err == nil {
		err = account.Compose(e, 1)
	}
	if err != nil {
		return nil, 0, wrapped(err)
	}
	curve, failure, err := account.RDP(b.cfg.Orders)
	return curve, failure, wrapped(err)
}

func (b *balance) curve(c *charge) ([]float64, error) {
	if c.curve != nil {
		return c.curve, nil
	}
	curve, _, err := b.curveOf(c.event)
	return curve, err
}

func (b *balance) add(c *charge) error {
	curve, err := b.curve(c)
	if err != nil {
		return err
	}
	b.memo = nil
	if c.count == 0 {
		b.byText[c.text] = c
		if b.kinds = append(b.kinds, c); len(b.kinds) > maxCurves {
			c.curve = nil
		}
	}
	c.count++
	for i, v := range curve {
		s, t := b.sum[i], b.sum[i]+v
		b.sum[i] = t
		if !math.IsInf(t, 1) {
			z := t - s
			b.carry[i] += (s - (t - z)) + (v - z)
		}
	}
	if c.failure > 0 {
		b.failure = mathx.Up(b.failure + c.failure)
	}
	return nil
}

const sumSlack = 1e-14

func (b *balance) divergence(i int, more float64) float64 {
	return (b.sum[i] + b.carry[i] + more) * (1 + sumSlack)
}

// onOrders returns the least epsilon over all Rényi orders, for all reservations plus the charge `more`,
// which may be nil. In mode Filter, this epsilon is no guarantee.
func (b *balance) onOrders(more *charge) (float64, error) {
	failure, curve := b.failure, []float64(nil)
	if more != nil {
		var err error
		if curve, err = b.curve(more); err != nil {
			return 0, err
		}
		if more.failure > 0 {
			failure = mathx.Up(failure + more.failure)
		}
	} else if len(b.kinds) == 0 {
		return 0, nil
	}
	if b.cfg.Mode == Filter && failure > b.cfg.FailureDelta {
		return math.Inf(1), nil
	}
	shift := b.shift(failure)
	least, at := math.Inf(1), -1
	for i, p := range b.penalty {
		eps := (b.sum[i] + b.carry[i]) + p
		if curve != nil {
			eps += curve[i]
		}
		if shift != 0 {
			eps += atOrder(shift, b.cfg.Orders[i])
		}
		if eps < least {
			least, at = eps, i
		}
	}
	if at < 0 {
		return math.Inf(1), nil
	}
	total := b.divergence(at, 0)
	if curve != nil {
		total = b.divergence(at, curve[at])
	}
	return math.Max(0, mathx.Up(least+sumSlack*(total+math.Abs(b.penalty[at])+atOrder(shift, b.cfg.Orders[at])))), nil
}

func (b *balance) shift(failure float64) float64 {
	if b.cfg.Mode == Filter || failure == 0 {
		return 0
	}
	left := mathx.Down(b.cfg.Delta - failure)
	if left <= 0 {
		return math.Inf(1)
	}
	return b.log - math.Log(left) + 4e-16*math.Abs(b.log)
}

// atOrder returns how much epsilon grows at order a if log delta decreases by shift.
func atOrder(shift, a float64) float64 {
	// Order +Inf uses no delta, but delta minus the failures must be above 0.
	switch {
	case math.IsInf(shift, 1):
		return shift
	case math.IsInf(a, 1):
		return 0
	}
	return shift / (a - 1)
}

func (b *balance) aloneOnOrders(c *charge) float64 {
	curve, err := b.curve(c)
	if err != nil || b.cfg.Mode == Filter && c.failure > b.cfg.FailureDelta {
		return math.Inf(1)
	}
	least := math.Inf(1)
	for i, a := range b.cfg.Orders {
		least = math.Min(least, curve[i]+b.penalty[i]+atOrder(b.shift(c.failure), a))
	}
	return math.Max(0, least)
}

type snapshot struct {
	sum, carry []float64
	failure    float64
	counts     []int64
}

func (b *balance) snapshot() snapshot {
	s := snapshot{slices.Clone(b.sum), slices.Clone(b.carry), b.failure, make([]int64, len(b.kinds))}
	for i, c := range b.kinds {
		s.counts[i] = c.count
	}
	return s
}

func (b *balance) restore(s snapshot) {
	b.memo = nil
	copy(b.sum, s.sum)
	copy(b.carry, s.carry)
	b.failure = s.failure
	for i, c := range b.kinds {
		if i < len(s.counts) {
			c.count = s.counts[i]
		} else {
			delete(b.byText, c.text)
		}
	}
	b.kinds = b.kinds[:len(s.counts)]
}

func (b *balance) schedule() accountant.Schedule {
	s := accountant.Schedule{Relation: b.cfg.Relation, Events: make([]accountant.Event, len(b.kinds))}
	for i, c := range b.kinds {
		if s.Events[i] = c.event; c.count > 1 {
			s.Events[i] = accountant.Repeated{Event: c.event, Count: c.count}
		}
	}
	return s
}
