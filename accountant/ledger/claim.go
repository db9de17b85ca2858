package ledger

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Privacy loss distributions are valid for a ledger of mode Reserved. Proof:
//
//  1. The first use writes the seal, after which Reserve fails. So the events do not depend on any answer.
//  2. The order of use, and whether an event is used, may depend on answers. The product of the pairs of all
//     events still dominates the run in every hockey-stick divergence (package accountant, "The order may be
//     adaptive").
//  3. An unused event can be run and its result discarded, which is post-processing.
//  4. A session that keeps noise between answers is one step. Parallel sessions compose concurrently.
//  5. Rényi curves bound the same run. Both bounds depend only on the reserved events. So the smaller bound,
//     chosen once, is valid at every delta.
//
// In mode Filter earlier answers choose the next event, and the proof fails. Runs that stop early and late
// have different distributions. No theorem adds up their privacy loss distributions at one delta. Rényi
// divergences at a fixed order do add up.
//
// A ledger with privacy loss distributions refuses an event that bounds only Rényi divergences (see [Use]).

// Claim is the epsilon of all reservations, with the accountant that proved it.
type Claim struct {
	Epsilon float64           // sealed ledger: the larger of the seal and the upper bound of this version
	By      accountant.Method // ByPLD or ByRDP
	// Lack is the reason why privacy loss distributions gave no bound. It is nil if they gave a bound or were
	// not tried.
	Lack error
	// Sealed and Again are set only if the sealed epsilon and Again.Upper differ by more than rounding.
	Sealed float64           // epsilon of the seal
	Again  *accountant.Bound // interval that this version computes
}

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

// total returns the epsilon of all reservations. This epsilon is a guarantee only in mode Reserved.
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

// price returns two bounds on the total epsilon after the charge `more`. The next line of the ledger file
// contains the bound `line`. The bound `total` must fit the budget.
func (b *balance) price(method accountant.Method, more *charge) (line, total float64, err error) {
	// Normally both are the epsilon of onOrders, which is fast. If this exceeds the budget, or method is
	// ByPLD, total is the least epsilon that the accountant proves. In this case, if method is ByRDP, line
	// equals total.
	if line, err = b.onOrders(more); err != nil {
		return 0, 0, err
	}
	if line <= b.cfg.Epsilon && method != accountant.ByPLD {
		return line, line, nil
	}
	return b.least(method, line, more)
}

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

// alone returns the epsilon of the charges on an empty ledger. By Rényi divergences, only the first charge
// counts.
func (b *balance) alone(charges ...*charge) float64 {
	if b.cfg.Mode == Filter || b.cfg.Method() == accountant.ByRDP {
		return b.aloneOnOrders(charges[0]) // by Rényi divergences a batch is checked event by event
	}
	empty := &balance{cfg: b.cfg, refine: b.refine}
	claim, err := empty.claim(b.cfg.Method(), b.cfg.Delta, charges...)
	if err != nil {
		return math.Inf(1)
	}
	return claim.Upper
}

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

func (c *chain) tooMuch(epsilon float64) string {
	cfg := c.balance.cfg
	reason := fmt.Sprintf("the events give epsilon %v, above the budget of %v", epsilon, cfg.Epsilon)
	again, err := c.balance.claim(cfg.Method(), cfg.Delta)
	if err != nil || !plausible(cfg.Epsilon, accountant.Bound{Lower: math.Min(again.Floor, epsilon), Upper: epsilon}) {
		return reason
	}
	return fmt.Sprintf("%s by no more than privacy loss distributions of two versions differ: %s, which made the file, "+
		"may have found that they fit. It is not sealed, so nothing was released under this charge: "+
		"start another ledger with a little more noise or budget, or use this one with that version, whose seal holds",
		reason, c.header.Library)
}

// claimOfSeal checks the epsilon and the accountant `by` of a seal line.
func (c *chain) claimOfSeal(seal float64, by accountant.Method) (Claim, error) {
	// It returns the larger of the seal and the epsilon that this version proves (see "File" in the package
	// comment). A seal that is not plausible is an error. So is a seal below the proven epsilon, unless both
	// are by privacy loss distributions. With accountant ByRDP any difference is an error.
	cfg := c.balance.cfg
	if (by == "") != (cfg.Method() == accountant.ByRDP) {
		return Claim{}, fmt.Errorf("the line has accountant %q, but the ledger has accountant %q", by, cfg.Method())
	}
	if by == "" {
		if err := c.within(); err != nil {
			return Claim{}, err
		}
	} else if !(seal <= cfg.Epsilon) {
		return Claim{}, fmt.Errorf("the line has epsilon %v, above the budget of %v", seal, cfg.Epsilon)
	}
	claim, err := c.total()
	if err != nil {
		return Claim{}, err
	}
	proven := claim.Epsilon
	if claim.Epsilon = math.Max(seal, proven); nearlyEqual(seal, proven) {
		return claim, nil
	}
	wrong := fmt.Errorf("the line has epsilon %v, but its events give %v", seal, proven)
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

// plausible reports whether another version of this package may have sealed a ledger with the epsilon `seal`.
// This version computes the interval `in` for epsilon.
func plausible(seal float64, in accountant.Bound) bool {
	return seal >= in.Lower && in.Upper-seal <= math.Max(claimGap, claimSlip*in.Upper)
}

const (
	claimGap  = 2e-3  // allowed absolute difference between the upper bounds of two versions
	claimSlip = 0.005 // allowed difference relative to epsilon
)
