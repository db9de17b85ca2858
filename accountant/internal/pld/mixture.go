package pld

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// mixture dominates one Poisson-sampled Gaussian step when a record is removed. At q = 1 it is the unsampled
// Gaussian step. The loss log(1-q+q e^u), u = z/sigma - 1/(2 sigma^2), increases in z.

// mixture is the pair P = (1-q) N(0,1) + q N(1/sigma,1), Q = N(0,1).
type mixture struct{ q, sigma float64 }

func (m mixture) exponent(z float64) float64 { return z/m.sigma - 0.5/(m.sigma*m.sigma) }

func (m mixture) loss(z float64) float64 {
	return mathx.LogMix(m.q, m.exponent(z))
}

func (m mixture) slope(z float64) float64 {
	return 1 / (1 + (1-m.q)/m.q*math.Exp(-m.exponent(z)))
}

func (m mixture) lossError(loss, z, slope float64) float64 {
	return 0x1p-50 * (math.Abs(loss) + slope*(z/m.sigma+0.5/(m.sigma*m.sigma)))
}

func (m mixture) at(loss float64) float64 {
	return m.sigma*mathx.LogUnmix(m.q, loss) + 0.5/m.sigma
}

func (m mixture) logTailP(z float64) float64 { // P[> z]
	full := mathx.LogNormalCDF(1/m.sigma - z)
	if m.q == 1 {
		return full
	}
	return mathx.LogAddExp(math.Log1p(-m.q)+mathx.LogNormalCDF(-z), math.Log(m.q)+full)
}

func (m mixture) logHeadP(z float64) float64 { // P[< z]
	full := mathx.LogNormalCDF(z - 1/m.sigma)
	if m.q == 1 {
		return full
	}
	return mathx.LogAddExp(math.Log1p(-m.q)+mathx.LogNormalCDF(z), math.Log(m.q)+full)
}

func (m mixture) anchor(h float64) (x float64, whole bool) {
	at := func(reach float64) float64 {
		return anchor(reach, math.Log1p(-m.q), 0, func(below float64) float64 {
			z := m.at(below)
			share := math.Exp(mathx.LogNormalCDF(z-1/m.sigma) - mathx.LogNormalCDF(z))
			return math.Log1p(m.q * (share - 1))
		})
	}
	x = at(h / 2)
	right := func(d float64) float64 { return math.Exp(mathx.LogNormalCDF(-m.at(x + d))) }
	// If the density falls steeply, too few outputs lie above x + h to mix with the outputs just below.
	if whole = right(h/2) > 1.6*right(h); whole {
		x = at(h)
	}
	return x, whole
}

func (m mixture) origin(h float64, merge bool) (off float64, whole bool) {
	switch {
	case m.q == 1:
		return 0, false
	case merge:
		return m.anchor(h)
	}
	return math.Log1p(-m.q), false
}

func (m mixture) cells(h, off, zlo, zhi float64, merge bool, width gridWidths) *cells {
	lo, hi := m.loss(zlo), m.loss(zhi)
	bottom := lo // extended to the least loss, if that is near, to bound the mass left of zlo
	least := math.Log1p(-m.q)
	if lo-least < 1000*h {
		bottom = least
	}
	c := newCells(h, off, cut(bottom, hi, off, h, width))
	c.leftP, c.leftQ = m.logHeadP(zlo), mathx.LogNormalCDF(zlo)
	c.rightP, c.rightQ = m.logTailP(zhi), mathx.LogNormalCDF(-zhi)
	if bottom == least {
		c.leftLow = 0
	}
	c.leftHigh = c.first(1, lo)
	c.rightLow = len(c.grid) - 2
	c.lossError = m.lossError(math.Max(math.Abs(lo), math.Abs(hi)), math.Abs(zhi), m.slope(zhi))
	if m.q < 1 && merge {
		c.lowest = c.first(0, c.off)
	}
	m.fill(c, zlo, zhi, lo, hi)
	return c
}

