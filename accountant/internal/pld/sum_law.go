package pld

import "math"

// If one of t steps, chosen at random, has the record, the pair is Q = N(0, sigma^2 I) and P = the mean over
// i of N(e_i, sigma^2 I). So P/Q = (r_1 + .. + r_t)/t.
//
// The hockey-stick divergences of both directions are E_Q (P/Q - g)_+ and E_Q (1 - g P/Q)_+. Both are means
// of convex functions of the sum, also in a composition with other pairs. So a distribution that is larger in
// the convex order dominates, and a smaller distribution is dominated. Splitting mass between two points with
// the same mean makes a distribution larger. Merging points into their mean makes it smaller. Sums of
// independent terms keep the convex order.
//
// Grid point i is e^{h (lo+i)}. An upper sumLaw has its masses on grid points. A lower sumLaw has its masses
// at m p/q.

// sumLaw bounds the distribution of a sum of m independent likelihood ratios r = e^{z/sigma - 1/(2 sigma^2)}
// with z ~ N(0,1).
type sumLaw struct {
	m    float64
	h    float64
	lo   int
	q    []float64 // masses under Q
	p    []float64 // masses under P for a record in this block: q times the sum, divided by m
	zero float64   // q-mass at 0; upper only
	inf  float64   // p-mass at infinity; upper only
	up   bool
	// slack bounds the relative error of the masses q and p. place bounds the relative error of their
	// positions.
	slack, place float64
}

func (l *sumLaw) last() int { return l.lo + len(l.q) - 1 }

// ratioLaw returns the distribution of one likelihood ratio. Each tail beyond the grid has probability at
// most `tail`.
func ratioLaw(sigma, h, tail float64, up bool, most int) (*sumLaw, error) {
	m := mixture{1, sigma}
	reach := math.Sqrt(-2 * math.Log(tail))
	zlo, zhi := -reach, 1/sigma+reach
	if !(m.loss(zhi)-m.loss(zlo) <= h*float64(most)) {
		return nil, errTooLong
	}
	c := m.cells(h, 0, zlo, zhi, false, func(float64, float64) int { return 1 })
	n := len(c.grid)
	l := &sumLaw{m: 1, h: h, lo: c.grid[0], q: make([]float64, n), p: make([]float64, n), up: up}
	add := func(i int, logUnit, p, q float64) {
		l.p[i] += p * math.Exp(logUnit)
		l.q[i] += q * math.Exp(logUnit-h*float64(c.grid[i]))
	}
	toRight, toLeft := -1/math.Expm1(-h), -1/math.Expm1(h)
	for j, s := range c.halfs {
		if math.IsInf(s.scale, -1) {
			continue
		}
		l.slack = math.Max(l.slack, s.slack)
		i := j / 2
		if up {
			add(i, s.scale, s.right*toLeft, s.right*toLeft)
			add(i+1, s.scale, s.left*toRight, s.left*toRight)
			continue
		}
		i = (j + 1) / 2
		l.p[i] += s.mass * math.Exp(s.scale)
		l.q[i] += (s.mass - s.left) * math.Exp(s.scale-h*float64(c.grid[j/2]))
	}
	l.slack += 0x1p-49
	l.place = h*l.slack + 0x1p-50
	// Splits that keep the mean: mass below the grid goes to 0 and the first point, mass above to the last
	// point and infinity.
	belowP, belowQ := math.Exp(c.leftP), math.Exp(c.leftQ)
	aboveP, aboveQ := math.Exp(c.rightP), math.Exp(c.rightQ)
	if up {
		first, last := h*float64(l.lo), h*float64(l.last())
		l.zero, l.inf = belowQ*(1+0x1p-40), aboveP*(1+0x1p-40)
		l.p[0] += belowP
		l.q[0] += belowP * math.Exp(-first)
		l.q[n-1] += aboveQ
		l.p[n-1] += aboveQ * math.Exp(last)
	}
	return l, nil
}

