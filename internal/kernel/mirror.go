package kernel

import (
	"math"
	"unsafe"
)

const strip = 16

// Mirror holds two matrices, Even and Odd. Its methods multiply Even and Odd by other matrices, and compute
// the sum and the difference of the two products.
type Mirror struct {
	Even, Odd []float32 // M x KE and M x KO
	M, KE, KO int
}

// Strips locates a matrix in a slice, cut into strips of 16 columns. Row r of strip s begins at index At +
// r·Row + s·Step.
type Strips struct{ At, Row, Step int }

func (s Strips) ends(rows, strips int) (least, most int) {
	r, t := (rows-1)*s.Row, (strips-1)*s.Step
	return s.At + min(r, 0) + min(t, 0), s.At + max(r, 0) + max(t, 0)
}

func (s Strips) fits(x []float32, rows, strips, width int) {
	least, most := s.ends(rows, strips)
	if least < 0 || most > len(x)-width {
		panic("kernel: slice too short for its dimensions")
	}
}

func (m Mirror) check() {
	match(m.M >= 1 && m.KE >= 1 && m.KO >= 0 && len(m.Even) == m.M*m.KE && len(m.Odd) == m.M*m.KO)
}

// MulStrips computes e = m.Even A and o = m.Odd B. The arguments even and odd locate the matrices A and B in
// src. MulStrips stores e + o in dst at the place `sum`, and e - o at `difference`. If sum equals difference,
// dst gets e - o.
func (m Mirror) MulStrips(dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	if strips == 0 {
		return
	}
	m.prepare(dst, sum, difference, m.M, src, even, odd, strips, strip)
	if pathOf[float32]() > portable {
		mirrorStrips32(&dst[sum.At], &dst[difference.At], 4*sum.Row, 4*difference.Row, 4*sum.Step, &m.Even[0], first(m.Odd),
			m.M, m.KE, m.KO, &src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
		return
	}
	m.each(src, even, odd, strips, func(s, r int, e, o *[strip]float32) {
		setStrips(sum.row(dst, r, s), difference.row(dst, r, s), e, o)
	})
}

func (s Strips) row(x []float32, r, i int) []float32 { return x[s.At+r*s.Row+i*s.Step:] }

func setStrips(up, down []float32, e, o *[strip]float32) {
	up, down = up[:strip], down[:strip]
	for j := range strip {
		up[j], down[j] = e[j]+o[j], e[j]-o[j]
	}
}

func moduli(dst, re, im []float32) {
	for i := range dst {
		// The conversions prevent compilers from fusing.
		dst[i] = float32(math.Sqrt(float64(float32(float32(re[i]*re[i]) + float32(im[i]*im[i])))))
	}
}

func setModuli(up, down []float32, e, o *[strip]float32) {
	const half = strip / 2
	var a, b [strip]float32
	setStrips(a[:], b[:], e, o)
	var front, back [half]float32
	moduli(front[:], a[:half], a[half:])
	moduli(back[:], b[:half], b[half:])
	up, down = up[:half], down[:half]
	for j := range half {
		up[j], down[j] = front[j]+back[j], front[j]-back[j]
	}
}

func (m Mirror) prepare(dst []float32, sum, difference Strips, rows int, src []float32, even, odd Strips, strips, width int) {
	m.check()
	sum.fits(dst, rows, strips, width)
	difference.fits(dst, rows, strips, width)
	even.fits(src, m.KE, strips, strip)
	if m.KO > 0 {
		odd.fits(src, m.KO, strips, strip)
	}
	if even.Row != odd.Row || even.Step != odd.Step || sum.Step != difference.Step {
		panic("kernel: strips that go together lie at different distances")
	}
}

func (m Mirror) each(src []float32, even, odd Strips, strips int, f func(s, r int, e, o *[strip]float32)) {
	for s := range strips {
		for r := range m.M {
			var e, o [strip]float32
			addRow(&e, m.Even[r*m.KE:(r+1)*m.KE], 0, 1, src, even, s)
			addRow(&o, m.Odd[r*m.KO:(r+1)*m.KO], 0, 1, src, odd, s)
			f(s, r, &e, &o)
		}
	}
}

func addRow(sum *[strip]float32, row []float32, first, step int, src []float32, at Strips, s int) {
	for p := first; p < len(row); p += step {
		w := row[p]
		for j, v := range src[at.At+p*at.Row+s*at.Step:][:strip] {
			sum[j] += float32(w * v)
		}
	}
}

// Quarters is a [Mirror] for matrices with rows 0 to Last. Coefficient i of row Last - r is (-1)^i times
// coefficient i of row r. So the fields Even and Odd hold only rows 0 to Last/2, and the field M is Last/2 +
// 1.
type Quarters struct {
	Mirror
	Last int
}

// MulStrips is [Mirror.MulStrips] for rows 0 to Last. If two results have the same place in dst, row Last - r
// overwrites row r, for r <= Last/2.
func (q Quarters) MulStrips(dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	q.mul(false, dst, sum, difference, src, even, odd, strips)
}

// Moduli is like MulStrips, but src holds complex numbers. The first eight columns of a strip of src hold
// real parts, and the last eight imaginary parts. Let s and d be the results of MulStrips for `sum` and
// `difference`. Moduli sets eight columns at `sum` to |s| + |d|, and eight at `difference` to |s| - |d|.
func (q Quarters) Moduli(dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	q.mul(true, dst, sum, difference, src, even, odd, strips)
}

func (q Quarters) mul(moduli bool, dst []float32, sum, difference Strips, src []float32, even, odd Strips, strips int) {
	if strips == 0 {
		return
	}
	match(q.M == q.Last/2+1)
	set, width := setStrips, strip
	if moduli {
		set, width = setModuli, strip/2
	}
	q.prepare(dst, sum, difference, q.Last+1, src, even, odd, strips, width)
	up, down, up2, down2 := &dst[sum.At], &dst[difference.At], &dst[sum.At+q.Last*sum.Row], &dst[difference.At+q.Last*difference.Row]
	switch {
	case pathOf[float32]() == portable:
		q.each(src, even, odd, strips, func(s, r int, e, o *[strip]float32) {
			set(sum.row(dst, r, s), difference.row(dst, r, s), e, o)
		})
	case moduli:
		quarterModuli32(up, down, up2, down2, 4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
			&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
	default:
		quarterStrips32(up, down, up2, down2, 4*sum.Row, 4*difference.Row, 4*sum.Step, &q.Even[0], first(q.Odd), q.M, q.KE, q.KO,
			&src[even.At], 4*(odd.At-even.At), 4*even.Row, 4*even.Step, strips)
	}
}

func (q Quarters) each(src []float32, even, odd Strips, strips int, f func(s, r int, e, o *[strip]float32)) {
	for s := range strips {
		for r := range q.M {
			var here, there [2][strip]float32
			for i, at := range []Strips{even, odd} {
				row := q.Even[r*q.KE : (r+1)*q.KE]
				if i == 1 {
					row = q.Odd[r*q.KO : (r+1)*q.KO]
				}
				var first, second [strip]float32
				addRow(&first, row, 0, 2, src, at, s)
				addRow(&second, row, 1, 2, src, at, s)
				setStrips(here[i][:], there[i][:], &first, &second)
			}
			f(s, r, &here[0], &here[1])
			f(s, q.Last-r, &there[0], &there[1])
		}
	}
}

// Butterfly sets sum to a + b and difference to a - b. All slices have equal length and may coincide.
func Butterfly(sum, difference, a, b []float32) {
	match(len(difference) == len(sum) && len(a) == len(sum) && len(b) == len(sum))
	done := whole[float32](len(sum), 8)
	if done > 0 {
		butterfly32(&sum[0], &difference[0], &a[0], &b[0], done)
	}
	for i := done; i < len(sum); i++ {
		v, w := a[i], b[i]
		sum[i], difference[i] = v+w, v-w
	}
}

// Halves is a matrix h with M rows and Last + 1 columns. Rows 0, 2, 4, ... are symmetric: h[r][Last-i] =
// h[r][i]. The other rows are antisymmetric: h[r][Last-i] = -h[r][i]. Even and Odd hold columns 0 to Last/2
// of the symmetric and the antisymmetric rows. If Last is even, Even holds half the values of column Last/2,
// and Odd's column Last/2 has no effect.
type Halves struct {
	Even, Odd []float32 // (M+1)/2 x Last/2+1 and M/2 x Last/2+1
	M, Last   int
}

// MulStrips sets each strip of dst to the product of h and the same strip of src. A strip has Last + 1 rows
// in src and M rows in dst. The slices must not overlap.
func (h Halves) MulStrips(dst []float32, to Strips, src []float32, from Strips, strips int) {
	if strips == 0 {
		return
	}
	k := h.Last/2 + 1
	match(h.M >= 1 && h.Last >= 0 && len(h.Even) == (h.M+1)/2*k && len(h.Odd) == h.M/2*k)
	to.fits(dst, h.M, strips, strip)
	from.fits(src, h.Last+1, strips, strip)
	if pathOf[float32]() > portable {
		halves32(&dst[to.At], 4*to.Row, 4*to.Step, &h.Even[0], first(h.Odd), h.M/2, h.M%2, k,
			&src[from.At], &src[from.At+h.Last*from.Row], 4*from.Row, 4*from.Step, strips)
		return
	}
	for s := range strips {
		for r := range h.M {
			coefficients, sign := h.Even[r/2*k:], float32(1)
			if r%2 == 1 {
				coefficients, sign = h.Odd[r/2*k:], -1
			}
			result := to.row(dst, r, s)[:strip]
			clear(result)
			for i, w := range coefficients[:k] {
				front, back := from.row(src, i, s), from.row(src, h.Last-i, s)
				for j := range result {
					result[j] += float32(w * (front[j] + sign*back[j]))
				}
			}
		}
	}
}

// GroupOutputs is the number of result vectors of each group in [Groups].
const GroupOutputs = 4

// Groups is a pair of sparse matrices, for a filter and for its mirror image. Each input and each result is a
// vector of eight numbers. A group has two products p and q of four vectors, and four results. Result i is
// p[i] + q[i] in one matrix and p[i] - q[i] in the other. The place of an input or a result is the index of
// its first number in a slice. Concurrent calls of Mul are safe.
type Groups struct {
	in, out          []int32 // places in bytes
	counts           []int32 // number of inputs of each product
	weights          []float32
	srcSize, dstSize int // smallest lengths of the slices
}

// GroupInputs holds the inputs of one of the two products of a group. In has the places of the inputs, and
// may be empty. Weights[4j+i] is the weight of input j in vector i of the product.
type GroupInputs struct {
	In      []int
	Weights []float32
}

// Add adds a group of two products (see [Groups]). The four results go to the places `out`.
func (g *Groups) Add(out [GroupOutputs]int, first, second GroupInputs) {
	const lanes, bytes = 8, 4
	place := func(p int, size *int) int32 {
		if p < 0 || p > math.MaxInt32/bytes-lanes {
			panic("kernel: place out of range")
		}
		*size = max(*size, p+lanes)
		return int32(bytes * p)
	}
	for _, inputs := range []GroupInputs{first, second} {
		match(len(inputs.Weights) == GroupOutputs*len(inputs.In))
		for _, p := range inputs.In {
			g.in = append(g.in, place(p, &g.srcSize))
		}
		g.counts, g.weights = append(g.counts, int32(len(inputs.In))), append(g.weights, inputs.Weights...)
	}
	for _, p := range out {
		g.out = append(g.out, place(p, &g.dstSize))
	}
}

// Mul multiplies src by the two matrices. For the products p and q of each group, `sum` receives p[i] + q[i],
// and `difference` p[i] - q[i]. If several groups write to the same place, the result of the last group
// remains. If `sum` and `difference` are the same slice, it holds the differences.
func (g *Groups) Mul(sum, difference, src []float32) {
	g.check(sum, difference, src)
	if len(g.out) == 0 {
		return
	}
	if pathOf[float32]() > portable {
		mulGroups32(&sum[0], &difference[0], &g.out[0], first(g.weights), first(src), unsafe.SliceData(g.in), &g.counts[0],
			len(g.out)/GroupOutputs)
		return
	}
	const lanes, bytes = 8, 4
	at := 0
	for group := range len(g.out) / GroupOutputs {
		var products [2][GroupOutputs][lanes]float32
		for half := range products {
			for range g.counts[2*group+half] {
				x, weights := src[g.in[at]/bytes:][:lanes], g.weights[at*GroupOutputs:]
				for i := range products[half] {
					for l, v := range x {
						products[half][i][l] += float32(weights[i] * v)
					}
				}
				at++
			}
		}
		for i, place := range g.out[group*GroupOutputs:][:GroupOutputs] {
			for l, v := range products[0][i] {
				sum[int(place/bytes)+l], difference[int(place/bytes)+l] = v+products[1][i][l], v-products[1][i][l]
			}
		}
	}
}

func (g *Groups) check(sum, difference, src []float32) {
	if len(sum) < g.dstSize || len(difference) < g.dstSize || len(src) < g.srcSize {
		panic("kernel: slice too short for its dimensions")
	}
}
