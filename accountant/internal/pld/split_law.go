package pld

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/pate-go/pate/internal/mathx"
)

const (
	maxSplit        = 1 << 18
	jumpRate        = 1e-3
	leastSplit      = 20
	leastSplitNoise = 0.45
)

// Small ratios are on a linear lattice off + d i, which contains all sums of its points. So masses are split
// only once, and a Fourier transform gives the sum of many ratios. Large ratios are few. They are added one
// by one, on a geometric grid.
//
// A ratio in a cell is assigned at random to one end of the cell, with probabilities that keep the mean. In
// an upper distribution the ratio moves to this end. In a lower distribution the ratio does not move, and
// outcomes with the same sum of ends are merged. A merged outcome has the mass q under Q. Under P it has the
// mass low, in which each mass is multiplied by one ratio.
//
// A sum with n large ratios has t - n small ratios. The cases n = 0 and n = 1, by far the most probable, are
// computed exactly. Let mu be the mean of a small ratio. Let m < m'. In the convex order, the sum of m small
// ratios is smaller than the sum of m' small ratios minus (m'-m) mu. So, for n >= 2, an upper distribution
// uses t small ratios and subtracts mu from each large ratio. A lower distribution uses t - N small ratios
// plus N mu, where N is the largest n.

type splitLaw struct {
	steps, sigma float64
	tail         float64 // probability that may be cut off on either side
	h, d         float64 // steps of the geometric grid of the sum, and of the lattice
	one, biased  *tilted // one small ratio under Q, and weighted by its size; both of mass 1
	mean         float64 // of a small ratio
	weights      []float64
	high         float64 // lower end of the large ratios, in z
	end          float64 // upper end of the large ratios, in z
	jumps        map[jumpKey]*sumLaw
	sums         map[splitKey]*smallSum
	cutQ, cutP   float64 // masses of the sums that have a ratio off the lattice, or too many large ratios
	slack, place float64
	fft          *convolver
}

type splitKey struct {
	small  int64
	biased bool
}

type jumpKey struct{ several, up bool }

type smallSum struct {
	*tilted
	each float64 // bounds the error of one mass
	all  float64 // bounds the sum of the errors of all masses, and the mass outside
}

func (a *allocation) split(ctx context.Context, h, logTail float64, reverse, up bool) (*pointLaw, error) {
	if logTail < -34 || a.sigma < leastSplitNoise { // below the noise of transforms
		return nil, errTooLong
	}
	h = math.Exp2(math.Floor(2*math.Log2(math.Min(h, a.spread()/4))) / 2)
	tail := math.Exp(8 * math.Floor(logTail/8))
	key := lawKey{h, tail, false}
	l, ok := a.splits[key]
	if !ok {
		l = a.newSplit(h, tail)
		a.splits[key] = l
	}
	if l == nil {
		return nil, errTooLong
	}
	l.fft.ctx = ctx // of this query
	sum, err := l.sum(reverse, up)
	if err != nil {
		return nil, err
	}
	return a.points(sum), nil
}

func (a *allocation) newSplit(h, tail float64) *splitLaw {
	t := a.steps
	m := mixture{1, a.sigma}
	l := &splitLaw{steps: t, sigma: a.sigma, tail: tail, h: h / 2, d: h * math.Sqrt(t) / 2,
		sums: make(map[splitKey]*smallSum), jumps: make(map[jumpKey]*sumLaw),
		fft: &convolver{maxLength: maxSplit, accuracy: 1e-16}}
	reach := math.Sqrt(-2 * math.Log(tail/(4*t)))
	zlo, zhi := -reach, 1/a.sigma+reach
	off, end := math.Exp(m.loss(zlo)), math.Exp(m.loss(zhi))
	l.cutQ, l.cutP = tail/2, tail/2
	l.high, l.end = zhi, zhi
	high := -mathext.NormalQuantile(jumpRate / t)
	if large := math.Exp(m.loss(high)); t >= leastSplit && end/l.d > 1024 && large > 8 && high < zhi {
		l.high, end = high, large
	}
	if !(end <= l.d*maxSplit/4) {
		return nil
	}
	n := int(math.Ceil((end-off)/l.d)) + 1
	q, low := make([]float64, n), make([]float64, n)
	for i := 0; i < n-1; {
		w := min(1+i/128, n-1-i) // far out, cells may be as wide as a ratio is large
		from, to := off+l.d*float64(i), off+l.d*float64(i+w)
		left, right, mass, slack := m.ratios(from, to, math.Inf(-1), l.high)
		q[i] += left
		q[i+w] += right
		if left+right > 0 {
			low[i] += mass * left / (left + right)
			low[i+w] += mass * right / (left + right)
		}
		l.slack = math.Max(l.slack, slack)
		i += w
	}
	step := func(p []float64) *tilted {
		t := &tilted{h: l.d, off: off, p: p}
		t.normalise()
		t.err = 0 // relative errors of masses are part of slack
		return t
	}
	l.one, l.biased = step(q), step(low)
	l.mean = math.Exp(l.biased.logM - l.one.logM)
	// Rounding of the ends of cells, of the mean of n terms, and of the values of merged sums.
	ratio := l.slack + 0x1p-44
	l.slack = t*ratio + 0x1p-40
	l.place = 2*ratio + float64(n)*0x1p-53 + 8*h*t*ratio
	l.weigh(t, tail)
	return l
}

