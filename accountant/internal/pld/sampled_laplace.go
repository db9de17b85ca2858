package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// sampledLaplace has atoms at the least and the largest loss, and a density between. Sampling turns a loss l
// into log(1-q + q e^l). At a grid loss c = log(1-q + q e^m), (1-q)Q + qP - e^c Q equals q (P - e^m Q). So
// the integrals at c are q times the unsampled integrals at m.

// sampledLaplace is the pair ((1-q)Q + qP, Q), where (P, Q) has Laplace noise of scale sensitivity/epsilon.
type sampledLaplace struct{ q, epsilon float64 }

func (s sampledLaplace) loss(l float64) float64 { return mathx.LogMix(s.q, l) }

func (s sampledLaplace) at(loss float64) float64 {
	return math.Min(math.Max(mathx.LogUnmix(s.q, loss), -s.epsilon), s.epsilon)
}

func (s sampledLaplace) span() (lo, hi float64) { return s.loss(-s.epsilon), s.loss(s.epsilon) }

func (s sampledLaplace) anchor(h float64) float64 {
	lo, hi := s.span()
	return anchor(h/2, lo, math.Min(hi, 0), func(below float64) float64 {
		l := s.at(below)
		if l >= s.epsilon {
			return 0 // all mass
		}
		massQ := 1 - math.Exp(-(s.epsilon+l)/2)/2
		// P - Q = e^(-epsilon/2) cosh(l/2) - 1, without cancellation
		less := math.Exp(-s.epsilon/2)*2*math.Pow(math.Sinh(l/4), 2) + math.Expm1(-s.epsilon/2)
		return math.Log1p(s.q * less / massQ)
	})
}

// lattice returns a grid of step about h. The largest loss is a grid point.
func (s sampledLaplace) lattice(h float64, merge bool) (off, step float64) {
	off, hi := s.span()
	step = (hi - off) / math.Max(1, math.Ceil((hi-off)/h-1e-9))
	if merge {
		for range 4 {
			off = s.anchor(step)
			step = (hi - off) / math.Max(1, math.Ceil((hi-off)/h-1e-9))
		}
	}
	return off, step
}

func (s sampledLaplace) cells(off, h float64, merge bool, width gridWidths) *cells {
	lo, hi := s.span()
	bottomPoint := 0
	if merge {
		bottomPoint = min(0, int(math.Floor((lo-off)/h)))
	}
	c := newCells(h, off, cutBetween(bottomPoint, int(math.Round((hi-off)/h)), off, h, width))
	steep := 1 / (1 + (1-s.q)/s.q*math.Exp(-s.epsilon)) // largest slope of the loss
	c.lossError = 0x1p-49 * (math.Max(math.Abs(lo), math.Abs(hi)) + math.Abs(off) + steep*s.epsilon)
	c.leftLow, c.leftHigh, c.rightLow = 0, min(1, len(c.grid)-1), len(c.grid)-2
	if merge {
		c.lowest = c.first(0, c.off)
	}
	from := -s.epsilon
	for i := range c.halfs {
		a, d := c.at(i/2), c.width(i/2)
		to := s.at(a + d/2)
		if i%2 == 1 {
			to = s.at(a + d)
		}
		if i == len(c.halfs)-1 {
			to = s.epsilon
		}
		c.halfs[i] = s.half(from, to, a, a+d)
		from = math.Max(from, to)
	}
	bottom := gridAtom{0, lo - math.Ln2}
	if merge {
		first := 0
		if lo >= c.at(0)+c.width(0)/2 {
			first = 1
		}
		c.halfs[first].add(bottom.logMass, lo, c.at(0), c.at(1))
	} else {
		c.atoms = append(c.atoms, bottom)
	}
	c.atoms = append(c.atoms, gridAtom{len(c.grid) - 1, hi - s.epsilon - math.Ln2})
	return c
}

// half returns one half of the cell [a, b]. Without sampling, the losses in this half are between `from` and
// `to`.
func (s sampledLaplace) half(from, to, a, b float64) halfCell {
	if to <= from {
		return halfCell{scale: math.Inf(-1)}
	}
	logq, logRest := math.Log(s.q), math.Log1p(-s.q)
	wide := -math.Expm1((from - to) / 2)
	scale := math.Max(logRest-from/2, logq+to/2)
	out := halfCell{scale: scale - s.epsilon/2 - 2*math.Ln2, slack: 0x1p-47 + 0x1p-50*(math.Abs(logq)+s.epsilon+math.Abs(scale))}
	massQ := 2 * wide * math.Exp(-from/2-scale)
	out.mass = 2*wide*math.Exp(logq+to/2-scale) + (1-s.q)*massQ
	dev := func(end float64) float64 { // of (1-q)Q + qP - e^end Q
		m := s.at(end)
		x, y := (from+to-2*m)/4, (to-from)/4
		d := 2 * math.Exp(logq+m/2+math.Abs(x)+y-scale) * math.Expm1(-2*math.Abs(x)) * math.Expm1(-2*y)
		if x < 0 {
			d = -d
		}
		if inside := s.loss(m); end < inside-0x1p-48*math.Abs(inside) && m == -s.epsilon { // the cell begins below all losses
			d += massQ * math.Exp(inside) * -math.Expm1(end-inside)
		}
		return d
	}
	out.left, out.right = dev(a), dev(b)
	return out
}

func (h *halfCell) add(logMass, loss, a, b float64) {
	if logMass > h.scale {
		f := math.Exp(h.scale - logMass)
		h.mass, h.left, h.right, h.scale = h.mass*f, h.left*f, h.right*f, logMass
	}
	mass := math.Exp(logMass - h.scale)
	h.mass += mass
	h.left -= mass * math.Expm1(a-loss)
	h.right -= mass * math.Expm1(b-loss)
	h.slack = math.Max(h.slack, 0x1p-50*(16+math.Abs(logMass)))
}

func (s sampledLaplace) roughLaw() roughLaw {
	base := exponential{s.epsilon, true}.roughLaw()
	for i, l := range base.loss {
		base.loss[i] = s.loss(l)
		base.logw[i] += base.loss[i] - l
	}
	return base
}
