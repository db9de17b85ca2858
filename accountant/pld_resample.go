package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// mergedOutput is a set of outputs merged into one, whose loss is near h*k: masses
// in units of e^{-lambda*h*k}.
type mergedOutput struct {
	k    int
	mass float64 // P
	dev  float64 // P - e^{h k} Q: positive if the loss is above h*k
}

// place puts merged outputs, in increasing k, on the lattice of t by mixing.
// An output with a loss above its grid point is mixed with some of the output
// below it, one with a loss below with some of the output above it, in the
// proportion that gives exactly the grid loss; the remainder of an output keeps
// its loss. Mixing is post-processing, so the result is dominated. Where a
// neighbour has too little mass the loss is lowered to a grid point instead,
// which drops P-mass. The mass a neighbour lends is a first-order small part
// of its own, so variance is lost to second order only. A loss within close of a grid
// point counts as there: the caller adds it to lossError.
func (t *tilted) place(points []mergedOutput, lambda, close float64) {
	n := len(points)
	share := make([]float64, n) // of each output that its own grid point keeps
	take := make([]float64, n)  // part of the neighbour that it takes
	stay := make([]bool, n)     // loss lowered instead of mixed
	from := func(i int) int {
		if points[i].dev > 0 {
			return i - 1
		}
		return i + 1
	}
	// deviation of neighbour j from grid point i, in units of point i.
	pull := func(i, j int) (mass, dev float64) {
		d := t.h * float64(points[i].k-points[j].k)
		q := points[j].mass - points[j].dev // in units of point j
		f := math.Exp(lambda * d)
		return f * points[j].mass, f * (points[j].dev - math.Expm1(d)*q)
	}
	rate := make([]float64, n)
	pulled := make([]float64, n)
	for i := range points {
		if math.Abs(points[i].dev) < close*points[i].mass {
			points[i].dev = 0
		}
		share[i] = 1
		j := from(i)
		if points[i].dev == 0 {
			continue
		}
		if j < 0 || j >= n {
			stay[i] = true
			continue
		}
		mass, dev := pull(i, j)
		r := -points[i].dev / dev
		if !(r >= 0 && r < 1e6) || math.IsInf(mass, 0) || dev == 0 {
			stay[i] = true
			continue
		}
		rate[i], pulled[i] = r, mass
	}
	lent := make([]float64, n)
	// solve settles who lends how much: take = share*rate, share = 1 - lent.
	solve := func() bool {
		for range 500 {
			clear(lent)
			for i := range points {
				take[i] = 0
				if rate[i] > 0 && !stay[i] {
					take[i] = share[i] * rate[i]
					lent[from(i)] += take[i]
				}
			}
			change := 0.0
			for i := range share {
				if d := math.Abs(1 - lent[i] - share[i]); d > change {
					change = d
				}
				share[i] = 1 - lent[i]
			}
			if change < 0x1p-50 {
				return true
			}
		}
		return false
	}
	for i := range points { // more than this of a neighbour is not to be had
		stay[i] = stay[i] || rate[i] > 0.45
	}
	if !solve() {
		for i := range points {
			stay[i], take[i], share[i] = true, 0, 1
		}
	}
	for i, m := range points {
		s := share[i]
		switch {
		case m.dev == 0:
			t.p[m.k-t.lo] += s * m.mass
		case !stay[i]:
			t.p[m.k-t.lo] += s*m.mass + take[i]*pulled[i]
		case m.dev > 0: // drop P until the ratio is the grid point's
			t.p[m.k-t.lo] += s * (m.mass - m.dev)
		default: // down to the next grid point
			q := m.mass - m.dev
			down := math.Max(1, math.Ceil(math.Log(q/m.mass)/t.h*(1+0x1p-50)))
			if k := float64(m.k) - down; k >= float64(t.lo) {
				t.p[int(k)-t.lo] += s * q * math.Exp(-(1+lambda)*down*t.h)
			}
		}
	}
}

