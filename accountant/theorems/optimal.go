package theorems

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Optimal accounts by optimal composition (Kairouz, Oh, Viswanath 2015): the smallest epsilon that can be
// said of mechanisms of which nothing but their (epsilon, delta) is known. Equal epsilons, and a few
// different ones, are composed exactly, by the law of the total loss of randomised responses; many
// different ones on a grid of 4096 losses, each mass split between its two neighbours so that both laws
// keep their totals, which errs upwards by a fraction of a cell (Murtagh, Vadhan 2016 show that no fast
// method is exact). Beyond 512 different epsilons, delta below 1e-200 or about 10^9 equal runs the answer
// is that of Advanced. Events with a trade-off take equal shares of delta, in the best split. Its Lower is
// always 0.
type Optimal struct{ composition }

var _ accountant.Accountant = (*Optimal)(nil)

// NewOptimal starts an empty account.
func NewOptimal(rel accountant.Relation) (*Optimal, error) {
	c, err := newComposition(rel, advancedEpsilon, optimalEpsilon)
	return &Optimal{c}, err
}

const (
	maxAtoms  = 1 << 19 // of an exact composition of equal epsilons, or of one window of many
	maxMixed  = 1 << 14 // and of different ones
	maxGroups = 512     // different epsilons on the grid
)

func optimalEpsilon(rs []runs, slack float64) float64 {
	fallback := advancedEpsilon(rs, slack)
	if !(slack > 1e-290) || math.IsInf(fallback, 1) || len(rs) == 0 {
		return fallback
	}
	// What the windows cut off is charged as failure: e^-40 of slack in all.
	logCut := math.Log(slack) - 40 - math.Log(float64(2*len(rs)))
	windows := make([]lossWindow, len(rs))
	atoms, widest := 1.0, 0.0
	for i, r := range rs {
		if r.count > 1<<53 { // no exact float64 count
			return fallback
		}
		windows[i] = newLossWindow(r, logCut)
		width := float64(windows[i].last - windows[i].first + 1)
		atoms, widest = atoms*width, math.Max(widest, width)
	}
	left := slack * (1 - 1e-16)
	switch {
	case atoms <= maxMixed, len(rs) == 1 && atoms <= maxAtoms:
		return math.Min(fallback, mathx.EpsilonOfLaw(productLaw(windows), left))
	case len(rs) > 1 && len(rs) <= maxGroups && widest <= maxAtoms && slack > 1e-200:
		law := gridLaw(windows, slack)
		return math.Min(fallback, mathx.EpsilonOfLaw(law, left*(1-1e-15)))
	}
	return fallback
}

// lossWindow is the loss of equal randomised responses: with k of count answers true it is (2k - count)
// epsilon, and k is binomial. All but e^logCut of the mass on either side has first <= k <= last.
type lossWindow struct {
	runs
	first, last int64
	logp, logq  float64
}

func newLossWindow(r runs, logCut float64) lossWindow {
	w := lossWindow{runs: r}
	w.logq = -r.epsilon - math.Log1p(math.Exp(-r.epsilon))
	w.logp = -math.Log1p(math.Exp(-r.epsilon))
	mode := min(r.count, int64(float64(r.count)*math.Exp(w.logp)))
	// Outside, no mass exceeds that of the edge, and there are count of them.
	low := logCut - math.Log(float64(r.count)+1)
	edge := func(lo, hi int64, rising bool) int64 {
		for lo < hi {
			mid := lo + (hi-lo)/2
			if (mathx.LogBinomial(mid, r.count, w.logp, w.logq) > low) == rising {
				hi = mid
			} else {
				lo = mid + 1
			}
		}
		return lo
	}
	w.first = edge(0, mode, true)
	w.last = edge(mode, r.count, false)
	return w
}

// productLaw lists the total losses of independent windows.
func productLaw(ws []lossWindow) []mathx.LossAtom {
	atoms := []mathx.LossAtom{{}}
	for _, w := range ws {
		next := make([]mathx.LossAtom, 0, len(atoms)*int(w.last-w.first+1))
		for k := w.last; k >= w.first; k-- {
			loss, logMass := float64(2*k-w.count)*w.epsilon, mathx.LogBinomial(k, w.count, w.logp, w.logq)
			for _, a := range atoms {
				next = append(next, mathx.LossAtom{Loss: a.Loss + loss, LogMass: a.LogMass + logMass})
			}
		}
		atoms = next
	}
	return atoms
}