func (m mixture) fill(c *cells, z0, zhi, l0, hi float64) {
	c.pieces = int(m.pieces(z0, zhi))
	from, fresh := m.output(z0, l0), true
	for i := range c.halfs {
		a, d := c.at(i/2), c.width(i/2)
		end, below := a+d/2, d/2 // the loss at the end of this half; distance of its start from a
		if i%2 == 0 {
			below = 0
		} else {
			end = a + d
		}
		z1 := math.Min(zhi, m.at(end))
		if z1 <= from.z {
			c.halfs[i].scale = math.Inf(-1)
			continue
		}
		if fresh {
			below, fresh = from.loss-a, false
		}
		to := m.output(z1, math.Min(end, hi))
		c.halfs[i] = m.half(from, to, below, d)
		from = to
	}
}

type output struct{ z, loss, slope float64 }

func (m mixture) output(z, loss float64) output { return output{z, loss, m.slope(z)} }

// maxPieces bounds the number of intervals of one numerical integral. Only a tiny sigma needs more intervals.
// For a tiny sigma, RDP is equally good.
const maxPieces = 1 << 18

func (m mixture) pieces(zlo, zhi float64) float64 {
	return 2 * (zhi - zlo) * (1 + math.Max(math.Abs(zlo), math.Abs(zhi)) + 1/m.sigma)
}

func (m mixture) half(from, to output, below, d float64) halfCell {
	// The argument below is the loss from.loss minus the loss at the left end of the whole cell. On each
	// piece the integrand is a polynomial up to rounding. Let a piece start at z0, with loss l0 and slope p.
	// With E = e^{(z-z0)/sigma}-1, the density ratio is e^l0 (1 + p E). So P - e^c Q is e^l0 times the
	// integral of phi (p E - (e^{c-l0} - 1)).
	z0, z1, l0 := from.z, to.z, from.loss
	near := 0.0 // where the density of Q is largest
	if z0 > 0 {
		near = z0
	} else if z1 < 0 {
		near = z1
	}
	out := halfCell{scale: mathx.LogNormalPDF(near) + l0}
	far := math.Max(math.Abs(z0), math.Abs(z1))
	out.slack = (48+4*far*far)*0x1p-53 + m.lossError(l0, far, to.slope)
	for z := z0; z < z1; {
		p := from.slope
		if z > z0 {
			p = m.slope(z)
		}
		w := 0.5 / (1 + math.Abs(z) + 1/m.sigma)
		if p < 1e-16 { // here the ratio is constant to rounding
			w = math.Max(w, math.Min(0.5/(1+math.Abs(z)), m.sigma*math.Log(1e-16/p)))
		}
		end := z + w
		if end >= z1 || z1-end < w/4 {
			end = z1
			w = z1 - z
		}
		rise := 0.0 // loss at z, above l0
		if z > z0 {
			rise = math.Log1p(from.slope * math.Expm1((z-z0)/m.sigma))
			if !mathx.IsFinite(rise) || from.slope < 1e-290 {
				rise = m.loss(z) - l0
			}
		}
		i0, i1 := 0.0, 0.0
		for _, node := range gaussLegendre(w * (1 + math.Abs(z) + 1/m.sigma)) {
			t := z + node[0]*w
			g := node[1] * w * mathx.Exp((near-t)*(near+t)/2)
			i0 += g
			i1 += g * mathx.Expm1(node[0]*w/m.sigma)
		}
		unit := mathx.Exp(rise)
		out.mass += unit * (i0 + p*i1)
		out.left += unit * (p*i1 - mathx.Expm1(-below-rise)*i0)
		out.right += unit * (p*i1 - mathx.Expm1(d-below-rise)*i0)
		z = end
	}
	return out
}

// gaussLegendre returns the nodes and weights of an integration rule on [0, 1].
func gaussLegendre(turn float64) [][2]float64 {
	// The integrand is a density whose logarithm changes by about the argument turn, or such a density times
	// a loss that rises from 0. With n nodes the relative error is at most about 2n c turn^(2n-1)
	// (n!)^4/((2n+1) (2n)!^3) < 2^-56. The constant c is below 10 for 3 nodes and below 60 for 4 nodes, for
	// densities near their peak.
	switch {
	case turn < 0.005:
		return gaussLegendre3[:]
	case turn < 0.05:
		return gaussLegendre4[:]
	}
	return gaussLegendre8[:]
}

var gaussLegendre3 = [3][2]float64{
	{0.1127016653792583115, 0.2777777777777777778}, {0.5, 0.4444444444444444444},
	{0.8872983346207416885, 0.2777777777777777778},
}

