package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// exponential is a pair whose loss has density weight e^{loss/2} on [-epsilon, epsilon] under P, weight
// e^{-loss/2} under Q, and for the Laplace pair an atom of mass 1/2 at epsilon and e^-epsilon/2 at
// -epsilon.
//
// Laplace noise at sensitivity/scale = epsilon has weight e^{-epsilon/2}/4 and the atoms. Without atoms and
// with weight 1/(4 sinh(epsilon/2)) the pair dominates every epsilon-bounded-range mechanism: the two-point
// laws with losses t and t-epsilon have hockey-stick divergence (e^eps - e^t)(1 - g e^-t)/(e^eps - 1) at
// ratio g, largest at e^t = sqrt(g e^eps), and (e^{eps/2} - sqrt g)^2/(e^eps - 1), convex in g, is the
// divergence of this pair. The extreme laws are from Dong, Durfee, Rogers 2020.
type exponential struct {
	epsilon float64
	atoms   bool
}

func (e exponential) logWeight() float64 {
	if e.atoms {
		return -e.epsilon/2 - 2*math.Ln2
	}
	return -math.Ln2 - (e.epsilon/2 + mathx.Log1mExp(e.epsilon)) // 4 sinh(x/2) = 2 e^{x/2} (1 - e^-x)
}

// cells cuts the pair; h divides epsilon, so that the grid ends where it does.
func (e exponential) cells(h float64, width gridWidths) *cells {
	k := int(math.Round(e.epsilon / h))
	c := newCells(h, 0, cutBetween(-k, k, 0, h, width))
	c.lossError = 0x1p-50 * e.epsilon
	weight := e.logWeight()
	for i := range c.halfs {
		a, d := c.at(i/2), c.width(i/2)
		from, to := 0.0, d/2 // above a
		if i%2 == 1 {
			from, to = to, d
		}
		s := &c.halfs[i]
		s.scale, s.slack = weight+(a+from)/2, 0x1p-47
		s.mass = 2 * math.Expm1((to-from)/2)
		dev := func(at float64) float64 { // of e^{l/2} - e^{at} e^{-l/2}
			return 8 * math.Exp((at-from)/2) * math.Sinh((from+to-2*at)/4) * math.Sinh((to-from)/4)
		}
		s.left, s.right = dev(0), dev(d)
	}
	if e.atoms {
		last := len(c.grid) - 1
		c.atoms = []gridAtom{{0, -math.Ln2 - e.epsilon}, {last, -math.Ln2}}
	}
	return c
}