// ratios splits the probability of likelihood ratios in [from, to] between the two ends. Under Q, the results
// `left` and `right` are the masses at `from` and `to`. The result `mass` is the total under P.
func (m mixture) ratios(from, to, zlo, zhi float64) (left, right, mass, slack float64) {
	a, b := math.Log(from), math.Log(to)
	z0, z1 := math.Max(zlo, m.at(a)), math.Min(zhi, m.at(b))
	if !(z0 < z1) {
		return 0, 0, 0, 0
	}
	start := math.Max(a, m.loss(z0))
	s := m.half(m.output(z0, start), m.output(z1, b), start-a, math.Log1p((to-from)/from))
	unit := math.Exp(s.scale)
	return math.Max(0, -s.right*unit/(to-from)), math.Max(0, s.left*unit/(to-from)), s.mass * unit, s.slack
}

// weigh sets weights[n] to C(t,n) P[small ratio]^(t-n), if n of t likelihood ratios are large. The weights
// cover all likely n.
func (l *splitLaw) weigh(t, tail float64) {
	l.weights = []float64{math.Exp(t * l.one.logM)}
	if l.high >= l.end {
		return
	}
	rate := t * math.Exp(mathx.LogNormalCDF(-l.high)) * (1 + 0x1p-40)
	// Under P one ratio is biased and may be large. So only n - 1 other ratios must be large.
	over := rate // bounds the probability of exactly n large ratios under Q
	for n := 1.0; n < t; n++ {
		l.weights = append(l.weights, l.weights[len(l.weights)-1]*(t-n+1)/n*math.Exp(-l.one.logM))
		if over < tail/4 {
			l.cutQ += 2 * over
			l.cutP += 2 * over
			return
		}
		over *= rate / (n + 1)
	}
}

// jump returns the distribution of one large likelihood ratio. If several is true, jump returns the
// distribution of the sum of r - l.mean over two or more large ratios r. The masses include the factors
// l.weights.
func (l *splitLaw) jump(several, up bool) *sumLaw {
	key := jumpKey{several, up}
	if j := l.jumps[key]; j != nil {
		return j
	}
	// The error of a grid step grows with the square of a ratio. A ratio that may dominate needs a fine grid.
	largest := math.Exp(math.Min(600, (0.5/l.sigma+5)/l.sigma))
	coarse := math.Min(math.Sqrt(l.steps*math.Exp(-math.Min(600, 1/(l.sigma*l.sigma)))), 2*(1+l.steps/largest))
	h := l.h * math.Exp2(math.Floor(math.Log2(math.Max(1, math.Min(coarse, 0.125/l.h)))))
	if !several {
		out := l.large(h, 0, up).scaled(l.weights[1])
		l.jumps[key] = out
		return out
	}
	// Two large ratios are so rare that a coarse grid suffices.
	block := l.large(h*math.Exp2(math.Max(0, math.Floor(math.Log2(math.Min(16, 0.25/h))))), l.mean, up)
	sum, work := block, 0
	out := &sumLaw{m: 1, h: block.h, lo: block.lo, up: up}
	for n := 2; n < len(l.weights); n++ {
		sum = sum.plus(block, sum.h, 0, &work)
		for k := range sum.q {
			at := sum.lo + k - out.lo
			for at >= len(out.q) {
				out.q, out.p = append(out.q, 0), append(out.p, 0)
			}
			out.q[at] += sum.q[k] * l.weights[n]
			out.p[at] += sum.p[k] * sum.m * l.weights[n]
		}
		out.slack, out.place = sum.slack, sum.place
	}
	l.jumps[key] = out
	return out
}

