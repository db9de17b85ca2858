package audit

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/internal/mathx"
)

// Pairs counts pairs of runs by the runs in which an event happened. The first run of a pair is on one input,
// and the second run is on a neighbour.
type Pairs struct{ Both, First, Second, Neither int }

// Add counts one pair. The arguments report whether the event happened in its runs.
func (p *Pairs) Add(first, second bool) {
	switch {
	case first && second:
		p.Both++
	case first:
		p.First++
	case second:
		p.Second++
	default:
		p.Neither++
	}
}

// LowerBound returns a lower bound on epsilon at delta. With probability at least 1 - alpha, the bound is
// correct after every pair at once, so an audit may stop at any time. The event and the inputs of a pair may
// be chosen from all earlier pairs.
//
// If a mechanism is (epsilon, delta)-differentially private, then the gain of a pair,
//
//	1{event in the first run} - e^epsilon 1{event in the second run} - delta,
//
// has an expectation of at most 0. Gamblers start with 1 in total, and each bets a fixed number of times the
// gain on every pair, so their total wealth is a supermartingale. It reaches 1/alpha with probability at most
// alpha (Ville 1939; Waudby-Smith and Ramdas 2024). A gambler who could lose more than everything at epsilon
// does not bet. Hence the wealth decreases in epsilon, and the bound is where it falls below 1/alpha.
func (p Pairs) LowerBound(delta, alpha float64) float64 {
	poor := func(epsilon float64) bool { return p.logWealth(epsilon, delta) < rounding-math.Log(alpha) }
	if poor(0) {
		return 0
	}
	below, _ := mathx.Halve(60, poor, 0, gamblers*math.Ln2/2+1)
	return below
}

// gamblers is the number of gamblers. Gambler k bets 2^(-k/2).
const gamblers = 48

func (p Pairs) logWealth(epsilon, delta float64) float64 {
	var logs []float64
	growth := math.Exp(epsilon)
	for k := range gamblers {
		bet := math.Exp2(-float64(k) / 2)
		if bet*(growth+delta) >= 1 {
			continue
		}
		logs = append(logs, float64(p.Both)*math.Log1p(bet*(1-growth-delta))+float64(p.First)*math.Log1p(bet*(1-delta))+
			float64(p.Second)*math.Log1p(-bet*(growth+delta))+float64(p.Neither)*math.Log1p(-bet*delta))
	}
	if len(logs) == 0 {
		return math.Inf(-1)
	}
	return floats.LogSumExp(logs) - math.Log(gamblers)
}
