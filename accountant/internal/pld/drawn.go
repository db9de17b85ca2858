package pld

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// Sampling without replacement, q the share of the records that is drawn.
//
// Let records x and x' differ between two neighbours, V be the output when x is drawn, V' when x' is, and U
// when neither is: the outputs are A = (1-q)U + qV and B = (1-q)U + qV'. A subset without x is one of a
// record less and another record, so V, V' and U are mixtures, subset by subset, of neighbours under
// replacement. Let h be the hockey-stick divergence of the pair (P, Q) that dominates those. For g >= 1,
// with a = 1 + (g-1)/q and b = g/a,
//
//	A - g B = q (V - a ((1-b)U + b V')), so H_g(A, B) <= q h(a),
//
// which is H_g of ((1-q)Q + qP, Q) (Balle, Barthe, Gaboardi 2018). For g < 1 it is 1 - g + g H_{1/g}(B, A),
// which is bounded by the same. If (P, Q) is symmetric the two bounds join to a convex function, the
// divergence of one pair that is symmetric too: it dominates every pair of neighbours in both orders, hence
// their compositions (Zhu, Dong, Wang 2022, Theorem 10). Its losses above 0 are the losses of ((1-q)Q + qP,
// Q), those below their mirror image, and the rest has the loss 0. No data need attain it: the neighbours
// that are worst at g above 1 are not those that are worst below (Lebeda, Regehr, Kamath, Steinke 2024).
// What data attain is ((1-q)Q + qP, Q), in either order: all records but x look like x'.

// drawnMixture is that pair for Gaussian noise.
type drawnMixture struct{ mixture }

// logRest returns the log of the mass at loss 0: (1-q)(P - Q)[loss > 0].
func (m drawnMixture) logRest() float64 {
	return math.Log1p(-m.q) + math.Log(math.Erf(math.Sqrt2/4/m.sigma))
}

// cells cuts the pair up to zhi, and its mirror image.
func (m drawnMixture) cells(h, zhi float64, width gridWidths) *cells {
	up := m.mixture.above(h, 0.5/m.sigma, zhi, width)
	n := len(up.grid) - 1 // of cells on each side
	c := up.mirror()
	c.grid = append(c.grid, up.grid[1:]...)
	c.halfs = append(c.halfs, up.halfs...)
	c.rightP, c.rightQ, c.rightHigh, c.rightLow = up.rightP, up.rightQ, -1, n+up.rightLow
	c.leftLow = -1
	c.atoms = []gridAtom{{n, m.logRest()}}
	return c
}

// above cuts the pair between the output of loss 0 and zhi.
func (m mixture) above(h, zero, zhi float64, width gridWidths) *cells {
	hi := m.loss(zhi)
	c := newCells(h, 0, cut(0, hi, 0, h, width))
	c.rightP, c.rightQ = m.logTailP(zhi), mathx.LogNormalCDF(-zhi)
	c.rightLow = len(c.grid) - 2
	c.lossError = m.lossError(hi, zhi, m.slope(zhi))
	m.fill(c, zero, zhi, 0, hi)
	return c
}

// roughLaw integrates by Gauss and Legendre, as half a normal law ends where it is thick.
func (m drawnMixture) roughLaw(zhi float64) roughLaw {
	zero := 0.5 / m.sigma
	w := math.Max(math.Min(1, m.sigma), (zhi-zero)/500)
	var up roughLaw
	for z := zero; z < zhi; z += w {
		for _, node := range gaussLegendre8 {
			x := z + node[0]*w
			l := m.loss(x)
			up.loss = append(up.loss, l)
			up.logw = append(up.logw, mathx.LogNormalPDF(x)+l+math.Log(node[1]*w))
		}
	}
	down := up.mirror()
	return roughLaw{slices.Concat(down.loss, []float64{0}, up.loss), slices.Concat(down.logw, []float64{m.logRest()}, up.logw)}
}

// drawnResponse is that pair for randomised response: losses u, 0 and -u.
func drawnResponse(q, eps float64) *atoms {
	u := mathx.LogMix(q, eps)
	low := -math.Log1p(math.Exp(eps))
	return &atoms{h: u, off: -u, logBeyond: math.Inf(-1), logBefore: math.Inf(-1),
		logp: []float64{low, math.Log1p(-q) + math.Log(math.Tanh(eps/2)), low + u}}
}
