package accountant

import (
	"context"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// maxLinear bounds the transforms of a linearLaw.
const maxLinear = 1 << 18

// linearLaw is the law of the sum of a sumLaw on a lattice off + d i of the sum itself, where two
// points add up to a third: masses are split once, on the lattice of one ratio, and the power is a Fourier
// transform. That is fast where the largest ratio is not many deviations of the sum.
//
// A ratio of one cell goes to either end with the probability that keeps the mean. Above, it is
// moved there. Below, it stays where it is, and outcomes with the same sum of ends are merged into
// one: its masses are q under Q, and under P, where the ratio of one step counts by its size, low.
type linearLaw struct {
	q, low *tilted
	cutQ   float64 // mass under Q of the sums that have a ratio off the lattice
	cutP   float64 // likewise under P
	slack  float64
}

// linear returns the points of one order of the pair, or errTooLong.
func (a *allocation) linear(h, logTail float64, reverse, up bool) (*pointLaw, error) {
	if logTail < -34 { // below the noise of transforms
		return nil, errTooLong
	}
	h = math.Exp2(math.Floor(2*math.Log2(math.Min(h, a.spread()/4))) / 2)
	tail := math.Exp(8 * math.Floor(logTail/8))
	key := lawKey{h, tail, false}
	l, ok := a.linears[key]
	if !ok {
		l, _ = a.transform(h*math.Sqrt(a.steps), tail)
		a.linears[key] = l
	}
	if l == nil {
		return nil, errTooLong
	}
	return l.points(a.steps, h, reverse, up), nil
}

// transform computes the law on a lattice of step d.
func (a *allocation) transform(d, tail float64) (*linearLaw, error) {
	m := mixture{1, a.sigma}
	reach := math.Sqrt(-2 * math.Log(tail/(4*a.steps)))
	zlo, zhi := -reach, 1/a.sigma+reach
	off, end := math.Exp(m.loss(zlo)), math.Exp(m.loss(zhi))
	bulk := a.spread() * math.Sqrt(a.steps) // of one ratio
	if !(3*end+2*reach*bulk*math.Sqrt(a.steps) <= d*maxLinear) {
		return nil, errTooLong
	}
	n := int(math.Ceil((end-off)/d)) + 1
	q, low := make([]float64, n), make([]float64, n)
	out := &linearLaw{cutQ: a.steps * tail / (2 * a.steps), cutP: a.steps * tail / (2 * a.steps)}
	for i := 0; i < n-1; {
		w := 1 + i/256 // far out, cells may be as wide as a ratio is large
		w = min(w, n-1-i)
		from, to := off+d*float64(i), off+d*float64(i+w)
		l0 := math.Log(from)
		width := math.Log1p(d * float64(w) / from)
		s := m.half(m.at(l0), m.at(l0+width), l0, 0, width)
		unit := math.Exp(s.scale)
		right, left := s.left*unit/(to-from), -s.right*unit/(to-from) // of the mass under Q
		q[i] += left
		q[i+w] += right
		low[i] += s.mass * unit * left / (left + right)
		low[i+w] += s.mass * unit * right / (left + right)
		out.slack = math.Max(out.slack, s.slack)
		i += w
	}
	out.slack = a.steps*(out.slack+0x1p-48) + 0x1p-40
	c := &convolver{ctx: context.Background(), plans: make(map[int]*mathx.FFT), maxLength: 2 * maxLinear, accuracy: 1e-16}
	step := func(p []float64) *tilted {
		t := &tilted{h: d, off: off, p: p}
		t.normalise()
		return t
	}
	one, biased := step(q), step(low)
	var err error
	if out.q, err = c.convolve(1, factor{one, int64(a.steps)}); err != nil {
		return nil, err
	}
	if out.low, err = c.convolve(1, factor{biased, 1}, factor{one, int64(a.steps) - 1}); err != nil {
		return nil, err
	}
	return out, nil
}

// pointError bounds the error of one mass.
func (t *tilted) pointError() float64 { return t.err + t.noise*math.Sqrt(t.h) }

// points returns the losses, nowhere closer than a small part of h. Every mass may be off by the noise of
// the transform, which counts against it: above, it is added; below, it is taken from the law
// on the left of the order and added to the one on the right.
func (l *linearLaw) points(steps, h float64, reverse, up bool) *pointLaw {
	out := &pointLaw{slack: l.slack, place: 0x1p-44}
	unitQ, unitP := math.Exp(l.q.logM), math.Exp(l.low.logM)
	noiseQ, noiseP := l.q.pointError(), l.low.pointError()
	merge := max(1, int(h/16*steps/l.q.h)) // points, into one
	first, last := 0, len(l.q.p)-1
	for first < last && l.q.p[first] < 1e3*noiseQ {
		first++
	}
	for last > first && l.q.p[last] < 1e3*noiseQ {
		last--
	}
	if up {
		outside := func(from, to int) (q, p float64) {
			for i := from; i < to; i++ {
				mass := (l.q.p[i] + noiseQ) * unitQ
				q, p = q+mass, p+mass*l.q.loss(i)/steps
			}
			return q, p
		}
		belowQ, _ := outside(0, first)
		_, aboveP := outside(last+1, len(l.q.p))
		out.zero, out.inf = l.cutQ+l.q.err*unitQ+belowQ, l.cutP+l.low.err*unitP+aboveP
		masses := make([]float64, (last-first)/merge+2)
		for i := first; i <= last; i++ {
			k, part := (i-first)/merge, float64((i-first)%merge)/float64(merge)
			mass := (l.q.p[i] + noiseQ) * unitQ
			masses[k] += mass * (1 - part)
			masses[k+1] += mass * part
		}
		for k, q := range masses {
			if q > 0 {
				at := math.Log(l.q.loss(first+k*merge) / steps)
				out.loss, out.logMass = append(out.loss, at), append(out.logMass, math.Log(q)+at)
			}
		}
		return out
	}
	sign := 1.0 // of what Q may have more
	if reverse {
		sign = -1
	}
	for i := first; i <= last; i += merge {
		var p, q float64
		for k := i; k < min(i+merge, last+1); k++ {
			q += l.q.p[k] + sign*noiseQ
			if j := k + l.q.lo - l.low.lo; j >= 0 && j < len(l.low.p) {
				p += l.low.p[j] - sign*noiseP
			}
		}
		if p > 0 && q > 0 {
			q, p = q*unitQ, p*unitP
			out.loss, out.logMass = append(out.loss, math.Log(p/q)), append(out.logMass, math.Log(p))
		}
	}
	return out
}
