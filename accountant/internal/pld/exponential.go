package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// For Laplace noise at sensitivity/scale = epsilon, w is e^{-epsilon/2}/4. This pair also has atoms under P,
// of mass 1/2 at epsilon and e^-epsilon/2 at -epsilon.
//
// Without atoms and with w = 1/(4 sinh(epsilon/2)), the pair dominates every epsilon-bounded-range mechanism.
// The worst pairs of distributions have two outcomes, with losses t and t-epsilon (Dong, Durfee, Rogers
// 2020). At ratio g, their hockey-stick divergence is (e^eps - e^t)(1 - g e^-t)/(e^eps - 1). Its maximum over
// t, at e^t = sqrt(g e^eps), is (e^{eps/2} - sqrt g)^2/(e^eps - 1). This maximum is convex in g, and equals
// the divergence of the pair.

// exponential is a pair (P, Q) of distributions. On [-epsilon, epsilon], the loss has density w e^{loss/2}
// under P and w e^{-loss/2} under Q. The method logWeight returns log w.
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

// cells requires a step h that divides epsilon.
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
