package pld

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// several reduces all outputs to one number. Let r be the likelihood ratio of N(1/sigma, 1) to N(0, 1) for a
// step, and c = count/steps. The number is the sum over all steps of f = log(1 - c + c r), rounded to a
// multiple of h. Under Poisson sampling f would be the loss of a step, so this sum has almost all
// information. The bound is valid for three reasons.
//
//  1. The number is post-processing of the outputs. So its two distributions, with and without the record,
//     bound epsilon and delta from below, for any c, h and rounding.
//  2. The distribution of the sum does not depend on which steps have the record. The terms are independent.
//     Without the record, all have outputs under N(0, 1). With the record, count of them have outputs under
//     N(1/sigma, 1).
//  3. Lower P or higher Q reduce the sum of (P - e^epsilon Q)_+ over the outcomes, also in a composition. So
//     P is rounded down, Q is rounded up, and P is 0 on outcomes that are not listed.

type several struct {
	steps, count int64 // all steps, and the steps with the record
	sigma        float64
	lean         float64 // factor of the odds c/(1-c) in f
}

// leaning returns a copy of s with the field lean chosen for a high lower bound on epsilon. A lean below 1
// improves the bound if a few large likelihood ratios determine delta.
func (s several) leaning(ctx context.Context, reverse bool, logDelta float64) several {
	best, most := s, 0.0
	for s.lean = 1; s.lean > 1e-5; s.lean /= math.E {
		o := s.outcomes(ctx, reverse, logDelta, 4*leastSeveral)
		law := make([]mathx.LossAtom, len(o.loss))
		for i, l := range o.loss {
			law[i] = mathx.LossAtom{Loss: l, LogMass: o.logp[i]}
		}
		eps := mathx.EpsilonOfLaw(law, math.Exp(logDelta))
		if !(eps > 1.02*most) {
			break
		}
		best, most = s, eps
	}
	return best
}

func (s several) mixture() mixture {
	c := float64(s.count) / float64(s.steps)
	return mixture{s.lean * c / (1 - c + s.lean*c), s.sigma}
}

const (
	maxSeveral = 1e9
	// maxSeveralNoise bounds the noise multiplier. With more noise, Pair.plain is an equally good bound.
	maxSeveralNoise                            = 1e6
	leastSeveral, mostSeveral, severalOutcomes = 1 << 14, 1 << 18, 1 << 12
)

// depths returns the depths d of tilts. A tilt of depth d makes masses accurate at a tail probability of
// e^-d.
func (s several) depths(logDelta float64) []float64 {
	// A Fourier transform has large errors at rare outcomes. If delta is small, a tilt towards these outcomes
	// makes their masses accurate.
	const share = 3e-11
	if logDelta > math.Log(share*float64(s.steps)) {
		return []float64{0}
	}
	return []float64{0, -logDelta / 2, -logDelta}
}

// term is the distribution of f for one step, on the lattice h*k with k = lo, lo+1, ... The proof before type
// several defines f.
type term struct {
	h         float64
	lo        int
	none, one []float64 // masses without the record, and with the record
	slack     float64
}

// outcomes returns a discrete pair of distributions that bounds epsilon from below, for deltas near
// e^logDelta.
func (s several) outcomes(ctx context.Context, reverse bool, logDelta float64, most int) *outcomes {
	depths := s.depths(logDelta)
	f := s.term(most, logDelta)
	c := &convolver{ctx: ctx, maxLength: most, accuracy: 1e-16}
	var with, without []tiltedSum
	for _, depth := range depths {
		at := s.tilt(f, depth, reverse) // of the distribution with the record; the other is e^-loss times it
		if t, ok := s.sum(c, f, at, s.count); ok {
			with = append(with, t)
		}
		if t, ok := s.sum(c, f, at+1, 0); ok {
			without = append(without, t)
		}
	}
	first, second := with, without
	if reverse {
		first, second = without, with
	}
	var all []weighted // losses with the logs of their masses
	lo, hi := span(first)
	run := 1 + (hi-lo)/severalOutcomes
	for at := lo; at < hi && len(second) > 0; at += run {
		down, up := math.Inf(-1), math.Inf(1)
		for _, t := range first {
			down = math.Max(down, t.least(at, run))
		}
		for _, t := range second {
			up = math.Min(up, t.most(at, run))
		}
		if !mathx.IsFinite(down) || !mathx.IsFinite(up) {
			continue
		}
		p, q := down, up
		if reverse {
			p, q = up, down
		}
		all = append(all, weighted{p - q, p})
	}
	if len(all) == 0 {
		all = []weighted{{}}
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.loss, b.loss) })
	o := &outcomes{logOutside: math.Inf(-1), least: all[0].loss}
	for _, x := range all {
		o.loss, o.logp = append(o.loss, x.loss), append(o.logp, x.weight)
	}
	o.lossError = 0x1p-50 * (1 + math.Max(math.Abs(o.loss[0]), math.Abs(o.loss[len(o.loss)-1])))
	return o
}

