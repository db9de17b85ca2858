package pld

import (
	"math"
	"sort"

	"github.com/pate-go/pate/internal/mathx"
)

// Compositions on this lattice are exact. The mass beyond the last atom has infinite loss in an upper
// distribution, and is omitted from a lower one.

// atoms is a pair (P, Q) of output distributions with a finite list of finite privacy losses. The loss h*i +
// off has the log mass logp[i] under P.
type atoms struct {
	h, off    float64
	logp      []float64
	logBeyond float64
	logBefore float64 // mass below the first atom; an upper distribution adds it to this atom
}

// randomizedResponse returns a pair that dominates all eps-DP mechanisms (Kairouz, Oh, Viswanath 2015).
func randomizedResponse(eps float64) *atoms {
	hi := -math.Log1p(math.Exp(-eps))
	return &atoms{h: 2 * eps, off: -eps, logp: []float64{hi - eps, hi},
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
}

func karyResponse(eps, categories float64) *atoms {
	other := -mathx.LogAddExp(eps, math.Log(categories-1)) // log mass of one answer that is not the true one
	return &atoms{h: eps, off: -eps, logp: []float64{other, math.Log(categories-2) + other, eps + other},
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
}

// sampledResponse returns the output distributions of randomised response on a Poisson sample of rate q.
func sampledResponse(q, eps float64, reverse bool) *atoms {
	high, low := -mathx.LogAddExp(0, eps), -math.Log1p(math.Exp(-eps))
	u, v := mathx.LogMix(q, eps), mathx.LogMix(q, -eps)
	a := &atoms{h: u - v, off: v, logp: []float64{low + v, high + u},
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
	if reverse {
		a.off, a.logp = -u, []float64{high, low}
	}
	return a
}

func discreteLaplace(scale float64, s int64) *atoms {
	// The losses are (s-2x)/scale for x = 0..s. Outputs below 0 count as x = 0, and outputs above s as x = s.
	t := 1 / scale
	a := &atoms{h: 2 * t, off: -float64(s) * t, logp: make([]float64, s+1),
		logBeyond: math.Inf(-1), logBefore: math.Inf(-1)}
	l := -math.Log1p(math.Exp(-t))
	for x := int64(0); x <= s; x++ { // P centred at 0, Q at s
		v := math.Log(math.Tanh(t/2)) - float64(x)*t
		if x == 0 || x == s {
			v = l - float64(x)*t
		}
		a.logp[s-x] = v
	}
	return a
}

// discreteGaussian returns the output distributions on neighbours that differ by 1 in each coordinate.
func discreteGaussian(sigma float64, coordinates int) *atoms {
	// The noise has weight e^{-k^2/(2 sigma^2)} on each coordinate. The loss (coordinates - 2x)/(2 sigma^2)
	// depends only on the coordinates' sum x. The list ends at |x| = 40 standard deviations: the noise is
	// sub-Gaussian, so larger |x| have probability below 1e-340 (Canonne, Kamath, Steinke 2020). On m
	// coordinates x has weight c(x mod m) e^{-x^2/(2 m sigma^2)}. Completing the square gives c, a theta sum
	// over all integer vectors of sum x. The sum c depends only on x mod m, because a shift of x by m shifts
	// these vectors by (1, .., 1).
	v, m := sigma*sigma*float64(coordinates), float64(coordinates)
	reach := int(math.Ceil(40*math.Sqrt(m)*sigma)) + coordinates
	a := &atoms{h: m / v, off: m * (m - 2*float64(reach)) / (2 * v), logp: make([]float64, 2*reach+1)}
	theta := thetas(sigma, coordinates)
	norm := 0.0
	for k := -reach; k <= reach; k++ {
		x := float64(k)
		norm += theta[remainder(k, coordinates)] * math.Exp(-x*x/(2*v))
	}
	for i := range a.logp { // i = reach - x
		x := float64(reach - i)
		a.logp[i] = -x*x/(2*v) - math.Log(norm/theta[remainder(reach-i, coordinates)])
	}
	a.logBeyond = math.Ln2 - math.Pow(float64(reach-coordinates), 2)/(2*v)
	a.logBefore = a.logBeyond
	return a
}

func thetas(sigma float64, m int) []float64 {
	c := []float64{1}
	for n := 2; n <= m; n++ { // the sums for n coordinates, from those for n-1
		next := make([]float64, n)
		reach := int(math.Ceil(40*sigma)) + n
		w := float64(n) / (2 * float64(n-1) * sigma * sigma)
		for r := range next {
			for x := -reach; x <= reach; x++ {
				d := float64(x) - float64(r)/float64(n)
				next[r] += c[remainder(r-x, n-1)] * math.Exp(-w*d*d)
			}
		}
		c = next
	}
	return c
}

func remainder(x, m int) int { return ((x % m) + m) % m }

func (a *atoms) loss(i int) float64 {
	l := a.off + a.h*float64(i)
	if math.Abs(l) < 1e-9*a.h {
		return 0
	}
	return l
}

func (a *atoms) maxLoss() float64 {
	return math.Max(math.Abs(a.off), math.Abs(a.off+a.h*float64(len(a.logp)-1)))
}

func (a *atoms) law(lambda float64, up bool) *tilted {
	t := &tilted{h: a.h, off: a.off, p: make([]float64, len(a.logp))}
	base := math.Inf(-1)
	for i, l := range a.logp {
		base = math.Max(base, l+lambda*(a.off+a.h*float64(i)))
	}
	sign := -1.0
	if up {
		sign = 1
		t.inf = math.Exp(a.logBeyond) * (1 + 0x1p-40)
	}
	for i, l := range a.logp {
		if up && i == 0 && !math.IsInf(a.logBefore, -1) {
			l = mathx.LogAddExp(l, a.logBefore)
		}
		// The relative error of a mass is the error of its logarithm.
		t.p[i] = math.Exp(l+lambda*(a.off+a.h*float64(i))-base) * math.Exp(sign*0x1p-50*(8+math.Abs(l)))
	}
	t.logM = base
	t.lossError = 0x1p-50 * a.maxLoss()
	t.normalise()
	t.err += 0x1p-51 * (math.Abs(base) + lambda*a.maxLoss())
	return t
}

func (a *atoms) roughLaw() roughLaw {
	return thinned(len(a.logp), func(i int) (loss, logp float64) { return a.off + a.h*float64(i), a.logp[i] })
}

func thinned(n int, at func(i int) (loss, logp float64)) roughLaw {
	step := 1 + n/2000
	var s roughLaw
	for i := 0; i < n; i += step {
		loss, logp := at(i)
		s.loss, s.logw = append(s.loss, loss), append(s.logw, logp+math.Log(float64(step)))
	}
	if (n-1)%step != 0 {
		loss, logp := at(n - 1)
		s.loss, s.logw = append(s.loss, loss), append(s.logw, logp)
	}
	return s
}

// outcomes holds a discrete pair of distributions with losses not on a lattice. An example is integer noise
// on a sample.
type outcomes struct {
	loss, logp []float64 // by increasing loss; log masses under P
	logOutside float64   // of the outcomes left out on either side, under P and under Q
	least      float64   // lower bound of all losses, also of outcomes left out
	lossError  float64
}

// sampled returns the pair ((1-q)Q + qP, Q), where the receiver is the pair (P, Q).
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

// drawn returns the output distributions of a mechanism on a fraction q of the records, drawn without
// replacement. The receiver holds the output distributions without sampling, and must be symmetric.
func (a *atoms) drawn(q float64) *outcomes {
	// The result equals the pair on a Poisson sample at losses above 0, and its mirror image at losses below
	// 0. The rest of the mass has loss 0.
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
		// The mass at loss 0. By the symmetry of (P, Q) it is a sum without cancellation.
		base := a.logp[first+i]
		rest += (1 - q) * math.Exp(base) * -math.Expm1(-a.loss(first+i))
	}
	d.logp[n] = math.Log(rest)
	return d
}

func (o *outcomes) anchor(h float64) float64 {
	n := len(o.loss)
	q, rise := make([]float64, n+1), make([]float64, n+1) // sums of Q, and of P - Q
	for i, l := range o.loss {
		mass := math.Exp(o.logp[i] - l)
		q[i+1], rise[i+1] = q[i]+mass, rise[i]+mass*math.Expm1(l)
	}
	return anchor(h/2, o.least, 0, func(below float64) float64 {
		k := sort.SearchFloat64s(o.loss, below)
		if q[k] == 0 {
			return math.Inf(1)
		}
		return math.Log1p(rise[k] / q[k])
	})
}

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

type weighted struct{ loss, weight float64 }

// lattice tries grid steps between 0.6 h and h. It returns the step for which the grid off + step*i is
// closest to the losses.
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

func (o *outcomes) outside(from, to int) (p, q float64) {
	p, q = o.logOutside, o.logOutside
	for i := from; i < to; i++ {
		p, q = mathx.LogAddExp(p, o.logp[i]), mathx.LogAddExp(q, o.logp[i]-o.loss[i])
	}
	return p, q
}

// cells divides the outcomes with indices first to last, inclusive, among the cells of a grid. If merge is
// set, the grid offset off must be o.anchor(h).
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