func (l *splitLaw) large(h, less float64, up bool) *sumLaw {
	m := mixture{1, l.sigma}
	first := int(math.Floor(math.Log(math.Exp(m.loss(l.high))-less) / h))
	last := int(math.Ceil(math.Log(math.Exp(m.loss(l.end))-less)/h)) + 1
	out := &sumLaw{m: 1, h: h, lo: first, q: make([]float64, last-first+1), p: make([]float64, last-first+1), up: up}
	for k := first; k < last; k++ {
		from, to := math.Exp(h*float64(k)), math.Exp(h*float64(k+1))
		left, right, mass, slack := m.ratios(from+less, to+less, l.high, l.end)
		if !(left+right > 0) {
			continue
		}
		i := k - first
		mass -= less * (left + right)
		if up {
			mass = 0
			out.p[i] += left * from
			out.p[i+1] += right * to
		}
		out.q[i] += left
		out.q[i+1] += right
		out.p[i] += mass * left / (left + right)
		out.p[i+1] += mass * right / (left + right)
		out.slack = math.Max(out.slack, slack)
	}
	out.slack += 0x1p-44
	out.place = h*out.slack + 0x1p-44
	return out
}

func (l *splitLaw) sumOfSmall(n float64, biased bool) (*smallSum, error) {
	key := splitKey{int64(n), biased}
	if s := l.sums[key]; s != nil {
		return s, nil
	}
	factors := []factor{{l.one, key.small}}
	if biased {
		factors = []factor{{l.biased, 1}, {l.one, key.small - 1}}
	}
	t, err := l.fft.convolve(1, factors...)
	if err != nil {
		return nil, err
	}
	l.sums[key] = &smallSum{t, t.most + t.err, t.err + t.noise*math.Sqrt(t.h*float64(t.length))}
	return l.sums[key], nil
}

// small returns the distribution of the sum of n small likelihood ratios plus shift, on a geometric grid.
func (l *splitLaw) small(n, shift, jump float64, reverse, up bool) (out *sumLaw, restQ, restP float64, err error) {
	// The results restQ and restP bound the omitted probabilities. An upper distribution adds the total error
	// of the transforms to restQ and restP. A lower distribution subtracts the possible error of each mass
	// from the first distribution of the pair, and adds it to the second distribution. This correction allows
	// for later combination with large ratios of up to jump.
	q, err := l.sumOfSmall(n, false)
	if err != nil {
		return nil, 0, 0, err
	}
	low, err := l.sumOfSmall(n, true)
	if err != nil {
		return nil, 0, 0, err
	}
	first, last := 0, len(q.p)-1
	restQ, restP = q.all, low.all+q.all*(q.loss(last)+shift)/l.steps
	for i, x := range low.p {
		if k := i + low.lo - q.lo; k < first || k > last {
			restP += x
		}
	}
	grid := func(i int) float64 { return math.Log(q.loss(i)+shift) / l.h }
	out = &sumLaw{m: l.steps, h: l.h, up: up, slack: l.slack, place: l.place, lo: int(math.Floor(grid(first))) - 1}
	size := int(math.Floor(grid(last))) + 3 - out.lo
	out.q, out.p = make([]float64, size), make([]float64, size)
	unit := math.Expm1(l.h)
	sign := 1.0 // of the extra mass of Q
	if reverse {
		sign = -1
	}
	above := out.lo // the next grid point above
	from, next := 0.0, math.Exp(l.h*float64(above))
	for i := first; i <= last; i++ {
		at := q.loss(i) + shift
		for at >= next {
			above++
			from, next = next, math.Exp(l.h*float64(above))
		}
		right := math.Min(1, math.Max(0, (at/from-1)/unit))
		k := above - 1 - out.lo
		if up {
			mass := q.p[i]
			out.q[k] += mass * (1 - right)
			out.q[k+1] += mass * right
			continue
		}
		j := i + q.lo - low.lo
		if j < 0 || j >= len(low.p) {
			continue
		}
		mass := q.p[i] + sign*q.each
		size := n*l.mean*(low.p[j]-sign*low.each) + shift*(q.p[i]-sign*q.each) - sign*2*q.each*jump
		if size <= 0 || mass <= 0 {
			continue
		}
		out.q[k] += mass * (1 - right)
		out.q[k+1] += mass * right
		out.p[k] += size / l.steps * (1 - right)
		out.p[k+1] += size / l.steps * right
	}
	return out, restQ, restP, nil
}