func (s several) term(most int, logDelta float64) *term {
	// The loop divides the range of a step's outputs where the rounded value changes. An inexact division
	// changes only the rounding, and the masses stay exact. The first and the last cell include the tails.
	m := s.mixture()
	reach := math.Min(math.Max(6, 1+math.Sqrt(-2*logDelta)), 12)
	shift := 1 / s.sigma
	zlo, zhi := -reach, shift+reach
	least, largest := m.loss(zlo), m.loss(zhi)
	points := math.Min(math.Max(320*math.Sqrt(float64(s.steps)), leastSeveral), mostSeveral)
	if len(s.depths(logDelta)) > 1 { // one large ratio makes windows long
		points /= 4
	}
	points = math.Min(points, float64(most)/4)
	h := math.Max(20*s.spread(m), largest-least) / points
	first, last := int(math.Round(least/h)), int(math.Round(largest/h))
	n := last - first + 1
	t := &term{h: h, lo: first, none: make([]float64, n), one: make([]float64, n)}
	t.none[0], t.one[0] = math.Exp(mathx.LogNormalCDF(zlo)), math.Exp(mathx.LogNormalCDF(zlo-shift))
	t.none[n-1] += math.Exp(mathx.LogNormalCDF(-zhi))
	t.one[n-1] += math.Exp(mathx.LogNormalCDF(shift - zhi))
	z := zlo
	for i := range n {
		end := zhi
		if i < n-1 {
			end = math.Min(zhi, m.at(h*(float64(first+i)+0.5)))
		}
		if !(end > z) {
			continue
		}
		t.none[i] += normalMass(z, end)
		t.one[i] += normalMass(z-shift, end-shift)
		z = end
	}
	t.slack = (64 + 8*zhi*zhi) * 0x1p-52
	return t
}

func (s several) spread(m mixture) float64 {
	const step = 0.05
	variance := func(mean float64) float64 {
		sum, square := 0.0, 0.0
		for z := -8.0; z <= 8; z += step {
			w, l := step*math.Exp(mathx.LogNormalPDF(z)), m.loss(z+mean)
			sum += w * l
			square += w * l * l
		}
		return math.Max(0, square-sum*sum)
	}
	return math.Sqrt(float64(s.steps-s.count)*variance(0) + float64(s.count)*variance(1/s.sigma))
}

// normalMass returns P[a < N(0,1) < b]. The relative error is below (64 + 8 z^2) 2^-52 with z = max(|a|,
// |b|).
func normalMass(a, b float64) float64 {
	near := math.Min(math.Max(0, a), b) // where the density is largest
	sum := 0.0
	for z := a; z < b; {
		w := 0.5 / (1 + math.Abs(z))
		end := z + w
		if end >= b || b-end < w/4 {
			end, w = b, b-z
		}
		for _, node := range gaussLegendre(w * (1 + math.Abs(z))) {
			x := z + node[0]*w
			sum += node[1] * w * math.Exp((near-x)*(near+x)/2)
		}
		z = end
	}
	return sum * math.Exp(mathx.LogNormalPDF(near))
}

func (s several) tilt(f *term, depth float64, reverse bool) float64 {
	parts := []component{{count: s.steps - s.count, roughLaw: f.law(f.none, 0).thin()}, {count: s.count, roughLaw: f.law(f.one, 0).thin()}}
	sign := 1.0
	if reverse {
		parts, sign = parts[:1], -1
		parts[0].count = s.steps
	}
	q := &query{parts: parts}
	lambda := solve(func(l float64) float64 {
		k, k1, _ := q.moments(sign * l)
		return depth - (sign*l*k1 - k)
	})
	lambda = sign * math.Min(lambda, 600/(f.h*float64(len(f.none))))
	if reverse {
		return lambda - 1
	}
	return lambda
}

