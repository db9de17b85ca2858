package theorems

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// gridLaw composes windows on a grid of losses whose cell is the total spread over 4096. A mass m at loss l
// + x between the grid points l and l + h leaves m (1 - e^-x)/(1 - e^-h) to the right and the rest to the
// left: both laws keep their totals, and every hockey-stick divergence can only grow. Rounding is relative,
// since nothing is subtracted.
func gridLaw(ws []lossWindow, slack float64) []mathx.LossAtom {
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

// lossGrid is a mass function on first, first+1, ... cells.
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

// trim cuts off at most cut on either side; the caller has charged it.
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
