package pld

import (
	"math"
	"sort"

	"github.com/pate-go/pate/internal/mathx"
)

// outcomes is a pair with finitely many outcomes whose losses lie on no lattice, as with integer noise on a
// sample. They are cut into cells as a density is: the three integrals of a half cell are sums.
type outcomes struct {
	loss, logp []float64 // by increasing loss; log masses under P
	logOutside float64   // of the outcomes left out on either side, under P and under Q
	least      float64   // no loss is below, those left out included
	lossError  float64
}

// sampled returns the pair ((1-q)Q + qP, Q) of a pair (P, Q).
func (a *atoms) sampled(q float64) *outcomes {
	n := len(a.logp)
	o := &outcomes{loss: make([]float64, n), logp: make([]float64, n),
		logOutside: math.Max(a.logBeyond, a.logBefore), least: math.Log1p(-q)}
	for i, logp := range a.logp {
		l := a.loss(i)
		o.loss[i] = mathx.LogMix(q, l)
		o.logp[i] = logp - l + o.loss[i]
		slope := math.Exp(math.Min(math.Log(q)+l-o.loss[i], 0))
		o.lossError = math.Max(o.lossError, 0x1p-50*(math.Abs(o.loss[i])+slope*math.Abs(l)))
	}
	if math.IsInf(o.logOutside, -1) {
		o.least = o.loss[0]
	}
	return o
}

// drawn returns the pair of drawnMixture for a symmetric pair (P, Q): of the sampled pair the losses above
// 0, below 0 their mirror image, and the rest of the mass at 0.
func (a *atoms) drawn(q float64) *outcomes {
	o := a.sampled(q)
	first := sort.Search(len(o.loss), func(i int) bool { return a.loss(i) > 0 })
	n := len(o.loss) - first
	d := &outcomes{loss: make([]float64, 2*n+1), logp: make([]float64, 2*n+1),
		logOutside: o.logOutside, least: math.Inf(-1), lossError: o.lossError}
	if math.IsInf(o.logOutside, -1) {
		d.least = -o.loss[len(o.loss)-1]
	}
	rest := 0.0
	if first > 0 && a.loss(first-1) == 0 {
		rest = math.Exp(a.logp[first-1])
	}
	for i := range n {
		l, logp := o.loss[first+i], o.logp[first+i]
		d.loss[n+1+i], d.logp[n+1+i] = l, logp
		d.loss[n-1-i], d.logp[n-1-i] = -l, logp-l
		// 1 less both sides, by the symmetry of (P, Q): no difference of sums near 1.
		base := a.logp[first+i]
		rest += (1 - q) * math.Exp(base) * -math.Expm1(-a.loss(first+i))
	}
	d.logp[n] = math.Log(rest)
	return d
}

// anchor is one of all outcomes.
func (o *outcomes) anchor(h float64) float64 {
	n := len(o.loss)
	q, rise := make([]float64, n+1), make([]float64, n+1) // sums of Q, and of P - Q
	for i, l := range o.loss {
		mass := math.Exp(o.logp[i] - l)
		q[i+1], rise[i+1] = q[i]+mass, rise[i]+mass*math.Expm1(l)
	}
	return anchor(h, o.least, 0, func(below float64) float64 {
		k := sort.SearchFloat64s(o.loss, below)
		if q[k] == 0 {
			return math.Inf(1)
		}
		return math.Log1p(rise[k] / q[k])
	})
}

// few lists the outcomes that count in the law tilted by lambda and lie more than h from the next one
// below, each with what moving it costs; nil if they are none, or many.
func (o *outcomes) few(h, lambda float64, reverse bool) []weighted {
	const most = 64
	var out []weighted
	top := math.Inf(-1)
	for i, l := range o.loss {
		w := o.logp[i] + lambda*l
		if reverse {
			w = o.logp[i] - (lambda+1)*l
		}
		if gap := math.Abs(l - o.loss[max(i-1, 0)]); gap > h {
			w += math.Log(gap)
			out, top = append(out, weighted{l, w}), math.Max(top, w)
		}
	}
	kept := out[:0]
	for _, x := range out {
		if x.weight > top-12 {
			kept = append(kept, weighted{x.loss, math.Exp(x.weight - top)})
		}
	}
	if len(kept) == 0 || len(kept) > most {
		return nil
	}
	return kept
}

