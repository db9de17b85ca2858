package features

import (
	"math"
)

// The filters of the 2-D scattering transform as Kymatio 0.3 defines them, two scales and eight angles.
// psi_{j,theta}(u) = g(u) (exp(i xi <e, u>) - K) with e the direction of the angle (7/2 - 1/2 - theta)
// pi/8, xi = 3 pi/4 2^-j, sigma = 0.8 2^j along e and twice that across it, and K such that psi has mean
// zero. The low pass is a round Gaussian of sigma 1.6. All are summed over five periods in both directions.
const (
	scales  = 2
	angles  = 8
	periods = 2
	// farthest is an exponent of an envelope, whose peak is 1, that no sum in double precision notices.
	farthest = 80
	// circle is Kymatio's 2 pi in the norm of a filter.
	circle = 2 * 3.1415
)

// morlet returns the Fourier transform, which is real, of psi on a grid of rows x cols, row-major.
func morlet(rows, cols, scale, angle int) []float64 {
	sigma := 0.8 * float64(int(1)<<scale)
	xi := 3 * math.Pi / 4 / float64(int(1)<<scale)
	const slant = 4.0 / angles
	sin, cos := math.Sincos(float64(angles/2-1-angle) * math.Pi / angles)
	// The quadratic form of the envelope.
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

// realTransform returns the real part of the 2-D discrete Fourier transform, one dimension after the other.
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

// lowPass returns the low pass along one dimension of n points at resolution 2^-level (n is the number of
// points there), one point in 2^(2-level) kept and the first and the last kept ones dropped: n 2^level/4 -
// 2 rows of n. The low pass in two dimensions is this one along either.
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
	// Coarser levels keep the frequencies below their own limit.
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

// A real Fourier basis of n points, n a multiple of four: the cosines of the frequencies 0 to n/2 and the
// sines of 1 to n/2 - 1. Real signals have real coefficients in it, half as many numbers as complex ones,
// and a filter whose Fourier transform is real mixes only the four coefficients that share a pair of
// frequencies.
//
// Points are counted from a centre, on a circle: point i is i behind it, and point n-i as far in front of
// it. Cosines are even about the centre and sines are odd. So a signal is a sum of two parts that half of
// the points determine, and products with them take half of the operations: see [kernel.Mirror].
type basis struct{ n int }

type wave struct {
	k    int
	sine bool
}

// waves returns the functions in order: cosines, then sines.
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

// place returns the place of a function in that order, and whether it exists.
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

// weight makes analysis followed by the transpose of analysis the identity.
func (w wave) weight(n int) float64 {
	if w.k == 0 || w.k == n/2 {
		return 1 / float64(n)
	}
	return 2 / float64(n)
}
