package mathx

import (
	"math"
)

// A stage of radix r divides the remaining length, n = len(x)/s, into m = n/r parts:
//
//	y[q + s (rp+k)] = e^{-2 pi i pk/n} sum_j e^{-2 pi i jk/r} x[q + s (p+jm)],   p < m, q < s

func quarters(x []complex128, s, p, m int) (a, b, c, d []complex128) {
	return x[s*p : s*p+s], x[s*(p+m) : s*(p+m)+s], x[s*(p+2*m) : s*(p+2*m)+s], x[s*(p+3*m) : s*(p+3*m)+s]
}

func stage4(y, x, roots []complex128, s, step int) {
	m := len(x) / s / 4
	if s == 1 {
		first4(y, x, roots, m, step)
		return
	}
	for p := range m {
		w1, w2, w3 := roots[step*p], roots[2*step*p], root(roots, 3*step*p)
		r1, i1, r2, i2, r3, i3 := real(w1), imag(w1), real(w2), imag(w2), real(w3), imag(w3)
		x0, x1, x2, x3 := quarters(x, s, p, m)
		y0, y1, y2, y3 := quarters(y, s, 4*p, 1)
		for q := range x0 {
			a, b, c, d := x0[q], x1[q], x2[q], x3[q]
			apcR, apcI, amcR, amcI := real(a)+real(c), imag(a)+imag(c), real(a)-real(c), imag(a)-imag(c)
			bpdR, bpdI := real(b)+real(d), imag(b)+imag(d)
			jR, jI := imag(b)-imag(d), real(d)-real(b)
			y0[q] = complex(apcR+bpdR, apcI+bpdI)
			tR, tI := amcR+jR, amcI+jI
			y1[q] = complex(tR*r1-tI*i1, tR*i1+tI*r1)
			tR, tI = apcR-bpdR, apcI-bpdI
			y2[q] = complex(tR*r2-tI*i2, tR*i2+tI*r2)
			tR, tI = amcR-jR, amcI-jI
			y3[q] = complex(tR*r3-tI*i3, tR*i3+tI*r3)
		}
	}
}

func first4(y, x, roots []complex128, m, step int) {
	x0, x1, x2, x3 := quarters(x, m, 0, 1)
	for p := range x0 {
		w1, w2, w3 := roots[step*p], roots[2*step*p], root(roots, 3*step*p)
		a, b, c, d := x0[p], x1[p], x2[p], x3[p]
		out := (*[4]complex128)(y[4*p:])
		apcR, apcI, amcR, amcI := real(a)+real(c), imag(a)+imag(c), real(a)-real(c), imag(a)-imag(c)
		bpdR, bpdI := real(b)+real(d), imag(b)+imag(d)
		jR, jI := imag(b)-imag(d), real(d)-real(b)
		out[0] = complex(apcR+bpdR, apcI+bpdI)
		tR, tI := amcR+jR, amcI+jI
		out[1] = complex(tR*real(w1)-tI*imag(w1), tR*imag(w1)+tI*real(w1))
		tR, tI = apcR-bpdR, apcI-bpdI
		out[2] = complex(tR*real(w2)-tI*imag(w2), tR*imag(w2)+tI*real(w2))
		tR, tI = amcR-jR, amcI-jI
		out[3] = complex(tR*real(w3)-tI*imag(w3), tR*imag(w3)+tI*real(w3))
	}
}

func stage2(y, x, roots []complex128, s, step int) {
	m := len(x) / s / 2
	for p := range m {
		w := roots[step*p]
		x0, x1 := x[s*p:s*p+s], x[s*(p+m):s*(p+m)+s]
		y0, y1 := y[2*s*p:2*s*p+s], y[2*s*p+s:2*s*p+2*s]
		for q := range x0 {
			a, b := x0[q], x1[q]
			y0[q], y1[q] = a+b, (a-b)*w
		}
	}
}

func stage3(y, x, roots []complex128, s, step int) {
	const sin60 = 0.8660254037844386
	m := len(x) / s / 3
	for p := range m {
		w1, w2 := roots[step*p], root(roots, 2*step*p)
		x0, x1, x2 := x[s*p:s*p+s], x[s*(p+m):s*(p+m)+s], x[s*(p+2*m):s*(p+2*m)+s]
		y0, y1, y2 := y[3*s*p:3*s*p+s], y[3*s*p+s:3*s*p+2*s], y[3*s*p+2*s:3*s*p+3*s]
		for q := range x0 {
			a, b, c := x0[q], x1[q], x2[q]
			sum, diff := b+c, b-c
			mid := a - complex(real(sum)/2, imag(sum)/2)
			turn := complex(sin60*imag(diff), -sin60*real(diff)) // -i sin60 (b-c)
			y0[q] = a + sum
			y1[q] = (mid + turn) * w1
			y2[q] = (mid - turn) * w2
		}
	}
}