// weighted is a loss with its weight.
type weighted struct{ loss, weight float64 }

// lattice returns a step of h or somewhat less. Moving an outcome inwards to a grid point costs variance in
// proportion to its distance from there and to that from the next outcome. So among many steps the one is
// taken whose grid, which has a point at off, passes closest by few outcomes.
func (o *outcomes) lattice(off, h, lambda float64, reverse bool) float64 {
	const tries, narrowest = 2000, 0.6
	few := o.few(h, lambda, reverse)
	best, least := h, math.Inf(1)
	for k := range tries {
		step := h * (1 - (1-narrowest)*float64(k)/tries)
		sum := 0.0
		for _, f := range few {
			x := (f.loss - off) / step
			sum += f.weight * math.Abs(x-math.Round(x)) * step
		}
		if sum < least {
			best, least = step, sum
		}
	}
	return best
}

// window returns the first and the last outcome to keep: the mass below the first is at most e^below, above
// the last at most e^above, under P, or under Q.
func (o *outcomes) window(below, above float64, underQ bool) (first, last int) {
	log := func(i int) float64 {
		if underQ {
			return o.logp[i] - o.loss[i]
		}
		return o.logp[i]
	}
	last = len(o.loss) - 1
	for sum := math.Inf(-1); first < last; first++ {
		if sum = mathx.LogAddExp(sum, log(first)); sum > below {
			break
		}
	}
	for sum := math.Inf(-1); last > first; last-- {
		if sum = mathx.LogAddExp(sum, log(last)); sum > above {
			break
		}
	}
	return first, last
}

// outside returns the log masses, under P and under Q, of some outcomes and of those left out.
func (o *outcomes) outside(from, to int) (p, q float64) {
	p, q = o.logOutside, o.logOutside
	for i := from; i < to; i++ {
		p, q = mathx.LogAddExp(p, o.logp[i]), mathx.LogAddExp(q, o.logp[i]-o.loss[i])
	}
	return p, q
}

// cells cuts the outcomes from first to last on a grid with a point at off; to be merged, off is the
// anchor.
func (o *outcomes) cells(h, off float64, first, last int, merge bool, width gridWidths) *cells {
	lo, hi := o.loss[first], o.loss[last]
	bottom := lo
	if lo-o.least < 1000*h {
		bottom = o.least
	}
	c := newCells(h, off, cut(bottom, hi, off, h, width))
	if bottom == o.least {
		c.leftLow = 0
	}
	c.leftP, c.leftQ = o.outside(0, first)
	c.rightP, c.rightQ = o.outside(last+1, len(o.loss))
	c.leftHigh = c.first(1, lo)
	c.rightLow = len(c.grid) - 2
	c.lossError = o.lossError + 0x1p-50*(math.Abs(off)+math.Max(math.Abs(lo), math.Abs(hi)))
	if merge {
		c.lowest = c.first(0, c.off)
	}
	from := first
	for i := range c.halfs {
		a, d := c.at(i/2), c.width(i/2)
		end := a + d
		if i%2 == 0 {
			end = a + d/2
		}
		s := &c.halfs[i]
		s.scale = math.Inf(-1)
		to := from
		for ; to <= last && (o.loss[to] < end || i == len(c.halfs)-1); to++ {
			s.scale = math.Max(s.scale, o.logp[to])
		}
		for ; from < to; from++ {
			l := o.loss[from]
			s.slack = math.Max(s.slack, 0x1p-50*(16+math.Abs(o.logp[from])+math.Abs(l)))
			mass := math.Exp(o.logp[from] - s.scale)
			s.mass += mass
			s.left -= mass * math.Expm1(a-l)
			s.right -= mass * math.Expm1(a-l+d)
		}
	}
	return c
}

func (o *outcomes) roughLaw() roughLaw {
	return thinned(len(o.loss), func(i int) (loss, logp float64) { return o.loss[i], o.logp[i] })
}