func (l *sumLaw) finer(r int) *sumLaw {
	if r == 1 {
		return l
	}
	out := *l
	out.h, out.lo = l.h/float64(r), l.lo*r
	out.q, out.p = make([]float64, (len(l.q)-1)*r+1), make([]float64, (len(l.q)-1)*r+1)
	for i := range l.q {
		out.q[i*r], out.p[i*r] = l.q[i], l.p[i]
	}
	return &out
}

// plus adds independent terms. The grid steps of the terms must be h times a power of two.
func (l *sumLaw) plus(b *sumLaw, h, tail float64, work *int) *sumLaw {
	same := l == b
	step := math.Min(l.h, b.h)
	l, b = l.finer(int(math.Round(l.h/step))), b.finer(int(math.Round(b.h/step)))
	r := int(math.Round(step / h))
	out := &sumLaw{m: l.m + b.m, h: h, up: l.up}
	sum := func(i, j int) float64 { // of two points, in steps of h
		return float64(max(i, j)*r) + math.Log1p(math.Exp(-step*math.Abs(float64(i-j))))/h
	}
	out.lo = int(sum(l.lo, b.lo)) - 2
	n := int(sum(l.last(), b.last())) + 3 - out.lo
	out.q, out.p = make([]float64, n), make([]float64, n)
	out.add(l, b, 0, same, work)
	if !same {
		out.add(b, l, 1, false, work)
	}
	if out.up {
		// If one term is 0, the sum is the other term. Below the grid this term is split between the first
		// point and 0, with the same mean. Infinite parts of the means add up.
		for _, pair := range [2][2]*sumLaw{{l, b}, {b, l}} {
			none, other := pair[0], pair[1]
			for i := range other.q {
				at := (other.lo+i)*r - out.lo
				q, p := none.zero*other.q[i], none.zero*other.p[i]*(other.m/out.m)
				if at < 0 {
					keep := math.Exp(h * float64(at))
					out.zero += q * (1 - keep)
					q, at = q*keep, 0
				}
				out.q[at] += q
				out.p[at] += p
			}
		}
		out.zero += l.zero * b.zero
		out.inf = (l.m*l.inf + b.m*b.inf) / out.m
	}
	rounding := float64(4*(len(l.q)+len(b.q))+64) * 0x1p-53
	out.slack = l.slack + b.slack + rounding
	out.place = math.Max(l.place, b.place) + rounding
	if out.up { // on the grid, except for the rounding of weights
		out.place = math.Max(l.place, b.place) + 0x1p-49
	}
	out.cut(tail)
	return out
}

// add adds to l the sums x + y of points x of big and y of small. It uses only pairs in which x is at least
// `from` grid steps above y.
func (l *sumLaw) add(big, small *sumLaw, from int, same bool, work *int) {
	// If same is set, small equals big, and each pair of points is visited once and counts twice. The sum of
	// two points that are d steps apart is log1p(e^{-hd}) above the upper point. So its place, and its
	// weights on the two grid points around it, depend only on d. The weights keep the mean. In an upper
	// distribution the mass moves to these grid points. In a lower distribution it is merged with other mass
	// near the same grid point.
	h, fine := big.h, l.h
	r := int(math.Round(h / fine))
	share, rest := big.m/l.m, small.m/l.m
	unit := 1 / math.Expm1(fine)
	first, last := max(from, big.lo-small.last()), big.last()-small.lo
	far := max(first, int(math.Ceil(-math.Log(math.Expm1(fine/2))/h)))
	for d := first; d < min(far, last+1); d++ {
		above := math.Log1p(math.Exp(-h * float64(d)))
		k := math.Floor(above / fine)
		right := math.Expm1(above-k*fine) * unit
		twice := 1.0
		if same && d > 0 {
			twice = 2
		}
		q0, q1 := twice*(1-right), twice*right
		start, end := max(big.lo, small.lo+d), min(big.last(), small.last()+d)
		if start > end {
			continue
		}
		*work += end - start + 1
		bq, bp := big.q[start-big.lo:end-big.lo+1], big.p[start-big.lo:end-big.lo+1]
		sq, sp := small.q[start-d-small.lo:], small.p[start-d-small.lo:]
		at := start*r + int(k) - l.lo
		if l.up {
			p0, p1 := share*q0*math.Exp(k*fine), share*q1*math.Exp((k+1)*fine)
			for i, x := range bq {
				x *= sq[i]
				y := bp[i] * sq[i]
				l.q[at] += x * q0
				l.q[at+1] += x * q1
				l.p[at] += y * p0
				l.p[at+1] += y * p1
				at += r
			}
			continue
		}
		for i, x := range bq {
			y := share*bp[i]*sq[i] + rest*x*sp[i]
			x *= sq[i]
			l.q[at] += x * q0
			l.q[at+1] += x * q1
			l.p[at] += y * q0
			l.p[at+1] += y * q1
			at += r
		}
	}
	l.addFar(big, small, far, same, work)
}

