package ledger

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Why a ledger of mode Reserved may claim by privacy loss distributions.
//
// The first use writes the seal, after which Reserve fails, so the events are a multiset that does not depend
// on any answer of this ledger. Which event is used next, and whether it is used at all, may depend on
// answers. The induction in package accountant, "The order may be adaptive", covers that: in every
// hockey-stick divergence the product of the pairs of all reserved events dominates the run. An unused event
// can be drawn and discarded, which is post-processing. A session that keeps noise between answers is one
// step; the theorems on concurrent composition cited there cover sessions side by side. Rényi curves bound
// the same run. Both bounds depend on the multiset alone, so their minimum, taken once, is a bound at every
// delta.
//
// None of this holds in mode Filter, where earlier answers choose the next event. "Continue while the total
// of the privacy loss distributions is in budget" bounds no release: runs that end early and late have
// different distributions, and no theorem adds them up at one delta. Rényi divergences at an order fixed in
// advance do add up.
//
// An event that bounds only the Rényi divergences of its mechanism is marked in the [Use], and refused here.

// Claim is the epsilon of everything reserved, with the accountant that proved it.
type Claim struct {
	Epsilon float64           // for a sealed ledger, the larger of the seal and the upper end proved now
	By      accountant.Method // ByPLD or ByRDP
	// Lack is the reason why privacy loss distributions, where they were tried, gave no bound.
	Lack error
	// If the seal differs from the epsilon that this version proves, Sealed is the epsilon of the seal, and
	// Again is this version's interval of the events' epsilon. Otherwise they are 0 and nil.
	Sealed float64
	Again  *accountant.Bound
}

// claim returns the cost at delta of everything reserved and the charges in more.
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

// total returns the epsilon of everything reserved: in mode Reserved a bound, by the accountant of the
// ledger; in mode Filter the total that the filter admitted, which bounds nothing.
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

// price returns the epsilon to record in the line that reserves one run of more, and the total that has to
// fit the budget. Normally both are the least over the orders, whose time does not grow with earlier lines.
// If that exceeds the budget, or method is ByPLD, the total is the least that the accountant proves; so is
// the line, if the accountant is RDP.
func (b *balance) price(method accountant.Method, more *charge) (line, total float64, err error) {
	if line, err = b.onOrders(more); err != nil {
		return 0, 0, err
	}
	if line <= b.cfg.Epsilon && method != accountant.ByPLD {
		return line, line, nil
	}
	return b.least(method, line, more)
}

// least is price without the shortcut for a line that fits.
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

// alone returns the cost of the charges on an empty ledger. In mode Filter and by RDP only the first counts.
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

// within checks that the reservations read fit the budget, unless they are sealed. Unsealed, the file does
// not prove that another version admitted them, and nothing was drawn under them.
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

// tooMuch returns the message that refuses events that cost more than the budget, with advice if they may
// have fitted under another version.
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
// that this version proves. "File" in the package comment has the reasons. A seal below the proven epsilon is
// refused if it is below the floor, by Rényi divergences, or lower by more than claimSlip.
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

// plausible reports whether a seal can be the upper end that another version proved for the interval in.
func plausible(seal float64, in accountant.Bound) bool {
	return seal >= in.Lower && in.Upper-seal <= math.Max(claimGap, claimSlip*in.Upper)
}

const (
	claimGap  = 2e-3  // two versions may end so far apart at least,
	claimSlip = 0.005 // and so far relative to epsilon
)
