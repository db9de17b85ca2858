package theorems

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Theorem is a form of advanced composition.
type Theorem int

const (
	// BestTheorem, the default, is the smaller epsilon of DworkRoth and KairouzOhViswanath.
	BestTheorem Theorem = iota
	// DworkRoth is sqrt(2 log(1/d) sum eps^2) + sum eps (e^eps - 1), where d is the slack (Dwork, Roth 2014,
	// Theorem 3.20).
	DworkRoth
	// KairouzOhViswanath is the smallest of three epsilons, with slack d (Kairouz, Oh, Viswanath 2015,
	// Theorem 3.5):
	//
	//	sum eps
	//	sum eps (e^eps-1)/(e^eps+1) + sqrt(2 sum eps^2 log(1/d))
	//	sum eps (e^eps-1)/(e^eps+1) + sqrt(2 sum eps^2 log(e + sqrt(sum eps^2)/d))
	KairouzOhViswanath
)

// NewAdvanced returns an empty account by advanced composition of equal or different mechanisms. A search
// divides delta into a slack for the theorem and parts for events with an epsilon-delta curve.
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

func advancedEpsilon(rs []runs, slack float64) float64 {
	m := momentsOf(rs)
	return math.Min(basicEpsilon(rs), math.Min(m.dworkRoth(slack), m.kairouzOhViswanath(slack)))
}

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

// NewOptimal returns an empty account by optimal composition (Kairouz, Oh, Viswanath 2015). Its epsilon is
// the smallest that follows from the (epsilon, delta) of the mechanisms alone. If the mechanisms have only a
// few different epsilons, the result is exact.
func NewOptimal(rel accountant.Relation) (accountant.Accountant, error) {
	// Many different epsilons are composed on a grid of 4096 losses, because no fast method is exact
	// (Murtagh, Vadhan 2016). Each mass is split between the two nearest grid points, so that the totals
	// under both distributions stay the same. The result is too large by a fraction of a cell. Beyond 512
	// different epsilons or about 10^9 equal runs, the result is from NewAdvanced. The same applies if delta
	// is below 1e-200 on the grid, or below 1e-290 otherwise. All events with an epsilon-delta curve get
	// equal parts of delta, found by a search.
	return newComposition(rel, advancedEpsilon, optimalEpsilon)
}

const (
	maxAtoms  = 1 << 19 // of an exact composition of equal epsilons, or of the widest window on the grid
	maxMixed  = 1 << 14 // of an exact composition of different epsilons
	maxGroups = 512     // different epsilons on the grid
)

func optimalEpsilon(rs []runs, slack float64) float64 {
	fallback := advancedEpsilon(rs, slack)
	if !(slack > 1e-290) || math.IsInf(fallback, 1) || len(rs) == 0 {
		return fallback
	}
	// The mass outside the windows is charged as a failure of probability e^-40 times slack in total.
	logCut := math.Log(slack) - 40 - math.Log(float64(2*len(rs)))
	windows := make([]lossWindow, len(rs))
	atoms, widest := 1.0, 0.0
	for i, r := range rs {
		if r.count > 1<<53 { // float64 cannot hold the count exactly
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

// lossWindow is the total privacy loss of n equal randomised responses, where n is runs.count. If k of the n
// responses are true, the loss is (2k - n) epsilon. The window holds k from first to last. On each side it
// omits a mass of at most e^logCut (see newLossWindow).
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
	// At most count masses are outside. None of them exceeds the mass at the edge.
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

// gridLaw approximates the law of the total loss on a grid. Apart from the mass that trim removes, the
// approximation dominates the law.
func gridLaw(ws []lossWindow, slack float64) []mathx.LossAtom {
	// The step h is 1/4096 of the total spread. A mass m at loss l + x is split between the grid points l and
	// l + h. The right point gets m (1 - e^-x)/(1 - e^-h), and the left point gets the rest. This keeps the
	// total masses under both distributions, and no hockey-stick divergence gets smaller.
	spread := 0.0
	for _, w := range ws {
		half := float64(w.last-w.first+1) * w.epsilon
		spread += half * half
	}
	h := 2 * math.Sqrt(spread) / 4096
	cut := slack * math.Exp(-40) / float64(2*len(ws))

	law := lossGrid{mass: []float64{1}}
	for _, w := range ws {
		law = law.convolve(toGrid(w, h)).trim(cut)
	}
	atoms := make([]mathx.LossAtom, 0, len(law.mass))
	for i, m := range law.mass {
		if m > 0 {
			atoms = append(atoms, mathx.LossAtom{Loss: float64(law.first+i) * h, LogMass: math.Log(m) + 1e-11})
		}
	}
	return atoms
}

type lossGrid struct {
	first int
	mass  []float64
}

func toGrid(w lossWindow, h float64) lossGrid {
	at := func(k int64) float64 { return float64(2*k-w.count) * w.epsilon / h }
	g := lossGrid{first: int(math.Floor(at(w.first)))}
	g.mass = make([]float64, int(math.Floor(at(w.last)))-g.first+2)
	for k := w.first; k <= w.last; k++ {
		m := math.Exp(mathx.LogBinomial(k, w.count, w.logp, w.logq))
		x := at(k)
		cell := math.Floor(x)
		right := math.Min(1, math.Expm1(-(x-cell)*h)/math.Expm1(-h))
		g.mass[int(cell)-g.first] += m * (1 - right)
		g.mass[int(cell)-g.first+1] += m * right
	}
	return g
}

func (g lossGrid) convolve(o lossGrid) lossGrid {
	out := lossGrid{first: g.first + o.first, mass: make([]float64, len(g.mass)+len(o.mass)-1)}
	long, short := g.mass, o.mass
	if len(long) < len(short) {
		long, short = short, long
	}
	for i, m := range short {
		if m == 0 {
			continue
		}
		dst := out.mass[i : i+len(long)]
		for j, v := range long {
			dst[j] += m * v
		}
	}
	return out
}

// trim removes a mass of at most cut on each side. The caller must charge the removed mass as a failure
// probability.
func (g lossGrid) trim(cut float64) lossGrid {
	lo, hi := 0, len(g.mass)
	for sum := 0.0; lo < hi-1; lo++ {
		if sum += g.mass[lo]; sum > cut {
			break
		}
	}
	for sum := 0.0; hi > lo+1; hi-- {
		if sum += g.mass[hi-1]; sum > cut {
			break
		}
	}
	return lossGrid{g.first + lo, g.mass[lo:hi]}
}
