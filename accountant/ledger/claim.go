package ledger

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Why a ledger of mode Reserved may claim by loss distributions.
//
// What is reserved is fixed before anything is drawn: the first use writes the seal, and after it Reserve
// fails. So the events are a multiset that no answer of this ledger has moved, however the reservations
// came about and in however many calls. Which of them is used next, and whether it is used at all, may
// depend on answers. The induction in package accountant, "The order may be adaptive", covers that: the run
// is dominated by the product of the pairs of all that was reserved, in every hockey-stick divergence, and
// what is not used can be drawn and thrown away, which is post-processing. A session that keeps noise
// between answers is one step of it; sessions side by side are covered by the theorems on concurrent
// composition cited there. Rényi curves bound the same run. Both are functions of the multiset alone, so
// their minimum, taken once over the whole, is a bound, at the ledger's delta and at any other.
//
// None of this holds in mode Filter, where the next event is chosen by earlier answers. "Go on while the
// total of the loss distributions is in budget" is no bound of what was released: the distributions of the
// runs that end early and late differ, and no theorem adds them up at one delta. Rényi divergences at an
// order fixed in advance do.
//
// An event may bound the Rényi divergences of a mechanism and not its loss distribution. Such a mechanism
// says so in its [Use], and is refused here.

// A Claim is the epsilon of everything reserved, and which accountant proved it.
type Claim struct {
	// Epsilon is an upper end that this version proves, or the seal of the ledger where that is larger.
	Epsilon float64
	By      accountant.Method // ByPLD or ByRDP
	// Lack says why loss distributions did not answer, where they were asked.
	Lack error
	// Sealed is the epsilon of the seal, and Again the interval in which this version finds that of the
	// events, where the two differ. Otherwise they are 0 and nil.
	Sealed float64
	Again  *accountant.Bound
}

// claim returns what everything and, if it is given, more cost together at delta.
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
	var claim accountant.Claim
	if err == nil {
		claim, err = account.Claim(context.Background(), delta)
	}
	if err != nil {
		return accountant.Claim{}, fmt.Errorf("ledger: %w", err)
	}
	return claim, nil
}

// total returns epsilon of everything reserved: in mode Reserved a bound, by the accountant of the ledger;
// in mode Filter what the filter has let through.
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

// price returns what a reservation of one run of more says, and the total that has to fit the budget. A
// line holds the least over the orders, which costs the same however much came before. Where only that
// exceeds the budget the total is the least that the ledger's accountant proves; if that is RDP it is what
// the line says.
func (b *balance) price(method accountant.Method, more *charge) (line, total float64, err error) {
	if line, err = b.onOrders(more); err != nil {
		return 0, 0, err
	}
	if line <= b.cfg.Epsilon && method != accountant.ByPLD {
		return line, line, nil
	}
	return b.least(method, line, more)
}

// least is price where it is asked for the least total, whether or not the line would fit.
func (b *balance) least(method accountant.Method, onOrders float64, more *charge) (line, total float64, err error) {
	line = onOrders
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

// alone returns what events would cost on a ledger of their own.
func (b *balance) alone(charges ...*charge) float64 {
	other := &balance{cfg: b.cfg, refine: b.refine}
	if b.cfg.Mode == Filter || b.cfg.Method() == accountant.ByRDP {
		return b.aloneOnOrders(charges[0])
	}
	claim, err := other.claim(b.cfg.Method(), b.cfg.Delta, charges...)
	if err != nil {
		return math.Inf(1)
	}
	return claim.Upper
}

// within checks that what was read and is not sealed yet fits the budget, as this version finds it. Another
// version, whose loss distributions end elsewhere in their gap, may have let it in. Nothing in the file
// proves that, no more than what a forger would have put there, so it is refused; as it is not sealed
// nothing was drawn under it, and the refusal costs no budget.
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

// tooMuch says that the events cost more than the budget and, where they may have fitted by another
// version, what can be done.
func (c *chain) tooMuch(epsilon float64) string {
	cfg := c.balance.cfg
	reason := fmt.Sprintf("the events make epsilon %v, above the budget of %v", epsilon, cfg.Epsilon)
	again, err := c.balance.claim(cfg.Method(), cfg.Delta)
	if err != nil || !plausible(cfg.Epsilon, accountant.Bound{Lower: math.Min(again.Floor, epsilon), Upper: epsilon}) {
		return reason
	}
	return fmt.Sprintf("%s by no more than loss distributions of two versions differ: %s, which made the file, may have found that they fit. "+
		"It is not sealed, so nothing was released under it: start another ledger with a little more noise or budget, or use this one with that version, whose seal holds",
		reason, c.header.Library)
}

// claimOfSeal checks the epsilon of a seal, and returns the claim: the seal, or what this version proves
// where that is more. Loss distributions are computed to a gap, and another version may end elsewhere in
// it, or prove more, so that a file whose seal differs is not damaged. But nothing in the file proves a
// seal below the upper end of this version: it may lie below the truth. One below the floor does, and so
// does one by Rényi divergences; where the floor is far off, what is missing may not exceed claimSlip
// either. Those are refused.
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

// plausible tells whether a seal may be the upper end that another version found.
func plausible(seal float64, in accountant.Bound) bool {
	return seal >= in.Lower && in.Upper-seal <= math.Max(claimGap, claimSlip*in.Upper)
}

const (
	// claimGap is how far apart two versions may end at least, and claimSlip how far relative to epsilon.
	claimGap  = 2e-3
	claimSlip = 0.005
)
