package theorems

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Theorem is a form of advanced composition.
type Theorem int

const (
	// BestTheorem is the smallest of the valid forms; it is the default.
	BestTheorem Theorem = iota
	// DworkRoth is Dwork, Roth 2014, Theorem 3.20: sqrt(2 log(1/d) sum eps^2) + sum eps (e^eps - 1).
	DworkRoth
	// KairouzOhViswanath is Kairouz, Oh, Viswanath 2015, Theorem 3.5, all three branches: the sum; and the
	// drift sum eps (e^eps-1)/(e^eps+1) plus sqrt(2 sum eps^2 log(1/d)) or sqrt(2 sum eps^2 log(e +
	// sqrt(sum eps^2)/d)).
	KairouzOhViswanath
)

// NewAdvanced starts an empty account by advanced composition, of mechanisms that differ as well as of
// equal ones. Delta is divided in the best way between the theorem's slack d, the deltas of the events and
// the shares of events with a trade-off. Its Lower is always 0.
func NewAdvanced(rel accountant.Relation, t Theorem) (accountant.Accountant, error) {
	var bound func(rs []runs, slack float64) float64
	switch t {
	case BestTheorem:
		bound = advancedEpsilon
	case DworkRoth:
		bound = func(rs []runs, slack float64) float64 { return momentsOf(rs).dworkRoth(slack) }
	case KairouzOhViswanath:
		bound = func(rs []runs, slack float64) float64 {
			return math.Min(basicEpsilon(rs), momentsOf(rs).kairouzOhViswanath(slack))
		}
	default:
		return nil, fmt.Errorf("theorems: %d is not a composition theorem", int(t))
	}
	return newComposition(rel, bound, bound)
}

// advancedEpsilon returns the smallest of all forms.
func advancedEpsilon(rs []runs, slack float64) float64 {
	m := momentsOf(rs)
	return math.Min(basicEpsilon(rs), math.Min(m.dworkRoth(slack), m.kairouzOhViswanath(slack)))
}

// lossMoments are the sums that the theorems use.
type lossMoments struct {
	squares   float64 // sum eps^2
	drift     float64 // sum eps (e^eps - 1)
	driftTanh float64 // sum eps (e^eps - 1)/(e^eps + 1)
}

func momentsOf(rs []runs) lossMoments {
	var m lossMoments
	for _, r := range rs {
		n := float64(r.count)
		m.squares += n * r.epsilon * r.epsilon
		m.drift += n * r.epsilon * math.Expm1(r.epsilon)
		m.driftTanh += n * r.epsilon * math.Tanh(r.epsilon/2)
	}
	return m
}

// roundUp widens a bound by what its few operations can have lost.
func roundUp(eps float64) float64 {
	if math.IsNaN(eps) {
		return math.Inf(1)
	}
	return eps * (1 + 2e-14)
}

func (m lossMoments) dworkRoth(slack float64) float64 {
	if m.squares == 0 {
		return 0
	}
	return roundUp(math.Sqrt(2*m.squares*math.Log(1/slack)) + m.drift)
}

func (m lossMoments) kairouzOhViswanath(slack float64) float64 {
	if m.squares == 0 {
		return 0
	}
	log := math.Min(math.Log(1/slack), math.Log(math.E+math.Sqrt(m.squares)/slack))
	return roundUp(math.Sqrt(2*m.squares*log) + m.driftTanh)
}