// onto moves a law to a lattice of step h. If h is a multiple of its own step the
// lattices are aligned; otherwise the topmost point stays where it is.
func (t *tilted) onto(h, lambda float64, up bool) *tilted {
	last := len(t.p) - 1
	out := &tilted{h: h, off: t.off, err: t.err, noise: t.noise, inf: t.inf, logM: t.logM,
		lossError: t.lossError + 0x1p-51*(math.Abs(t.loss(0))+math.Abs(t.loss(len(t.p)-1)))}
	period := 0 // of nested lattices, in points of the finer one
	if ratio := h / t.h; ratio <= float64(last) && math.Abs(ratio-math.Round(ratio)) < 1e-12*ratio {
		period = int(math.Round(ratio))
	} else {
		out.off = t.loss(last)
	}
	if !up && t.loss(last)-t.loss(0) < h/4 { // all merges into one point: put it on the grid
		p, q := 0.0, 0.0
		for i, mass := range t.p {
			x := t.h * float64(i-last)
			p += mass * math.Exp(-lambda*x)
			q += mass * math.Exp(-(lambda+1)*x)
		}
		if out.off = t.loss(last) + math.Log(p/q); mathx.IsFinite(out.off) {
			period = 0
		} else {
			out.off = t.loss(last)
		}
	}
	bottom, top := int(math.Floor((t.loss(0)-out.off)/h)), int(math.Floor((t.loss(last)-out.off)/h))
	out.err += 0x1p-48
	if up {
		out.lo = bottom - 1
		out.p = make([]float64, top+3-out.lo)
		t.visit(out, period, false, func(x float64) [2]float64 { // to the points below and above
			x = math.Min(math.Max(x, 0), h)
			right := math.Expm1(-x) / math.Expm1(-h)
			left := math.Expm1(h-x) / math.Expm1(h) // e^{-x} - e^{-h} over 1 - e^{-h}
			return [2]float64{left * math.Exp(-lambda*x), right * math.Exp(lambda*(h-x))}
		}, func(k int, mass float64, w [2]float64) {
			out.p[k-out.lo] += mass * w[0]
			out.p[k-out.lo+1] += mass * w[1]
		})
		out.normalise()
		return out
	}
	out.lo = bottom - 2
	out.p = make([]float64, top+4-out.lo)
	var points []mergedOutput
	t.visit(out, period, true, func(x float64) [2]float64 { // mass and deviation at the nearest point
		e := math.Exp(-lambda * x)
		return [2]float64{e, -e * math.Expm1(-x)}
	}, func(k int, mass float64, w [2]float64) {
		if len(points) == 0 || points[len(points)-1].k != k {
			points = append(points, mergedOutput{k: k})
		}
		m := &points[len(points)-1]
		m.mass += mass * w[0]
		m.dev += mass * w[1]
	})
	close := 0x1p-46 * math.Min(h, 1)
	out.place(points, lambda, close)
	out.lossError += 2 * close
	out.normalise()
	return out
}

// visit hands every mass to f with the point of out that is below it, or the
// nearest, and what weigh says of its distance above that point; once for each
// distance where the lattices are nested, period points of t in a cell of out.
func (t *tilted) visit(out *tilted, period int, nearest bool, weigh func(x float64) [2]float64, f func(k int, mass float64, w [2]float64)) {
	weights := make([][2]float64, period)
	for r := range weights {
		x := float64(r) * t.h
		if nearest && 2*r > period {
			x -= out.h
		}
		weights[r] = weigh(x)
	}
	for i, mass := range t.p {
		switch {
		case mass == 0:
		case period > 0:
			k, r := floorDiv(t.lo+i, period)
			if nearest && 2*r > period {
				k++
			}
			f(k, mass, weights[r])
		default:
			l := t.loss(i) - out.off
			k := math.Floor(l / out.h)
			if nearest {
				k = math.Round(l / out.h)
			}
			f(int(k), mass, weigh(l-out.h*k))
		}
	}
}

// floorDiv returns k and r with a = k*n + r, 0 <= r < n.
func floorDiv(a, n int) (k, r int) {
	k, r = a/n, a%n
	if r < 0 {
		k, r = k-1, r+n
	}
	return k, r
}