// addFar does the same as the method add with from = far.
func (l *sumLaw) addFar(big, small *sumLaw, far int, same bool, work *int) {
	// Each sum is less than half a step of l above the upper point. The weight of the right grid point is
	// e^{-hd}/(e^fine - 1), a geometric series in d.
	r := int(math.Round(big.h / l.h))
	share, rest := big.m/l.m, small.m/l.m
	decay, enter := math.Exp(-big.h), math.Exp(-big.h*float64(far))/math.Expm1(l.h)
	if same {
		share, rest = 2*share, 2*rest
	}
	both := 1.0
	if same {
		both = 2
	}
	up := math.Exp(l.h)
	var allQ, allP, rightQ, rightP float64 // of points of small, and their right weights
	for i := small.lo + far; i <= big.last(); i++ {
		rightQ, rightP = rightQ*decay, rightP*decay
		if j := i - far - small.lo; j < len(small.q) {
			allQ, allP = allQ+small.q[j], allP+small.p[j]
			rightQ, rightP = rightQ+small.q[j]*enter, rightP+small.p[j]*enter
		} else if rightQ < 1e-290 && rightP < 1e-290 {
			rightQ, rightP = 0, 0
		}
		if i < big.lo {
			continue
		}
		*work++
		q, p, at := big.q[i-big.lo], big.p[i-big.lo], i*r-l.lo
		l.q[at] += both * q * (allQ - rightQ)
		l.q[at+1] += both * q * rightQ
		if l.up {
			l.p[at] += share * p * (allQ - rightQ)
			l.p[at+1] += share * p * rightQ * up
			continue
		}
		l.p[at] += share*p*(allQ-rightQ) + rest*q*(allP-rightP)
		l.p[at+1] += share*p*rightQ + rest*q*rightP
	}
}

func (l *sumLaw) cut(tail float64) {
	// An upper distribution splits the lower tail between the first point and 0, and the upper tail between
	// the last point and infinity. A lower distribution merges each tail with the first or last point.
	first, last := 0, len(l.q)-1
	for sum := l.q[0]; first < last && sum <= tail; sum += l.q[first] {
		first++
	}
	for sum := l.p[last]; last > first && sum <= tail; sum += l.p[last] {
		last--
	}
	for i := range first {
		keep := 1.0
		if l.up {
			keep = math.Exp(l.h * float64(i-first))
			l.zero += l.q[i] * (1 - keep)
		}
		l.p[first] += l.p[i]
		l.q[first] += l.q[i] * keep
	}
	for i := len(l.q) - 1; i > last; i-- {
		keep := 1.0
		if l.up {
			keep = math.Exp(l.h * float64(last-i))
			l.inf += l.p[i] * (1 - keep)
		}
		l.q[last] += l.q[i]
		l.p[last] += l.p[i] * keep
	}
	l.q, l.p, l.lo = l.q[first:last+1], l.p[first:last+1], l.lo+first
}
