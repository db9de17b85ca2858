package ledger

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Why a ledger of mode Reserved may claim by privacy loss distributions.
//
// The first use writes the seal, after which Reserve fails, so the events are a multiset that no answer of
// this ledger has moved. Which event is used next, and whether it is used at all, may depend on answers.
// The induction in package accountant, "The order may be adaptive", covers that: in every hockey-stick
// divergence the run is dominated by the product of the pairs of all reserved events, and an unused one can
// be drawn and thrown away, which is post-processing. A session that keeps noise between answers is one
// step; the theorems on concurrent composition cited there cover sessions side by side. Rényi curves bound
// the same run. Both are functions of the multiset alone, so their minimum, taken once over the whole, is a
// bound at every delta.
//
// None of this holds in mode Filter, where earlier answers choose the next event. "Go on while the total of
// the privacy loss distributions is in budget" bounds no release: the distributions of the runs that end
// early and late differ, and no theorem adds them up at one delta. Rényi divergences at an order fixed in
// advance do add up.
//
// A mechanism of which the event bounds the Rényi divergences alone is marked in its [Use], and refused here.

// Claim is the epsilon of everything reserved, and the accountant that proved it.
type Claim struct {
	Epsilon float64           // the larger of the upper end that this version proves and of the seal
	By      accountant.Method // ByPLD or ByRDP
	// Lack is the reason why privacy loss distributions did not answer, where they were asked.
	Lack error
	// Sealed is the epsilon of the seal, and Again this version's interval of the events' epsilon, where
	// the two differ; else 0 and nil.
	Sealed float64
	Again  *accountant.Bound
}

// claim returns the cost of everything and more together at delta.
func (b *balance) claim(method accountant.Method, delta float64, more ...*charge) (accountant.Claim, error) {
	cfg := accountant.AutoConfig{Relation: b.cfg.Relation, Method: method}
	if !b.refine {
		cfg.Orders = b.cfg.Orders
	}
	account, err := accountant.NewAuto(cfg)
	for _, c := range b.kinds {
		if err == nil {
			err = account.Compose(c.event, c.count)
		}
	}
	for _, c := range more {
		if err == nil {
			err = account.Compose(c.event, 1)
		}
	}
	if err != nil {
		return accountant.Claim{}, wrapped(err)
	}
	claim, err := account.Claim(context.Background(), delta)
	return claim, wrapped(err)
}

// total returns epsilon of everything reserved: in mode Reserved a bound, by the accountant of the ledger;
// in mode Filter the total that the filter has let through.
func (b *balance) total() (Claim, error) {
	if b.memo != nil {
		return *b.memo, nil
	}
	onOrders, err := b.onOrders(nil)
	claim := Claim{Epsilon: onOrders, By: accountant.ByRDP}
	if err == nil && b.cfg.Mode == Reserved && len(b.kinds) > 0 {
		var best accountant.Claim
		best, err = b.claim(b.cfg.Method(), b.cfg.Delta)
		claim.Lack = best.Lack
		if best.Upper < claim.Epsilon {
			claim.Epsilon, claim.By = best.Upper, best.By
		}
	}
	if err != nil {
		return Claim{}, err
	}
	b.memo = &claim
	return claim, nil
}

// price returns the epsilon of the line that reserves one run of more, and the total that has to fit the
// budget. A line holds the least over the orders, which costs the same however much came before. Where that
// exceeds the budget the total is the least that the ledger's accountant proves, and so is the line if the
// accountant is RDP.
func (b *balance) price(method accountant.Method, more *charge) (line, total float64, err error) {
	if line, err = b.onOrders(more); err != nil {
		return 0, 0, err
	}
	if line <= b.cfg.Epsilon && method != accountant.ByPLD {
		return line, line, nil
	}
	return b.least(method, line, more)
}

// least is price without the short cut for a line that fits.
func (b *balance) least(method accountant.Method, line float64, more *charge) (_, total float64, err error) {
	if method == accountant.ByRDP && !b.refine {
		return line, line, nil
	}
	claim, err := b.claim(method, b.cfg.Delta, more)
	if err != nil {
		return 0, 0, err
	}
	total = math.Min(line, claim.Upper)
	if method == accountant.ByRDP {
		line = claim.Upper
	}
	return line, total, nil
}

