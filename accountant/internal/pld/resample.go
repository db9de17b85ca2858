package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

type mergedOutput struct {
	k    int
	mass float64 // mass under P
	dev  float64 // P - e^{h k} Q: positive if the loss is above h*k
}

// place adds points to t, with losses moved to the grid of t. The points must be sorted by the grid index k.
// The caller must add tolerance to t.lossError.
func (t *tilted) place(points []mergedOutput, lambda, tolerance float64) {
	// An output whose loss is above its grid point is mixed with a part of the next lower output, and an
	// output whose loss is below its grid point with a part of the next higher output. The mixture has
	// exactly the loss of the grid point. Mixing is post-processing, so the outputs in points dominate the
	// result.
	//
	// If the adjacent output has too little mass, place lowers the loss to a grid point by dropping mass
	// under P. If a loss is closer to its grid point than the argument tolerance, place does not mix.
	n := len(points)
	mixes := make([]mixing, n)
	var factors [2]pull // for the neighbours below and above
	for i := range points {
		m, x := &points[i], &mixes[i]
		if math.Abs(m.dev) < tolerance*m.mass {
			m.dev = 0
		}
		if m.dev == 0 {
			continue
		}
		x.stay = true
		j, f := i+1, &factors[1]
		if m.dev > 0 {
			j, f = i-1, &factors[0]
		}
		if j < 0 || j >= n {
			continue
		}
		if d := m.k - points[j].k; d != f.points {
			*f = newPull(d, t.h, lambda)
		}
		mass, dev := f.of(points[j])
		// At most 0.45 of an adjacent output may be taken.
		if r := -m.dev / dev; r >= 0 && r <= 0.45 && !math.IsInf(mass, 0) && dev != 0 {
			x.rate, x.pulled, x.stay = r, mass, false
		}
	}
	share(mixes, points)
	for i, m := range points {
		x := &mixes[i]
		s := x.share
		switch {
		case m.dev == 0:
			t.p[m.k-t.lo] += s * m.mass
		case !x.stay:
			t.p[m.k-t.lo] += s*m.mass + x.take*x.pulled
		case m.dev > 0: // drop P until the loss is the grid loss
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

type mixing struct {
	rate   float64 // amount taken from the neighbour, per amount that the output keeps; 0 for none
	pulled float64 // mass of the whole neighbour, in units of the own point
	stay   bool    // the loss is lowered instead of mixed
	share  float64 // part that its own grid point keeps
	take   float64 // part of the neighbour that it takes
	ahead  float64
}

// share computes the part of each output's mass that its grid point keeps.
func share(mixes []mixing, points []mergedOutput) {
	// Adjacent outputs take the rest:
	//
	//	share[i] + rate[i-1] share[i-1] + rate[i+1] share[i+1] = 1.
	//
	// The adjacent output j = i-1 or j = i+1 takes the part rate[j] share[j] of output i. If it takes nothing
	// from output i, the equation has 0 in place of rate[j]. Both rates of an equation together are at most
	// 0.9. So the only solution has all shares in [0.1, 1], and elimination from one end to the other is
	// stable.
	taken := func(j int, fromBelow bool) float64 {
		if j < 0 || j >= len(points) || points[j].dev > 0 != fromBelow {
			return 0
		}
		return mixes[j].rate
	}
	var before mixing
	for i := range mixes {
		x, below := &mixes[i], taken(i-1, false)
		pivot := 1 / (1 - below*before.ahead)
		x.ahead = taken(i+1, true) * pivot
		x.share = (1 - below*before.share) * pivot
		before = *x
	}
	for i := len(mixes) - 2; i >= 0; i-- {
		mixes[i].share -= mixes[i].ahead * mixes[i+1].share
	}
	for i := range mixes {
		mixes[i].take = mixes[i].rate * mixes[i].share
	}
	for i := range mixes { // correct rounding, so that takes and shares make up all mass
		lent := 0.0
		if taken(i-1, false) > 0 {
			lent += mixes[i-1].take
		}
		if taken(i+1, true) > 0 {
			lent += mixes[i+1].take
		}
		mixes[i].share = 1 - lent
	}
}

type pull struct {
	points     int
	unit, rise float64
}

func newPull(points int, h, lambda float64) pull {
	d := h * float64(points)
	return pull{points, math.Exp(lambda * d), math.Expm1(d)}
}

func (p pull) of(m mergedOutput) (mass, dev float64) {
	q := m.mass - m.dev // in units of its own point
	return p.unit * m.mass, p.unit * (m.dev - p.rise*q)
}

func (t *tilted) onto(h, lambda float64, up bool) *tilted {
	last := len(t.p) - 1
	out := &tilted{h: h, off: t.off, err: t.err, noise: t.noise, inf: t.inf, logM: t.logM,
		lossError: t.lossError + 0x1p-51*(math.Abs(t.loss(0))+math.Abs(t.loss(len(t.p)-1)))}
	period := 0 // of nested lattices, in points of the finer lattice
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
	if period > 0 { // for losses far from 0 relative to the step, a float64 may be a point or more off
		bottom, _ = floorDiv(t.lo, period)
		top, _ = floorDiv(t.lo+last, period)
	}
	out.err += 0x1p-48
	if up {
		out.lo = bottom - 1
		out.p = make([]float64, top+3-out.lo)
		t.visit(out, period, false, func(x float64) [2]float64 { // to the points below and above
			x = math.Min(math.Max(x, 0), h)
			right := math.Expm1(-x) / math.Expm1(-h)
			left := math.Expm1(h-x) / math.Expm1(h) // e^{-x} - e^{-h} over 1 - e^{-h}
			return [2]float64{left * math.Exp(-lambda*x), right * math.Exp(lambda*(h-x))}
		}, func(k int, below, above float64) {
			out.p[k-out.lo] += below
			out.p[k-out.lo+1] += above
		})
		out.normalise()
		return out
	}
	out.lo = bottom - 2
	out.p = make([]float64, top+4-out.lo)
	points := make([]mergedOutput, 0, len(out.p))
	t.visit(out, period, true, func(x float64) [2]float64 { // mass and deviation at the nearest point
		e := math.Exp(-lambda * x)
		return [2]float64{e, -e * math.Expm1(-x)}
	}, func(k int, mass, dev float64) {
		if len(points) == 0 || points[len(points)-1].k != k {
			points = append(points, mergedOutput{k: k})
		}
		m := &points[len(points)-1]
		m.mass += mass
		m.dev += dev
	})
	close := 0x1p-46 * math.Min(h, 1)
	out.place(points, lambda, close)
	out.lossError += 2 * close
	out.normalise()
	return out
}

// visit assigns every mass of t to a lattice point of out. If nearest is set, the point is the nearest, and
// otherwise the next lower point.
func (t *tilted) visit(out *tilted, period int, nearest bool, weigh func(x float64) [2]float64, f func(k int, a, b float64)) {
	// Each mass is multiplied by the two results of weigh for its distance above this point k. Then visit
	// calls f(k, a, b) with the sums a and b of the products, in increasing k. One k may get several calls.
	// The argument `period` is the number of points of t per step of out if the lattices are nested, and
	// otherwise 0.
	if period == 0 {
		for i, mass := range t.p {
			if mass == 0 {
				continue
			}
			l := t.loss(i) - out.off
			k := math.Floor(l / out.h)
			if nearest {
				k = math.Round(l / out.h)
			}
			w := weigh(l - out.h*k)
			f(int(k), mass*w[0], mass*w[1])
		}
		return
	}
	first := 0 // offset of the first point in the cell of a point of out
	if nearest {
		first = -(period - 1) / 2
	}
	weights := make([][2]float64, period)
	for r := range weights {
		weights[r] = weigh(float64(first+r) * t.h)
	}
	k, r := floorDiv(t.lo-first, period)
	for p := t.p; len(p) > 0; k, r = k+1, 0 {
		a, b := 0.0, 0.0
		w := weights[r:]
		run := p[:min(len(w), len(p))]
		p = p[len(run):]
		for i, mass := range run {
			if mass != 0 { // 0 times an infinite weight is NaN
				a += mass * w[i][0]
				b += mass * w[i][1]
			}
		}
		if a != 0 || b != 0 {
			f(k, a, b)
		}
	}
}

func floorDiv(a, n int) (k, r int) {
	k, r = a/n, a%n
	if r < 0 {
		k, r = k-1, r+n
	}
	return k, r
}
