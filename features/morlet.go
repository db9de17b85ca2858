package features

import "math"

// The filters of the 2-D scattering transform as Kymatio 0.3 defines them, two
// scales and eight angles. psi_{j,theta}(u) = g(u) (exp(i xi <e, u>) - K) with e
// the direction of the angle (7/2 - 1/2 - theta) pi/8, xi = 3 pi/4 2^-j, sigma =
// 0.8 2^j along e and twice that across it, and K such that psi has mean zero.
// The low pass is a round Gaussian of sigma 1.6. All are summed over five
// periods in both directions.
const (
	scales = 2
	angles = 8
	// periods on either side that a filter is summed over.
	periods = 2
	// farthest is an exponent of an envelope, whose peak is 1, that no sum in double precision
	// notices.
	farthest = 80
	// circle is Kymatio's 2 pi in the norm of a filter.
	circle = 2 * 3.1415
)

// morlet returns the Fourier transform, which is real, of psi on a grid of rows x cols,
// row-major.
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

// realTransform returns the real part of the 2-D discrete Fourier transform, one
// dimension after the other.
func realTransform(re, im []float64, rows, cols int) []float64 {
	down, across := circlePoints(rows), circlePoints(cols)
	lineRe, lineIm := make([]float64, rows*cols), make([]float64, rows*cols)
	for r := range rows {
		for l := range cols {
			for c := range cols {
				s, k := across[l*c%cols].sin, across[l*c%cols].cos
				a, b := re[r*cols+c], im[r*cols+c]
				lineRe[r*cols+l] += a*k + b*s
				lineIm[r*cols+l] += b*k - a*s
			}
		}
	}
	out := make([]float64, rows*cols)
	for k := range rows {
		for r := range rows {
			s, c := down[k*r%rows].sin, down[k*r%rows].cos
			for l := range cols {
				out[k*cols+l] += lineRe[r*cols+l]*c + lineIm[r*cols+l]*s
			}
		}
	}
	return out
}

// circlePoint is a point of the unit circle.
type circlePoint struct{ sin, cos float64 }

// circlePoints returns n points around the circle.
func circlePoints(n int) []circlePoint {
	points := make([]circlePoint, n)
	for i := range points {
		points[i].sin, points[i].cos = math.Sincos(2 * math.Pi * float64(i) / float64(n))
	}
	return points
}

// lowPass returns the low pass along one dimension of n points at resolution
// 2^-level (n is the number of points there), one point in 2^(2-level) kept and
// the first and the last of those dropped: n 2^level/4 - 2 rows of n. The low
// pass in two dimensions is this one along either.
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
