package features

import (
	"cmp"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/kernel"
)

// A filter is psi_{j,theta}(u) = g(u) (exp(i xi <e, u>) - K), where e is the direction of angle (3 - theta)
// pi/8 and xi = 3 pi/4 2^-j. The Gaussian g has standard deviation sigma = 0.8 2^j along e and 2 sigma across
// e. K makes the mean of psi zero. The low-pass filter is a round Gaussian with standard deviation 1.6. All
// filters are summed over five periods in both directions.

// These constants define the filters of the 2-D scattering transform of Kymatio 0.3. Like Kymatio, `circle`
// rounds pi to 3.1415.
const (
	scales   = 2
	angles   = 8
	periods  = 2
	farthest = 80
	circle   = 2 * 3.1415
)

func morlet(rows, cols, scale, angle int) []float64 {
	sigma := 0.8 * float64(int(1)<<scale)
	xi := 3 * math.Pi / 4 / float64(int(1)<<scale)
	const slant = 4.0 / angles
	sin, cos := math.Sincos(float64(angles/2-1-angle) * math.Pi / angles)
	// These are the coefficients of the envelope's quadratic form.
	xx := (cos*cos + slant*slant*sin*sin) / (2 * sigma * sigma)
	yy := (sin*sin + slant*slant*cos*cos) / (2 * sigma * sigma)
	xy := 2 * sin * cos * (1 - slant*slant) / (2 * sigma * sigma)
	re, im, envelope := make([]float64, rows*cols), make([]float64, rows*cols), make([]float64, rows*cols)
	var sumRe, sumIm, sum float64
	for r := range rows {
		for c := range cols {
			for er := -periods; er <= periods; er++ {
				for ec := -periods; ec <= periods; ec++ {
					x, y := float64(r+er*rows), float64(c+ec*cols)
					far := xx*x*x + xy*x*y + yy*y*y
					if far > farthest {
						continue
					}
					g := math.Exp(-far)
					s, k := math.Sincos(xi * (x*cos + y*sin))
					re[r*cols+c] += g * k
					im[r*cols+c] += g * s
					envelope[r*cols+c] += g
				}
			}
			sumRe, sumIm, sum = sumRe+re[r*cols+c], sumIm+im[r*cols+c], sum+envelope[r*cols+c]
		}
	}
	norm := slant / (circle * sigma * sigma)
	for i, e := range envelope {
		re[i], im[i] = (re[i]-sumRe/sum*e)*norm, (im[i]-sumIm/sum*e)*norm
	}
	return realTransform(re, im, rows, cols)
}

func realTransform(re, im []float64, rows, cols int) []float64 {
	down, across := circlePoints(rows), circlePoints(cols)
	lineRe, lineIm := make([]float64, rows*cols), make([]float64, rows*cols)
	for r := range rows {
		for l := range cols {
			for c := range cols {
				s, k := across[l*c%cols][0], across[l*c%cols][1]
				a, b := re[r*cols+c], im[r*cols+c]
				lineRe[r*cols+l] += a*k + b*s
				lineIm[r*cols+l] += b*k - a*s
			}
		}
	}
	out := make([]float64, rows*cols)
	for k := range rows {
		for r := range rows {
			s, c := down[k*r%rows][0], down[k*r%rows][1]
			for l := range cols {
				out[k*cols+l] += lineRe[r*cols+l]*c + lineIm[r*cols+l]*s
			}
		}
	}
	return out
}

func circlePoints(n int) [][2]float64 {
	points := make([][2]float64, n)
	for i := range points {
		points[i][0], points[i][1] = math.Sincos(2 * math.Pi * float64(i) / float64(n))
	}
	return points
}

func lowPass(n, level int) []float64 {
	full := n << level
	const sigma = 0.8 * (1 << (scales - 1))
	g := make([]float64, full)
	for x := range g {
		for e := -periods; e <= periods; e++ {
			d := float64(x + e*full)
			g[x] += math.Exp(-d * d / (2 * sigma * sigma))
		}
		g[x] /= math.Sqrt(circle) * sigma
	}
	// Coarser levels keep only frequencies below their limit.
	h := make([]float64, n)
	for k := -n / 2; k < n-n/2; k++ {
		hat := 0.0
		for x, v := range g {
			hat += v * math.Cos(2*math.Pi*float64(k*x%full)/float64(full))
		}
		for x := range h {
			h[x] += hat * math.Cos(2*math.Pi*float64(k*x%n)/float64(n)) / float64(n)
		}
	}
	step := 1 << (scales - level)
	kept := n/step - 2
	out := make([]float64, kept*n)
	for u := range kept {
		for x := range n {
			out[u*n+x] = h[((u+1)*step-x+n)%n]
		}
	}
	return out
}