func (f *term) law(p []float64, lambda float64) *tilted {
	t := &tilted{h: f.h, lo: f.lo, p: slices.Clone(p)}
	if lambda != 0 {
		unit := lambda * f.h
		top := unit * float64(f.lo)
		if lambda > 0 {
			top += unit * float64(len(p)-1)
		}
		var fine [256]float64 // a weight is the product of an entry and the weight of its run
		for j := range fine {
			fine[j] = math.Exp(unit * float64(j))
		}
		run := 0.0
		for i := range t.p {
			if i%len(fine) == 0 {
				run = math.Exp(unit*float64(f.lo+i) - top)
			}
			t.p[i] *= run * fine[i%len(fine)]
		}
		t.logM = top
	}
	sum := -t.logM
	t.normalise()
	sum += t.logM
	// Relative errors are in tiltedSum.slack. t.err covers masses that underflow.
	t.err = math.Exp(math.Log(float64(len(p))) - 740 - sum)
	return t
}

// Apart from the errors of t, the ratio of a true mass and p e^(logM - lambda loss) is at most e^slack in
// either direction.
type tiltedSum struct {
	t             *tilted
	lambda, slack float64
}

func (s several) sum(c *convolver, f *term, lambda float64, count int64) (tiltedSum, bool) {
	factors := []factor{{f.law(f.none, lambda), s.steps - count}}
	if count > 0 {
		factors = append(factors, factor{f.law(f.one, lambda), count})
	}
	t, err := c.convolve(1, factors...)
	if err != nil || !t.sound() {
		return tiltedSum{}, false
	}
	// Error of each term: mass, exponent of the tilt, products, and the logarithm of their sum.
	far := f.h * math.Max(math.Abs(float64(f.lo)), math.Abs(float64(f.lo+len(f.none))))
	one := f.slack + 0x1p-50*(16+math.Abs(lambda)*far)
	return tiltedSum{t, lambda, float64(s.steps) * one * 1.001}, true
}

func (s tiltedSum) run(at, run int) (sum, wrong, unit float64) {
	edge := at // where e^(-lambda loss) is largest
	if s.lambda < 0 {
		edge = at + run - 1
	}
	step := math.Exp(-math.Abs(s.lambda) * s.t.h)
	from, to := max(at-s.t.lo, 0), min(at+run-s.t.lo, len(s.t.p))
	if s.lambda < 0 { // Horner's rule, towards the edge
		for i := from; i < to; i++ {
			sum = sum*step + s.t.p[i]
		}
		sum *= math.Pow(step, float64(at+run-s.t.lo-max(from, to)))
	} else {
		for i := to - 1; i >= from; i-- {
			sum = sum*step + s.t.p[i]
		}
		sum *= math.Pow(step, float64(from-(at-s.t.lo)))
	}
	wrong = 1.01 * (float64(run)*s.t.most + s.t.err)
	return sum, wrong, s.t.logM - s.lambda*s.t.h*float64(edge)
}

func (s tiltedSum) rounding(run int, unit float64) float64 {
	return s.slack + float64(run)*0x1p-50 + 0x1p-44 + 0x1p-48*(math.Abs(s.t.logM)+math.Abs(unit-s.t.logM))
}

func (s tiltedSum) least(at, run int) float64 {
	sum, wrong, unit := s.run(at, run)
	if !(sum > wrong) {
		return math.Inf(-1)
	}
	return math.Log(sum-wrong) + unit - s.rounding(run, unit)
}

func (s tiltedSum) most(at, run int) float64 {
	sum, wrong, unit := s.run(at, run)
	return math.Log(sum+wrong) + unit + s.rounding(run, unit)
}

func span(laws []tiltedSum) (lo, hi int) {
	for i, s := range laws {
		if end := s.t.lo + len(s.t.p); i == 0 {
			lo, hi = s.t.lo, end
		} else {
			lo, hi = min(lo, s.t.lo), max(hi, end)
		}
	}
	return lo, hi
}
