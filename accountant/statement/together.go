package statement

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
)

func together(all []*Statement) (*Statement, error) {
	// Each ledger fixed an (ε, δ) bound before its first release. By basic composition all ledgers together
	// are (Σ ε, Σ δ)-DP, even if their releases are interleaved. Ledgers of mode Reserved are also composed
	// by Rényi divergences at Σ δ. The total is the smaller bound. This bound assumes that no budget was
	// chosen after a release of another ledger, as the page mentions.
	first := all[0]
	for i, b := range all {
		for _, a := range all[:i] {
			if err := differ(a, b); err != nil {
				return nil, err
			}
		}
	}
	t := &Statement{
		Schema: schema, Ledger: fmt.Sprintf("%d ledgers", len(all)), Unit: first.Unit, Relation: first.Relation, Mode: first.Mode,
		Accountant: first.Accountant, Conversion: first.Conversion, Library: first.Library, Complete: true,
		NotShown: notCharged(ledger.Config{Unit: first.Unit}), Noise: first.Noise, Released: []Released{}, Of: all,
	}
	var events []accountant.Event
	compared, known, withheld := true, true, false
	for _, s := range all {
		t.Entries += s.Entries
		t.Committed += s.Committed
		t.More += s.More
		t.Complete = t.Complete && (s.Complete || s.Mode == ledger.Filter)
		events = append(events, s.Schedule.Events...)
		t.Released = append(t.Released, s.Released...)
		compared = compared && s.Compared != nil && *s.Compared
		known = known && s.Release != nil
		withheld = withheld || s.Release != nil && !*s.Release
		if s.Noise != t.Noise {
			t.Noise = "unknown"
		}
		if s.Mode != t.Mode { // the text for filters is more cautious
			t.Mode = ledger.Filter
		}
	}
	t.Schedule = &accountant.Schedule{Relation: first.Relation, Events: events}
	t.Charged = charged(events)
	t.Compared = &compared
	if releasable := !withheld; known || withheld {
		t.Release = &releasable
	}
	return t, t.claim()
}

func (s *Statement) claim() error {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: s.Relation})
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	var epsilons, deltas, budgets, filters, fixed []float64 // fixed holds the deltas of ledgers with fixed charges
	composed := true
	for _, l := range s.Of {
		epsilons, deltas, budgets = append(epsilons, l.epsilon()), append(deltas, l.Budget.Delta), append(budgets, float64(*l.Budget.Epsilon))
		if l.Mode == ledger.Filter {
			filters = append(filters, l.epsilon())
			continue
		}
		fixed = append(fixed, l.Budget.Delta)
		composed = composed && !l.sum.Exhausted
		for _, e := range l.Schedule.Events {
			composed = composed && account.Compose(e, 1) == nil
		}
	}
	total := sumUp(epsilons)
	if delta := sumUp(fixed); composed && len(fixed) > 1 && delta < 1 {
		if claim, err := account.Epsilon(context.Background(), delta); err == nil && !math.IsNaN(claim.Upper) {
			total = math.Min(total, sumUp(append(filters, claim.Upper)))
		}
	}
	epsilon, budget, delta := bound(total), bound(sumUp(budgets)), math.Min(1, short(sumUp(deltas)))
	s.Budget, s.Claims = Claim{&budget, delta}, []Claim{{&epsilon, delta}}
	s.Warning = Warning(total)
	s.Attacker = AttackerOf(total, delta, accountant.AutoConfig{})
	return nil
}

func sumUp(xs []float64) float64 {
	total := new(big.Float).SetPrec(2200) // holds any sum of float64 exactly
	for _, x := range xs {
		if math.IsInf(x, 1) {
			return x
		}
		total.Add(total, new(big.Float).SetFloat64(x))
	}
	sum, side := total.Float64()
	if side == big.Below {
		sum = math.Nextafter(sum, math.Inf(1))
	}
	return sum
}

func differ(a, b *Statement) error {
	mix := func(format string, args ...any) error {
		return &fault.Error{What: fmt.Sprintf("%s and %s: ", a.Ledger, b.Ledger) + fmt.Sprintf(format, args...),
			Why: "a statement has one total cost, so each ledger may be given once, and all must have the same unit and relation",
			Fix: "omit one ledger, or write a statement for each"}
	}
	switch {
	case a.ID != "" && a.ID == b.ID, a.Head.Lines > 0 && a.Head == b.Head:
		return mix("both files are the same ledger, or copies of it")
	case a.Unit != b.Unit:
		return mix("the first ledger protects one %s, but the second protects one %s", Plain(a.Unit), Plain(b.Unit))
	case a.Relation != b.Relation:
		return mix("the first ledger has relation %v, but the second has relation %v", a.Relation, b.Relation)
	}
	return nil
}