func stage5(y, x, roots []complex128, s, step int) {
	const (
		cos72, sin72   = 0.30901699437494742410, 0.95105651629515357212
		cos144, sin144 = -0.80901699437494742410, 0.58778525229247312917
	)
	m := len(x) / s / 5
	for p := range m {
		w1, w2 := roots[step*p], roots[2*step*p]
		w3, w4 := root(roots, 3*step*p), root(roots, 4*step*p)
		x0, x1, x2 := x[s*p:s*p+s], x[s*(p+m):s*(p+m)+s], x[s*(p+2*m):s*(p+2*m)+s]
		x3, x4 := x[s*(p+3*m):s*(p+3*m)+s], x[s*(p+4*m):s*(p+4*m)+s]
		y0, y1, y2 := y[5*s*p:5*s*p+s], y[5*s*p+s:5*s*p+2*s], y[5*s*p+2*s:5*s*p+3*s]
		y3, y4 := y[5*s*p+3*s:5*s*p+4*s], y[5*s*p+4*s:5*s*p+5*s]
		for q := range x0 {
			a, b, c, d, e := x0[q], x1[q], x2[q], x3[q], x4[q]
			beR, beI, cdR, cdI := real(b)+real(e), imag(b)+imag(e), real(c)+real(d), imag(c)+imag(d)
			bmeR, bmeI, cmdR, cmdI := real(b)-real(e), imag(b)-imag(e), real(c)-real(d), imag(c)-imag(d)
			y0[q] = complex(real(a)+(beR+cdR), imag(a)+(beI+cdI))
			midR, midI := real(a)+(cos72*beR+cos144*cdR), imag(a)+(cos72*beI+cos144*cdI)
			turnR, turnI := sin72*bmeI+sin144*cmdI, -(sin72*bmeR + sin144*cmdR) // times -i
			y1[q] = complex(midR+turnR, midI+turnI) * w1
			y4[q] = complex(midR-turnR, midI-turnI) * w4
			midR, midI = real(a)+(cos144*beR+cos72*cdR), imag(a)+(cos144*beI+cos72*cdI)
			turnR, turnI = sin144*bmeI-sin72*cmdI, sin72*cmdR-sin144*bmeR
			y2[q] = complex(midR+turnR, midI+turnI) * w2
			y3[q] = complex(midR-turnR, midI-turnI) * w3
		}
	}
}

// unitRoots returns e^{-2 pi i k/n} for k < n/2, with errors below 0.75 * 2^-53. n must be a multiple of 4.
func unitRoots(n int) []complex128 {
	w := make([]complex128, n/2)
	block := 1 // fine roots, then every block-th root
	for block*block < n/8 {
		block *= 2
	}
	angle := wide{2 * math.Pi, 2.4492935982947064e-16}.over(float64(n))
	fine := powers(angle, block)
	for a, coarse := range powers(wide{angle.hi * float64(block), angle.lo * float64(block)}, n/8/block+1) {
		for b, f := range fine {
			if k := a*block + b; 8*k <= n {
				r := coarse.times(f)
				w[k] = complex(r.cos.hi, -r.sin.hi)
			}
		}
	}
	quarter := n / 4
	for k := n/8 + 1; k <= quarter; k++ { // reflected at 45 degrees
		r := w[quarter-k]
		w[k] = complex(-imag(r), -real(r))
	}
	for k := quarter + 1; k < len(w); k++ {
		r := w[n/2-k]
		w[k] = complex(-real(r), imag(r))
	}
	return w
}

func powers(angle wide, n int) []point {
	step, term := point{cos: wide{1, 0}}, wide{1, 0}
	for j := 1; j < 40; j += 2 { // Taylor's series
		term = term.times(angle).over(float64(j))
		step.sin = step.sin.plus(term)
		term = term.times(angle).over(float64(-j - 1))
		step.cos = step.cos.plus(term)
	}
	all := make([]point, n)
	all[0].cos.hi = 1
	for k := 1; k < n; k++ {
		all[k] = all[k-1].times(step)
	}
	return all
}

type point struct{ cos, sin wide }

func (p point) times(q point) point {
	return point{p.cos.times(q.cos).plus(p.sin.times(q.sin).minus()), p.cos.times(q.sin).plus(p.sin.times(q.cos))}
}

// wide is an unevaluated sum of two float64 (Dekker 1971). An operation has a relative error of about 2^-104.
type wide struct{ hi, lo float64 }

func (a wide) minus() wide { return wide{-a.hi, -a.lo} }

func (a wide) plus(b wide) wide {
	s := a.hi + b.hi
	v := s - a.hi
	return sum(s, (a.hi-(s-v))+(b.hi-v)+(a.lo+b.lo))
}

func (a wide) times(b wide) wide {
	p := a.hi * b.hi
	return sum(p, math.FMA(a.hi, b.hi, -p)+(float64(a.hi*b.lo)+float64(a.lo*b.hi)))
}

func (a wide) over(n float64) wide {
	q := a.hi / n
	return sum(q, (math.FMA(-q, n, a.hi)+a.lo)/n)
}

func sum(a, b float64) wide {
	s := a + b
	return wide{s, b - (s - a)}
}
