package accountant

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// Optimal accounts by optimal composition (Kairouz, Oh, Viswanath 2015): the
// smallest epsilon that can be said of mechanisms of which nothing but their
// (epsilon, delta) is known. Equal epsilons, and a few different ones, are
// composed exactly, by the law of the total loss of randomised responses; many
// different ones on a grid of 4096 losses, each mass split between its two
// neighbours so that both laws keep their totals, which errs upwards by a
// fraction of a cell (Murtagh, Vadhan 2016 show that no fast method is
// exact). Beyond 512 different epsilons, delta below 1e-200 or about 10^9 equal runs
// the answer is that of Advanced. Events with a trade-off take equal shares of
// delta, in the best split. Its Lower is always 0.
type Optimal struct{ composition }

var _ Accountant = (*Optimal)(nil)

// NewOptimal starts an empty account.
func NewOptimal(rel Relation) (*Optimal, error) {
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
		return math.Min(fallback, epsilonOfLaw(productLaw(windows), left))
	case len(rs) > 1 && len(rs) <= maxGroups && widest <= maxAtoms && slack > 1e-200:
		law := gridLaw(windows, slack)
		return math.Min(fallback, epsilonOfLaw(law, left*(1-1e-15)))
	}
	return fallback
}

// lossWindow is the loss of equal randomised responses: with k of count answers
// true it is (2k - count) epsilon, and k is binomial. All but e^logCut of the
// mass on either side has first <= k <= last.
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
			if (logBinomial(mid, r.count, w.logp, w.logq) > low) == rising {
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

// lossAtom is one value of the total loss and the log of its mass.
type lossAtom struct{ loss, logMass float64 }

// productLaw lists the total losses of independent windows.
func productLaw(ws []lossWindow) []lossAtom {
	atoms := []lossAtom{{0, 0}}
	for _, w := range ws {
		next := make([]lossAtom, 0, len(atoms)*int(w.last-w.first+1))
		for k := w.last; k >= w.first; k-- {
			loss, logMass := float64(2*k-w.count)*w.epsilon, logBinomial(k, w.count, w.logp, w.logq)
			for _, a := range atoms {
				next = append(next, lossAtom{a.loss + loss, a.logMass + logMass})
			}
		}
		atoms = next
	}
	return atoms
}

// epsilonOfLaw returns the least epsilon >= 0 whose E[(1 - e^{epsilon - L})_+]
// is at most delta. Over the atoms of loss at least some value, with masses A
// under the first law and B under the second, that expectation is at least
// A - e^epsilon B, with equality for the right value: epsilon is the largest
// log((A - delta)/B). Masses are kept in units of delta.
func epsilonOfLaw(atoms []lossAtom, delta float64) float64 {
	slices.SortFunc(atoms, func(a, b lossAtom) int {
		switch {
		case a.loss > b.loss:
			return -1
		case a.loss < b.loss:
			return 1
		}
		return 0
	})
	logDelta := mathx.Log(delta)
	// The masses are good to a few units in the last place of their logs.
	u := 4e-15 - 1e-15*logDelta
	var first, second, excess compensated // A, B e^ref, A - B
	ref := math.Inf(1)
	best := 0.0
	for _, a := range atoms {
		if a.loss <= 0 {
			break
		}
		mass := math.Exp(a.logMass - logDelta)
		if math.IsInf(ref, 1) {
			ref = a.loss
		}
		if ref-a.loss > 20 { // in units of delta >= 1e-290 more would overflow
			second.scale(math.Exp(a.loss - ref))
			ref = a.loss
		}
		first.add(mass)
		second.add(mass * math.Exp(ref-a.loss))
		excess.add(mass * -math.Expm1(-a.loss))
		gain := first.sum()*(1+u) - 1
		if gain <= 0 {
			continue
		}
		eps := math.Log(gain/(second.sum()*(1-u))) + ref
		if eps < 0.5 && ref < 300 {
			if e := excess.sum()*(1+u) - 1; e > 0 {
				eps = math.Log1p(e / (second.sum() * math.Exp(-ref) * (1 - u)))
			} else {
				eps = 0
			}
		}
		best = math.Max(best, eps)
	}
	return best * (1 + 4e-15)
}

// compensated is a sum that carries its rounding error (Neumaier 1974).
type compensated struct{ s, c float64 }

func (k *compensated) add(x float64) {
	t := k.s + x
	if math.Abs(k.s) >= math.Abs(x) {
		k.c += (k.s - t) + x
	} else {
		k.c += (x - t) + k.s
	}
	k.s = t
}

func (k *compensated) scale(f float64) { k.s, k.c = k.s*f, k.c*f }

func (k *compensated) sum() float64 { return k.s + k.c }