var gaussLegendre4 = [4][2]float64{
	{0.0694318442029737124, 0.1739274225687269287}, {0.3300094782075718676, 0.3260725774312730713},
	{0.6699905217924281324, 0.3260725774312730713}, {0.9305681557970262876, 0.1739274225687269287},
}

var gaussLegendre8 = [8][2]float64{
	{0.0198550717512318842, 0.0506142681451881296}, {0.1016667612931866302, 0.1111905172266872352},
	{0.2372337950418355071, 0.1568533229389436437}, {0.4082826787521750976, 0.1813418916891809915},
	{0.5917173212478249024, 0.1813418916891809915}, {0.7627662049581644929, 0.1568533229389436437},
	{0.8983332387068133698, 0.1111905172266872352}, {0.9801449282487681158, 0.0506142681451881296},
}

// Sampling without replacement, where q is the drawn fraction of the records.
//
//   1. Let neighbours differ by records x and x'. Let V be the output when x is drawn, V' when x' is drawn,
//      and U when neither is drawn. The outputs are A = (1-q)U + qV and B = (1-q)U + qV'.
//   2. A subset without x is a smaller subset with another record in place of x. So V, V' and U are mixtures,
//      subset by subset, of neighbours under replacement. Let (P, Q) dominate these, with hockey-stick
//      divergence h.
//   3. For g >= 1, with a = 1 + (g-1)/q and b = g/a, A - g B = q (V - a ((1-b)U + b V')). So H_g(A, B) <= q
//      h(a). This is H_g of ((1-q)Q + qP, Q) (Balle, Barthe, Gaboardi 2018).
//   4. For g < 1, H_g(A, B) = 1 - g + g H_{1/g}(B, A), and step 3 bounds H_{1/g}(B, A).
//   5. If (P, Q) is symmetric, the two bounds join to a convex function, the divergence of one symmetric
//      pair. This pair dominates every pair of neighbours in both directions, and so their compositions (Zhu,
//      Dong, Wang 2022, Theorem 10). Its losses above 0 are the losses of ((1-q)Q + qP, Q). Its losses below
//      0 are their mirror image. The rest of the mass has loss 0.
//
// Data need not attain this pair: the worst neighbours for g > 1 are not the worst for g < 1 (Lebeda, Regehr,
// Kamath, Steinke 2024). Data in which all records but x equal x' attain ((1-q)Q + qP, Q), in either
// direction.

type drawnMixture struct{ mixture }

// logRest returns the log of the mass at loss 0. This mass is (1-q) (P[loss > 0] - Q[loss > 0]), where P and
// Q are the output distributions without sampling.
func (m drawnMixture) logRest() float64 {
	return math.Log1p(-m.q) + math.Log(math.Erf(math.Sqrt2/4/m.sigma))
}

func (m drawnMixture) cells(h, zhi float64, width gridWidths) *cells {
	up := m.mixture.above(h, 0.5/m.sigma, zhi, width)
	n := len(up.grid) - 1 // cells on each side
	c := up.mirror()
	c.grid = append(c.grid, up.grid[1:]...)
	c.halfs = append(c.halfs, up.halfs...)
	c.rightP, c.rightQ, c.rightHigh, c.rightLow = up.rightP, up.rightQ, -1, n+up.rightLow
	c.leftLow = -1
	c.atoms = []gridAtom{{n, m.logRest()}}
	return c
}

func (m mixture) above(h, zero, zhi float64, width gridWidths) *cells {
	hi := m.loss(zhi)
	c := newCells(h, 0, cut(0, hi, 0, h, width))
	c.rightP, c.rightQ = m.logTailP(zhi), mathx.LogNormalCDF(-zhi)
	c.rightLow = len(c.grid) - 2
	c.lossError = m.lossError(hi, zhi, m.slope(zhi))
	m.fill(c, zero, zhi, 0, hi)
	return c
}

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

// drawnResponse returns a dominating pair for randomised response on a fraction q of the records, drawn
// without replacement.
func drawnResponse(q, eps float64) *atoms {
	u := mathx.LogMix(q, eps)
	low := -math.Log1p(math.Exp(eps))
	return &atoms{h: u, off: -u, logBeyond: math.Inf(-1), logBefore: math.Inf(-1),
		logp: []float64{low, math.Log1p(-q) + math.Log(math.Tanh(eps/2)), low + u}}
}