// basis has the cosines of frequencies 0 to n/2 and the sines of frequencies 1 to n/2 - 1. A filter with a
// real Fourier transform mixes only the four coefficients with the same pair of frequencies.
//
// Points lie on a circle and are counted from a centre. Point i is i steps after the centre, and point n-i is
// i steps before the centre. Cosines are even about the centre and sines are odd. So half of the points
// determine each part of a signal, and products need half of the operations (see [kernel.Mirror]).

// basis is a real Fourier basis of n points, where n is a multiple of four.
type basis struct{ n int }

type wave struct {
	k    int
	sine bool
}

func (b basis) waves() []wave {
	var all []wave
	for k := range b.n/2 + 1 {
		all = append(all, wave{k: k})
	}
	for k := 1; k < b.n/2; k++ {
		all = append(all, wave{k: k, sine: true})
	}
	return all
}

func (b basis) place(w wave) (int, bool) {
	if !w.sine {
		return w.k, true
	}
	return b.n/2 + w.k, w.k > 0 && w.k < b.n/2
}

func (w wave) at(i, n int) float64 {
	s, c := math.Sincos(2 * math.Pi * float64(w.k*i%n) / float64(n))
	if w.sine {
		return s
	}
	return c
}

func (w wave) weight(n int) float64 {
	if w.k == 0 || w.k == n/2 {
		return 1 / float64(n)
	}
	return 2 / float64(n)
}

// A result is a complex signal, given by the coefficients of its real and imaginary parts, times the weights
// of the inverse transform. The results use the fine basis, or the coarse basis after dropping every other
// point in both directions.
//
// Let P be the four parts of a real filter, which are even or odd in each frequency (ee, oo, eo, oe, rows
// first). Let X be the coefficients of a real signal (cc, ss, cs, sc). The filtered signal R + iI has
//
//	R.cc =  Pee Xcc - Poo Xss    I.cc = -Peo Xcs - Poe Xsc
//	R.ss = -Poo Xcc + Pee Xss    I.ss =  Poe Xcs + Peo Xsc
//	R.cs =  Pee Xcs + Poo Xsc    I.cs =  Peo Xcc - Poe Xss
//	R.sc =  Poo Xcs + Pee Xsc    I.sc =  Poe Xcc - Peo Xss
//
// So a result depends on two input coefficients of one class, either cc and ss or cs and sc. The input
// coefficients have the frequency of the result, or an alias of this frequency.
//
// The filter at angle -theta is the filter at theta with reversed columns, so Poo and Peo change sign. Let C
// be the contribution of cosines along columns to a result, and S the contribution of sines. C + S is the
// coefficient for theta. C - S is the coefficient for -theta, of the mirror image of the filtered signal.
//
// A bank has one entry for each pair of angles theta and -theta. The filters of the last pair are their own
// mirror images, so this pair has two entries. The weights of sines are negated, such that the difference is
// C + S. If sum and difference have the same destination, it holds the difference.

type bank [len(anglePairs)][]*kernel.Groups

var anglePairs = [angles / 2][2]int{{0, 6}, {1, 5}, {2, 4}, {3, 7}}

type spectrum struct {
	rows, cols int
	hat        [angles][]float64
}

func newSpectrum(rows, cols, scale int) spectrum {
	s := spectrum{rows: rows, cols: cols}
	for angle := range angles {
		s.hat[angle] = morlet(rows, cols, scale, angle)
	}
	return s
}

func (s spectrum) parts(angle, k, l int) (ee, oo, eo, oe float64) {
	at := func(k, l int) float64 {
		return s.hat[angle][(k+s.rows)%s.rows*s.cols+(l+s.cols)%s.cols]
	}
	pp, pm, mp, mm := at(k, l), at(k, -l), at(-k, l), at(-k, -l)
	return (pp + pm + mp + mm) / 4, (pp - pm - mp + mm) / 4, (pp - pm + mp - mm) / 4, (pp + pm - mp - mm) / 4
}

