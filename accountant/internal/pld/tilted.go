package pld

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// tilted is stored as the probability distribution proportional to e^{lambda*loss} times the measure. Point k
// has mass p[k-lo] * e^{logM - lambda*loss(k)}.
//
// All distributions of a composition share lambda. A tilted distribution is accurate to rounding near its
// mean, where original probabilities may be tiny (exponential tilting; Chernoff's change of measure).

// tilted is a measure on the lattice h*k + off, k = lo, lo+1, ...
type tilted struct {
	h, off float64
	lo     int
	p      []float64 // not negative, sums to 1
	logM   float64
	// err bounds sum |p[i] - exact p[i] - e[i]|, where e[i] is p[i]'s rounding error from Fourier transforms.
	err float64
	// noise is an upper bound on sqrt(sum e[i]^2 / h), where h is the lattice step and e[i] is p[i]'s
	// rounding error from Fourier transforms.
	noise float64
	// most is an upper bound on |e[i]|, p[i]'s rounding error from Fourier transforms, from the last
	// convolution only.
	most   float64
	length int // length of the window of the last convolution
	pieces int // pieces of the integration of one step
	// inf is the mass at infinite loss, which p excludes and tilting does not change.
	inf       float64
	lossError float64

	mean, variance float64
}

func (t *tilted) sound() bool {
	return mathx.IsFinite(t.logM + t.mean + t.variance + t.err + t.noise + t.lossError + t.h)
}

func (t *tilted) loss(i int) float64 { return t.off + t.h*float64(t.lo+i) }

func (t *tilted) normalise() {
	first, last := 0, len(t.p)
	for first < last-1 && t.p[first] == 0 {
		first++
	}
	for last > first+1 && t.p[last-1] == 0 {
		last--
	}
	t.p, t.lo = t.p[first:last], t.lo+first
	var sums [4]float64 // independent sums run in parallel
	p := t.p
	for ; len(p) >= 4; p = p[4:] {
		sums[0] += p[0]
		sums[1] += p[1]
		sums[2] += p[2]
		sums[3] += p[3]
	}
	sum := (sums[0] + sums[1]) + (sums[2] + sums[3])
	for _, x := range p {
		sum += x
	}
	scale := 1 / sum // with the product two units of rounding, of the four that err grows by
	s1, s2 := 0.0, 0.0
	d := -float64(len(t.p)) / 2
	c := -d
	for i, x := range t.p {
		x *= scale
		t.p[i] = x
		moment := x * d
		s1 += moment
		s2 += moment * d
		d++
	}
	t.logM += math.Log(sum)
	t.mean = t.off + t.h*(float64(t.lo)+c+s1)
	t.variance = t.h * t.h * math.Max(0, s2-s1*s1)
	t.err += 0x1p-51
}

func (t *tilted) trim(mass float64) {
	first, last, sum := 0, len(t.p), 0.0
	for ; first < last-1 && sum+t.p[first] <= mass; first++ {
		sum += t.p[first]
	}
	up := 0.0
	for ; last > first+1 && up+t.p[last-1] <= mass; last-- {
		up += t.p[last-1]
	}
	t.p, t.lo = t.p[first:last], t.lo+first
	t.err += sum + up
}

func (t *tilted) cumulant(s float64) float64 {
	ratio := math.Exp(s * t.h)
	at := int(math.Round((t.mean - t.loss(0)) / t.h))
	at = min(max(at, 0), len(t.p)-1)
	sum, w := 0.0, 1.0
	for i := at; i < len(t.p); i++ {
		sum += t.p[i] * w
		w *= ratio
	}
	w = 1 / ratio
	for i := at - 1; i >= 0; i-- {
		sum += t.p[i] * w
		w /= ratio
	}
	if math.IsNaN(sum) || math.IsInf(sum, 1) {
		return math.Inf(1)
	}
	return math.Log(sum*(1+float64(len(t.p))*0x1p-52)) + s*(t.loss(at)-t.mean)
}

// thin approximates the distribution of the distance from the mean. Only searches depend on the result, no
// bound.
func (t *tilted) thin() roughLaw {
	const fine = 16 // a run is as long as this fraction of its distance from the mean
	var s roughLaw
	at := (t.mean - t.loss(0)) / t.h
	for i := 0; i < len(t.p); {
		distance := float64(i) - at
		run := max(1, int(math.Abs(distance)/fine))
		if distance < 0 && i+run > int(at) {
			run = max(1, int(at)-i)
		}
		mass, moment := 0.0, 0.0
		for _, x := range t.p[i:min(i+run, len(t.p))] {
			mass += x
			moment += x * distance
			distance++
		}
		if mass > 0 {
			s.loss, s.logw = append(s.loss, t.h*moment/mass), append(s.logw, math.Log(mass))
		}
		i += run
	}
	return s
}

