package mathx

import "math"

// unitRoots returns e^{-2 pi i k/n}, k < n/2, n a multiple of 4. They are sums of two float64
// before they are rounded, so a root is wrong by less than 0.75 units: one half in either
// coordinate, and next to nothing for what the sums lose.
func unitRoots(n int) []complex128 {
	w := make([]complex128, n/2)
	block := 1 // fine roots, then every block-th one
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

// powers returns the first n points on the unit circle at multiples of an angle up to pi/2.
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

// point is one on the unit circle.
type point struct{ cos, sin wide }

func (p point) times(q point) point {
	return point{p.cos.times(q.cos).plus(p.sin.times(q.sin).minus()), p.cos.times(q.sin).plus(p.sin.times(q.cos))}
}

// wide is an unevaluated sum of two float64, the second below half a unit of the first (Dekker
// 1971): an operation adds an error of some 2^-104 of the moduli of its arguments.
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

// sum joins a large and a small number.
func sum(a, b float64) wide {
	s := a + b
	return wide{s, b - (s - a)}
}