func (l *splitLaw) sum(reverse, up bool) (*sumLaw, error) {
	all, restQ, restP, err := l.small(l.steps, 0, l.jumpSize(up), reverse, up)
	if err != nil {
		return nil, err
	}
	rest := all
	all = all.scaled(l.weights[0])
	if most := float64(len(l.weights) - 1); most > 0 {
		one, q, p, err := l.small(l.steps-1, 0, l.jumpSize(up), reverse, up)
		if err != nil {
			return nil, err
		}
		restQ, restP = math.Max(restQ, q), math.Max(restP, p)
		if !up {
			if rest, _, _, err = l.small(l.steps-most, most*l.mean, l.jumpSize(up), reverse, up); err != nil {
				return nil, err
			}
		}
		all = all.with(one.beside(l.jump(false, up))).with(rest.beside(l.jump(true, up)))
	}
	if up {
		for i, q := range all.q {
			all.p[i] = q * math.Exp(all.h*float64(all.lo+i)) / l.steps
		}
		// Large ratios are independent of the small ratios and add at most one to the mean.
		all.zero, all.inf = l.cutQ+restQ, l.cutP+restP+restQ
	}
	all.cut(l.tail)
	return all, nil
}

func (l *splitLaw) jumpSize(up bool) float64 {
	if len(l.weights) < 2 {
		return 0
	}
	one, several := l.jump(false, up), l.jump(true, up)
	return math.Max(math.Exp(one.h*float64(one.lo+len(one.q))), math.Exp(several.h*float64(several.lo+len(several.q))))
}

func (l *sumLaw) scaled(by float64) *sumLaw {
	out := *l
	out.q, out.p = slices.Clone(l.q), slices.Clone(l.p)
	for i := range out.q {
		out.q[i] *= by
		out.p[i] *= by
	}
	return &out
}

func (l *sumLaw) with(b *sumLaw) *sumLaw {
	out := *l
	out.lo = min(l.lo, b.lo)
	n := max(l.last(), b.last()) + 1 - out.lo
	out.q, out.p = make([]float64, n), make([]float64, n)
	for _, x := range []*sumLaw{l, b} {
		for i := range x.q {
			out.q[i+x.lo-out.lo] += x.q[i]
			out.p[i+x.lo-out.lo] += x.p[i]
		}
	}
	out.slack, out.place = math.Max(l.slack, b.slack), math.Max(l.place, b.place)
	return &out
}

// beside returns the distribution of the sum of two independent numbers, with the distributions l and jump.
// The result is on the grid of l.
func (l *sumLaw) beside(jump *sumLaw) *sumLaw {
	h := l.h
	r := int(math.Round(jump.h / h))
	first, last := jump.lo*r, (jump.lo+len(jump.q)-1)*r // on the grid of l
	out := &sumLaw{m: l.m, h: h, up: l.up, slack: l.slack + jump.slack + 0x1p-44, place: math.Max(l.place, jump.place) + 0x1p-44}
	out.lo = max(l.lo, first)
	out.q = make([]float64, max(l.last(), last)+int(math.Ln2/h)+4-out.lo)
	out.p = make([]float64, len(out.q))
	// A sum of points d steps apart is log1p(e^{-hd}) above the upper point.
	far := max(last-l.lo, l.last()-first)
	steps, share := make([]int32, far+1), make([]float64, far+1)
	unit := math.Expm1(h)
	for d := range steps {
		above := math.Log1p(math.Exp(-h * float64(d)))
		k := math.Floor(above / h)
		steps[d], share[d] = int32(k), math.Min(1, math.Expm1(above-k*h)/unit)
	}
	for j, q := range jump.q {
		if q == 0 {
			continue
		}
		at, p := (jump.lo+j)*r, jump.p[j]/l.m
		for i, x := range l.q {
			d, upper := l.lo+i-at, l.lo+i
			if d < 0 {
				d, upper = -d, at
			}
			k, right := upper+int(steps[d])-out.lo, share[d]
			mass := x * q
			out.q[k] += mass * (1 - right)
			out.q[k+1] += mass * right
			if !l.up {
				size := l.p[i]*q + x*p
				out.p[k] += size * (1 - right)
				out.p[k+1] += size * right
			}
		}
	}
	return out
}