// alone returns the cost of events on a ledger of their own.
func (b *balance) alone(charges ...*charge) float64 {
	if b.cfg.Mode == Filter || b.cfg.Method() == accountant.ByRDP {
		return b.aloneOnOrders(charges[0])
	}
	empty := &balance{cfg: b.cfg, refine: b.refine}
	claim, err := empty.claim(b.cfg.Method(), b.cfg.Delta, charges...)
	if err != nil {
		return math.Inf(1)
	}
	return claim.Upper
}

// within checks that the reservations read fit the budget, unless they are sealed: nothing in the file
// proves that another version let them in, and nothing was drawn before a seal.
func (c *chain) within() error {
	if !c.above || c.sealed {
		return nil
	}
	total, err := c.balance.total()
	if err != nil {
		return err
	}
	if !(total.Epsilon <= c.balance.cfg.Epsilon) {
		return &CorruptError{c.lines, c.tooMuch(total.Epsilon)}
	}
	return nil
}

// tooMuch returns the refusal of events that cost more than the budget, with advice where they may have
// fitted by another version.
func (c *chain) tooMuch(epsilon float64) string {
	cfg := c.balance.cfg
	reason := fmt.Sprintf("the events make epsilon %v, above the budget of %v", epsilon, cfg.Epsilon)
	again, err := c.balance.claim(cfg.Method(), cfg.Delta)
	if err != nil || !plausible(cfg.Epsilon, accountant.Bound{Lower: math.Min(again.Floor, epsilon), Upper: epsilon}) {
		return reason
	}
	return fmt.Sprintf("%s by no more than privacy loss distributions of two versions differ: %s, which made the file, "+
		"may have found that they fit. It is not sealed, so nothing was released under it: "+
		"start another ledger with a little more noise or budget, or use this one with that version, whose seal holds",
		reason, c.header.Library)
}

// claimOfSeal checks the epsilon of a seal, and returns the claim: the larger of the seal and the epsilon
// that this version proves; "File" in the package comment has the reasons. A seal below that epsilon is refused
// if it is below the floor, by Rényi divergences, or lower by more than claimSlip.
func (c *chain) claimOfSeal(seal float64, by accountant.Method) (Claim, error) {
	cfg := c.balance.cfg
	if (by == "") != (cfg.Method() == accountant.ByRDP) {
		return Claim{}, fmt.Errorf("it names accountant %q, on a ledger of accountant %q", by, cfg.Method())
	}
	if by == "" {
		if err := c.within(); err != nil {
			return Claim{}, err
		}
	} else if !(seal <= cfg.Epsilon) {
		return Claim{}, fmt.Errorf("it says epsilon %v, above the budget of %v", seal, cfg.Epsilon)
	}
	claim, err := c.total()
	if err != nil {
		return Claim{}, err
	}
	proven := claim.Epsilon
	if claim.Epsilon = math.Max(seal, proven); near(seal, proven) {
		return claim, nil
	}
	wrong := fmt.Errorf("it says epsilon %v, the events make %v", seal, proven)
	if by == "" {
		return Claim{}, wrong
	}
	again, err := c.balance.claim(cfg.Method(), cfg.Delta)
	if err != nil {
		return Claim{}, err
	}
	claim.Sealed, claim.Again = seal, &accountant.Bound{Lower: math.Min(again.Floor, proven), Upper: proven}
	if seal < proven && (by != accountant.ByPLD || again.By != accountant.ByPLD) || !plausible(seal, *claim.Again) {
		return Claim{}, wrong
	}
	if seal > proven {
		claim.By = by
	}
	return claim, nil
}

// plausible reports whether a seal may be the upper end that another version found.
func plausible(seal float64, in accountant.Bound) bool {
	return seal >= in.Lower && in.Upper-seal <= math.Max(claimGap, claimSlip*in.Upper)
}

const (
	claimGap  = 2e-3  // two versions may end so far apart at least,
	claimSlip = 0.005 // and so far relative to epsilon
)