// upper returns a distribution that dominates the cells, with losses on the grid.
func (c *cells) upper(lambda float64) *tilted {
	// It splits the mass of a cell between its two ends so that P and Q keep their masses (connect the dots;
	// Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The mass outside the cells moves to a larger loss,
	// perhaps +Inf. Every mass is rounded up.
	t := c.empty()
	base := c.unit(lambda)
	add := func(g int, x, slack, unit float64) {
		if x > 0 {
			t.p[g-t.lo] += x * (1 + slack + 0x1p-48) * unit
		}
	}
	unit := func(g int, scale float64) float64 { return math.Exp(scale + lambda*(c.off+c.h*float64(g)) - base) }
	var d, toRight, toLeft, rise float64 // most cells have the width of the previous cell
	for i := range len(c.grid) - 1 {
		if w := c.width(i); w != d {
			d, toRight, toLeft, rise = w, -1/math.Expm1(-w), -1/math.Expm1(w), math.Exp(lambda*w)
		}
		for _, s := range c.halfs[2*i : 2*i+2] {
			if s.empty() {
				continue
			}
			left := unit(c.grid[i], s.scale)
			right := left * rise
			if !(left > 1e-290 && rise < 1e300) { // not fully accurate
				right = unit(c.grid[i+1], s.scale)
			}
			add(c.grid[i], s.right*toLeft, s.slack, left)
			add(c.grid[i+1], s.left*toRight, s.slack, right)
		}
	}
	for _, a := range c.atoms {
		add(c.grid[a.i], 1, 0x1p-50*math.Abs(a.logMass), unit(c.grid[a.i], a.logMass))
	}
	add(c.grid[c.leftHigh], 1, 0x1p-40, unit(c.grid[c.leftHigh], c.leftP))
	if c.rightHigh >= 0 {
		add(c.grid[c.rightHigh], 1, 0x1p-40, unit(c.grid[c.rightHigh], c.rightP))
	} else {
		t.inf = math.Exp(c.rightP) * (1 + 0x1p-40)
	}
	t.logM = base
	t.lossError = c.lossError
	t.err = c.tiltError(lambda, base)
	t.normalise()
	return t
}

func (c *cells) empty() *tilted {
	n := len(c.grid)
	return &tilted{h: c.h, off: c.off, lo: c.grid[0], p: make([]float64, c.grid[n-1]-c.grid[0]+1), pieces: c.pieces}
}

func (c *cells) tiltError(lambda, base float64) float64 {
	far := math.Max(math.Abs(c.at(0)), math.Abs(c.at(len(c.grid)-1)))
	return 0x1p-51 * (math.Abs(base) + lambda*far)
}

func (c *cells) unit(lambda float64) float64 {
	base := math.Inf(-1)
	for j := range c.halfs {
		if s := &c.halfs[j]; !s.empty() {
			base = math.Max(base, s.scale+lambda*c.at(j/2))
		}
	}
	return base
}

// lower returns a distribution that the cells dominate, with losses on the grid.
func (c *cells) lower(lambda float64) *tilted {
	// It merges outputs near the same grid point. Then it mixes the merged outputs, so that each has exactly
	// a grid loss. Both steps are post-processing. The mass outside the grid is dropped.
	t := c.empty()
	base := c.unit(lambda)
	last := len(c.grid) - 1
	points := make([]mergedOutput, len(c.grid))
	for i, g := range c.grid {
		points[i].k = g
	}
	give := func(half, to int) {
		s := &c.halfs[half]
		if s.empty() {
			return
		}
		w := math.Exp(s.scale+lambda*c.at(to)-base) * (1 - s.slack - 0x1p-48)
		dev := s.left
		switch end := half/2 + 1; to {
		case half / 2:
		case end:
			dev = s.right
		default: // P - e^c Q at another point c
			above := c.h * float64(c.grid[to]-c.grid[half/2])
			dev = s.left - math.Expm1(above)*(s.mass-s.left)
		}
		points[to].mass += w * s.mass
		points[to].dev += w * dev
	}
	for i := range last {
		a, b := &c.halfs[2*i], &c.halfs[2*i+1]
		d := lambda * c.width(i)
		ratio := b.mass / a.mass * math.Exp(b.scale-a.scale+d/2) // tilted, of the halves
		// If the distribution is steep, all mass of a cell goes to the end with more mass nearby. The
		// outermost cells do the same.
		leftTo, rightTo := i, i+1
		switch {
		case c.lowest > i:
			leftTo, rightTo = c.lowest, c.lowest
		case c.lowest == i && last > 1: // the lower half belongs there
			if c.whole {
				rightTo = i
			}
		case c.highest >= 0 && c.highest <= i:
			leftTo, rightTo = c.highest, c.highest
		case c.highest == i+1 && last > 1:
			if c.whole {
				leftTo = i + 1
			}
		case last == 1:
		case i == 0 || ratio > 4 || math.IsNaN(ratio):
			leftTo = i + 1
		case i == last-1 || ratio < 0.25:
			rightTo = i
		}
		give(2*i, leftTo)
		give(2*i+1, rightTo)
	}
	kept := points[:0]
	for _, m := range points {
		if m.mass > 0 {
			kept = append(kept, m)
		}
	}
	points = kept
	t.logM = base
	close := math.Max(0x1p-46*math.Min(c.h, 1), c.lossError)
	t.lossError = c.lossError + 2*close
	t.err = c.tiltError(lambda, base)
	t.place(points, lambda, close)
	for _, a := range c.atoms {
		t.p[c.grid[a.i]-t.lo] += math.Exp(a.logMass+lambda*c.at(a.i)-base) * (1 - 0x1p-48 - 0x1p-50*math.Abs(a.logMass))
	}
	t.normalise()
	return t
}