func (s spectrum) coefficient(angle int, a, b wave, sineRow, sineCol bool, part int) float64 {
	ee, oo, eo, oe := s.parts(angle, a.k, b.k)
	sameRow := a.sine == sineRow
	if part == 0 {
		switch {
		case sameRow:
			return ee
		case a.sine == b.sine:
			return -oo
		}
		return oo
	}
	w := oe
	if sameRow {
		w = eo
	}
	if !sineRow && !sineCol || a.sine && b.sine {
		return -w
	}
	return w
}

func (b basis) meeting(step int) [][]wave {
	// For step 2, the cosines of frequencies n/2-k and k are equal on the kept points, and the sines have
	// opposite signs.
	all := make([][]wave, b.n/2/step+1)
	for _, w := range b.waves() {
		k := w.k
		if step == 2 {
			k = min(k, b.n/2-k)
		}
		all[k] = append(all[k], w)
	}
	return all
}

func newBank(s spectrum, to, from grid, step int) bank {
	var all bank
	for i, turn := range anglePairs {
		last := i == len(anglePairs)-1
		for _, angle := range turn {
			if len(all[i]) == 0 || last {
				all[i] = append(all[i], makeGroups(s, angle, last, to, from, step))
			}
		}
	}
	return all
}

func makeGroups(s spectrum, angle int, symmetric bool, to, from grid, step int) *kernel.Groups {
	var groups []group
	rows, cols := basis{s.rows / step}, basis{s.cols / step}
	for k, down := range (basis{s.rows}).meeting(step) {
		for l, across := range (basis{s.cols}).meeting(step) {
			for class := range 2 {
				var out [kernel.GroupOutputs]outcome
				var places [kernel.GroupOutputs]int
				for i := range out {
					// Two results of the real part and two of the imaginary part depend on each class.
					o := outcome{part: i / 2, row: wave{k, i%2 > 0}}
					o.col = wave{l, o.row.sine != (o.part != class)}
					row, here := rows.place(o.row)
					col, there := cols.place(o.col)
					if o.exists = here && there; o.exists {
						places[i] = to.point(row, col) + o.part*lanes
					} else {
						places[i] = to.rows * to.row // the spare place, for results that are never read
					}
					out[i] = o
				}
				g := group{out: places}
				g.first = s.inputs(angle, from, down, across, class, false, out)
				g.second = s.inputs(angle, from, down, across, class, true, out)
				for i := range g.second.Weights {
					if symmetric {
						g.second.Weights[i] *= -1
					}
				}
				groups = append(groups, g)
			}
		}
	}
	// Sort groups by the number of inputs, which helps branch prediction at the end of a sum.
	slices.SortStableFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(a.first.In), len(b.first.In)), cmp.Compare(len(a.second.In), len(b.second.In)))
	})
	all := new(kernel.Groups)
	for _, g := range groups {
		all.Add(g.out, g.first, g.second)
	}
	return all
}

type group struct {
	out           [kernel.GroupOutputs]int
	first, second kernel.GroupInputs
}

type outcome struct {
	row, col wave
	part     int // 0 is real, 1 imaginary
	exists   bool
}

const negligible = 1e-8

func (s spectrum) inputs(angle int, from grid, down, across []wave, class int, sine bool, out [kernel.GroupOutputs]outcome) (in kernel.GroupInputs) {
	rows, cols := basis{s.rows}, basis{s.cols}
	least := negligible * float32(slices.Max(s.hat[angle])/float64(s.rows*s.cols))
	for _, a := range down {
		for _, b := range across {
			if b.sine != sine || (a.sine != b.sine) != (class == 1) {
				continue
			}
			weights, needed := make([]float32, len(out)), false
			for i, o := range out {
				if o.exists {
					weights[i] = s.meets(angle, a, b, o)
					needed = needed || weights[i] > least || -weights[i] > least
				}
			}
			if !needed {
				continue
			}
			i, _ := rows.place(a)
			j, _ := cols.place(b)
			in.In, in.Weights = append(in.In, from.point(i, j)), append(in.Weights, weights...)
		}
	}
	return in
}

func (s spectrum) meets(angle int, a, b wave, o outcome) float32 {
	w := s.coefficient(angle, a, b, o.row.sine, o.col.sine, o.part) * a.weight(s.rows) * b.weight(s.cols)
	if (o.row.sine && a.k != o.row.k) != (o.col.sine && b.k != o.col.k) {
		w = -w
	}
	return float32(w)
}
