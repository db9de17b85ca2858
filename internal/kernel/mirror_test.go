package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
	"pgregory.net/rapid"
)

// mirrorCase is strips that lie somewhere in a slice, rows in either direction.
type mirrorCase struct {
	m                Mirror
	strips           int
	src, dst         []float32
	even, odd        Strips
	sum, difference  Strips
	sumRow, otherRow func(s, r int) []float32
}

func newMirrorCase(t *rapid.T) mirrorCase {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 8))
	c := mirrorCase{strips: rapid.IntRange(1, 4).Draw(t, "strips")}
	c.m = Mirror{M: rapid.IntRange(1, 15).Draw(t, "m"), KE: rapid.IntRange(1, 9).Draw(t, "ke"), KO: rapid.IntRange(0, 9).Draw(t, "ko")}
	c.m.Even, c.m.Odd = normal[float32](rnd, c.m.M*c.m.KE), normal[float32](rnd, c.m.M*c.m.KO)
	gap := rapid.IntRange(0, 3).Draw(t, "gap")
	row := strip + gap
	step := row * (c.m.KE + c.m.KO)
	c.even, c.odd = Strips{At: gap, Row: row, Step: step}, Strips{At: gap + row*c.m.KE, Row: row, Step: step}
	c.src = normal[float32](rnd, gap+c.strips*step)
	// Differences lie behind the sums, from the last row up.
	c.sum = Strips{At: gap, Row: row, Step: 2 * row * c.m.M}
	c.difference = Strips{At: gap + row*(2*c.m.M-1), Row: -row, Step: c.sum.Step}
	c.dst = slices.Repeat([]float32{float32(math.NaN())}, gap+c.strips*c.sum.Step)
	c.sumRow = func(s, r int) []float32 { return c.dst[c.sum.At+s*c.sum.Step+r*row:][:strip] }
	c.otherRow = func(s, r int) []float32 { return c.dst[c.difference.At+s*c.sum.Step-r*row:][:strip] }
	return c
}

// products returns the two products in double precision, and the size of their terms.
func (c mirrorCase) products(s, r, j int) (even, odd, size float64) {
	for p, w := range c.m.Even[r*c.m.KE:][:c.m.KE] {
		term := float64(w) * float64(c.src[c.even.At+s*c.even.Step+p*c.even.Row+j])
		even, size = even+term, size+math.Abs(term)
	}
	for p, w := range c.m.Odd[r*c.m.KO:][:c.m.KO] {
		term := float64(w) * float64(c.src[c.odd.At+s*c.odd.Step+p*c.odd.Row+j])
		odd, size = odd+term, size+math.Abs(term)
	}
	return even, odd, size
}

func written(x []float32) (n int) {
	for _, v := range x {
		if v == v {
			n++
		}
	}
	return n
}

// quarters returns those of which the case is the whole: it sets the rows of the other end.
func (c mirrorCase) quarters() Quarters {
	q := Quarters{Mirror: c.m, Last: c.m.M - 1}
	q.M = q.Last/2 + 1
	q.Even, q.Odd = slices.Clone(c.m.Even[:q.M*q.KE]), slices.Clone(c.m.Odd[:q.M*q.KO])
	for r := range q.M {
		for p, w := range q.Even[r*q.KE : (r+1)*q.KE] {
			c.m.Even[(q.Last-r)*q.KE+p] = w * float32(1-2*(p%2))
		}
		for p, w := range q.Odd[r*q.KO : (r+1)*q.KO] {
			c.m.Odd[(q.Last-r)*q.KO+p] = w * float32(1-2*(p%2))
		}
	}
	return q
}

func (c mirrorCase) checkStrips(t *rapid.T) {
	require.Equal(t, 2*strip*c.m.M*c.strips, written(c.dst))
	for s := range c.strips {
		for r := range c.m.M {
			for j := range strip {
				even, odd, size := c.products(s, r, j)
				require.InDelta(t, even+odd, float64(c.sumRow(s, r)[j]), 1e-6*size)
				require.InDelta(t, even-odd, float64(c.otherRow(s, r)[j]), 1e-6*size)
			}
		}
	}
}

func (c mirrorCase) checkModuli(t *rapid.T) {
	const half = strip / 2
	require.Equal(t, strip*c.m.M*c.strips, written(c.dst))
	for s := range c.strips {
		for r := range c.m.M {
			for j := range half {
				re, reOdd, size := c.products(s, r, j)
				im, imOdd, more := c.products(s, r, j+half)
				front, back := math.Hypot(re+reOdd, im+imOdd), math.Hypot(re-reOdd, im-imOdd)
				require.InDelta(t, front+back, float64(c.sumRow(s, r)[j]), 2e-6*(size+more))
				require.InDelta(t, front-back, float64(c.otherRow(s, r)[j]), 2e-6*(size+more))
			}
		}
	}
}

func TestMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newMirrorCase(t)
		along(drawn(t), func() { c.m.MulStrips(c.dst, c.sum, c.difference, c.src, c.even, c.odd, c.strips) })
		c.checkStrips(t)
	})
}

func TestQuarters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newMirrorCase(t)
		on := drawn(t)
		along(on, func() { c.quarters().MulStrips(c.dst, c.sum, c.difference, c.src, c.even, c.odd, c.strips) })
		c.checkStrips(t)
		c = newMirrorCase(t)
		along(on, func() { c.quarters().Moduli(c.dst, c.sum, c.difference, c.src, c.even, c.odd, c.strips) })
		c.checkModuli(t)
	})
}

func TestMirrorRefusesWhatDoesNotFit(t *testing.T) {
	m := Mirror{Even: make([]float32, 2), Odd: make([]float32, 2), M: 2, KE: 1, KO: 1}
	at := func(p, row int) Strips { return Strips{At: p, Row: row, Step: 64} }
	src, dst := make([]float32, 32), make([]float32, 64)
	m.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(16, 16), 1)
	m.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(16, 16), 0)
	q := Quarters{Mirror: m, Last: 2}
	q.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(16, 16), 1)
	for name, call := range map[string]func(){
		"sums behind the end":          func() { m.MulStrips(dst, at(33, 16), at(48, -16), src, at(0, 16), at(16, 16), 1) },
		"differences before the start": func() { m.MulStrips(dst, at(0, 16), at(15, -16), src, at(0, 16), at(16, 16), 1) },
		"source":                       func() { m.MulStrips(dst, at(0, 16), at(48, -16), src[:31], at(0, 16), at(16, 16), 1) },
		"more strips":                  func() { m.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(16, 16), 2) },
		"other distances":              func() { m.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(0, 8), 1) },
		"as many quarters":             func() { q.MulStrips(dst[:63], at(16, 16), at(48, -16), src, at(0, 16), at(16, 16), 1) },
		"quarters before the start":    func() { q.Moduli(dst, at(0, 16), at(31, -16), src, at(0, 16), at(16, 16), 1) },
		"other quarters": func() {
			Quarters{Mirror: m, Last: 4}.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(16, 16), 1)
		},
		"a matrix": func() {
			Mirror{Even: m.Even, Odd: m.Odd, M: 2, KE: 2, KO: 1}.MulStrips(dst, at(0, 16), at(48, -16), src, at(0, 16), at(16, 16), 1)
		},
	} {
		require.Panics(t, call, name)
	}
}

// The assembly and the portable path have the same bits, also where sum and terms are one memory.
func TestButterfly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		a, b := rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "a"), rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "b")
		sum, difference := make([]float32, n), make([]float32, n)
		along(portable, func() { Butterfly(sum, difference, a, b) })
		for i := range n {
			require.Equal(t, a[i]+b[i], sum[i])
			require.Equal(t, a[i]-b[i], difference[i])
		}
		Butterfly(a, b, a, b)
		require.Equal(t, sum, a)
		require.Equal(t, difference, b)
	})
	require.Panics(t, func() { Butterfly(make([]float32, 1), nil, nil, nil) })
}

func TestTranspose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 9))
		m, n := rapid.IntRange(0, 30).Draw(t, "m"), rapid.IntRange(0, 30).Draw(t, "n")
		b, dst := newMatrix[float32](rnd, m, n), newMatrix[float32](rnd, n, m)
		Transpose(dst.data, dst.ld, b.data, b.ld, m, n)
		require.True(t, dst.intact())
		for i := range m {
			for j := range n {
				require.Equal(t, b.at(i, j), dst.at(j, i))
			}
		}
	})
	require.Panics(t, func() { Transpose(make([]float32, 5), 2, make([]float32, 6), 3, 2, 3) })
}

func TestHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 11))
		h := Halves{M: rapid.IntRange(1, 27).Draw(t, "m"), Last: rapid.IntRange(0, 9).Draw(t, "last")}
		strips, gap := rapid.IntRange(1, 3).Draw(t, "strips"), rapid.IntRange(0, 3).Draw(t, "gap")
		k, row := h.Last/2+1, strip+gap
		h.Even, h.Odd = normal[float32](rnd, (h.M+1)/2*k), normal[float32](rnd, h.M/2*k)
		from, to := Strips{At: gap, Row: row, Step: row * (h.Last + 1)}, Strips{At: gap, Row: row, Step: row * h.M}
		src := normal[float32](rnd, gap+strips*from.Step)
		dst := slices.Repeat([]float32{float32(math.NaN())}, gap+strips*to.Step)
		along(drawn(t), func() { h.MulStrips(dst, to, src, from, strips) })
		require.Equal(t, strip*h.M*strips, written(dst))
		for s := range strips {
			for r := range h.M {
				for j := range strip {
					want, size := 0.0, 0.0
					for i := range k {
						w, sign := h.Even, 1.0
						if r%2 == 1 {
							w, sign = h.Odd, -1
						}
						a, b := float64(from.row(src, i, s)[j]), float64(from.row(src, h.Last-i, s)[j])
						want += float64(w[r/2*k+i]) * (a + sign*b)
						size += math.Abs(float64(w[r/2*k+i])) * (math.Abs(a) + math.Abs(b))
					}
					require.InDelta(t, want, float64(to.row(dst, r, s)[j]), 1e-6*size)
				}
			}
		}
	})
}

func TestHalvesRefuseWhatDoesNotFit(t *testing.T) {
	h := Halves{Even: make([]float32, 2), Odd: make([]float32, 2), M: 2, Last: 2}
	at := Strips{Row: strip, Step: 3 * strip}
	src, dst := make([]float32, 3*strip), make([]float32, 2*strip)
	h.MulStrips(dst, at, src, at, 1)
	h.MulStrips(dst, at, src, at, 0)
	require.Panics(t, func() { h.MulStrips(dst[1:], at, src, at, 1) })
	require.Panics(t, func() { h.MulStrips(dst, at, src[1:], at, 1) })
	require.Panics(t, func() { h.MulStrips(dst, at, src, at, 2) })
	for _, bad := range []Halves{{Even: h.Even, Odd: h.Odd, M: 3, Last: 2}, {Even: h.Even, Odd: h.Odd, M: 2, Last: 4}, {Even: h.Even, M: 2, Last: 2}, {}} {
		require.Panics(t, func() { bad.MulStrips(dst, at, src, at, 1) })
	}
}

func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lanes = 8
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 10))
		k, groups := rapid.IntRange(1, 9).Draw(t, "k"), rapid.IntRange(0, 5).Draw(t, "groups")
		src := normal[float32](rnd, 40)
		n := GroupOutputs*lanes*groups + 3
		sum, difference := make([]float32, n), make([]float32, n)
		var want [2][]float64 // of both products
		want[0], want[1] = make([]float64, n), make([]float64, n)
		size := 0.0
		g := new(Groups)
		for group := range groups {
			var out [GroupOutputs]int
			for i := range out {
				out[i] = 3 + (group*GroupOutputs+i)*lanes
			}
			var inputs [2]GroupInputs
			for half := range inputs {
				for range rnd.IntN(k + 1) {
					from := rnd.IntN(len(src) - lanes + 1)
					inputs[half].In = append(inputs[half].In, from)
					for _, at := range out {
						w := float32(rnd.NormFloat64())
						inputs[half].Weights = append(inputs[half].Weights, w)
						for l := range lanes {
							term := float64(w) * float64(src[from+l])
							want[half][at+l] += term
							size = max(size, math.Abs(term))
						}
					}
				}
			}
			g.Add(out, inputs[0], inputs[1])
		}
		along(drawn(t), func() { g.Mul(sum, difference, src) })
		for i := range n {
			require.InDelta(t, want[0][i]+want[1][i], float64(sum[i]), 1e-5*size)
			require.InDelta(t, want[0][i]-want[1][i], float64(difference[i]), 1e-5*size)
		}
	})
}

func TestGroupsRefuseWhatDoesNotFit(t *testing.T) {
	g := new(Groups)
	none, one := GroupInputs{}, GroupInputs{In: []int{5}, Weights: make([]float32, 4)}
	require.Panics(t, func() { g.Add([4]int{}, GroupInputs{In: []int{0}, Weights: make([]float32, 3)}, none) })
	require.Panics(t, func() { g.Add([4]int{-1}, one, none) })
	require.Panics(t, func() { g.Add([4]int{math.MaxInt32}, one, none) })
	g = new(Groups)
	g.Add([4]int{0, 8, 16, 24}, one, none)
	a, b := make([]float32, 32), make([]float32, 32)
	g.Mul(a, b, make([]float32, 13))
	require.Panics(t, func() { g.Mul(a[:31], b, make([]float32, 13)) })
	require.Panics(t, func() { g.Mul(a, b[:31], make([]float32, 13)) })
	require.Panics(t, func() { g.Mul(a, b, make([]float32, 12)) })
}

// BenchmarkProducts reports the speed of each path and of gonum. Only times of one run can be compared.
func BenchmarkProducts(b *testing.B) {
	general := func(as blas.Transpose, rows, cols int, data []float32) blas32.General {
		if as == blas.Trans {
			rows, cols = cols, rows
		}
		return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
	}
	for _, p := range []struct {
		name   string
		shapes [][3]int
		a, b   blas.Transpose
		beta   float32
		run    func(dst, x, y []float32, m, n, k int) func()
	}{
		{"MulBT", [][3]int{{512, 512, 512}, {240, 240, 784}, {32, 128, 784}, {64, 10, 784}, {256, 10, 784}, {256, 10, 1000},
			{96, 6, 64}, {64, 10, 3969}, {256, 10, 6273}, {256, 2, 104}, {64, 16, 784}}, blas.NoTrans, blas.Trans, 0,
			func(dst, x, y []float32, m, n, k int) func() { return func() { MulBT(dst, n, x, k, y, k, m, n, k) } }},
		{"MulAB", [][3]int{{512, 512, 512}, {64, 784, 10}, {256, 1000, 10}, {64, 784, 128}, {25, 16, 64}}, blas.NoTrans, blas.NoTrans, 0,
			func(dst, x, y []float32, m, n, k int) func() { return func() { MulAB(dst, n, x, k, y, n, m, n, k) } }},
		{"Packed", [][3]int{{512, 512, 512}, {512, 512, 1024}, {64, 128, 784}, {256, 1000, 784}, {25, 16, 64}, {196, 16, 64}, {25, 32, 256}},
			blas.NoTrans, blas.Trans, 0, func(dst, x, y []float32, m, n, k int) func() {
				var packed Packed[float32]
				packed.PackBT(y, k, n, k)
				return func() { packed.Mul(dst, n, x, k, m) }
			}},
		{"AddATB", [][3]int{{512, 512, 512}, {10, 784, 32}, {10, 784, 64}, {10, 784, 256}, {10, 1000, 256}, {10, 3969, 64},
			{10, 6273, 256}, {128, 784, 64}, {128, 784, 256}, {1000, 784, 256}, {16, 64, 196}, {32, 256, 25}}, blas.Trans, blas.NoTrans, 1,
			func(dst, x, y []float32, m, n, k int) func() { return func() { AddATB(dst, n, x, m, y, n, m, n, k) } }},
	} {
		for _, s := range p.shapes {
			m, n, k := s[0], s[1], s[2]
			rnd := rand.New(rand.NewPCG(9, 1))
			dst, x, y := Make[float32](m*n), Make[float32](m*k), Make[float32](n*k)
			copy(x, normal[float32](rnd, len(x)))
			copy(y, normal[float32](rnd, len(y)))
			bench := func(name string, f func()) {
				b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", p.name, m, n, k, name), func(b *testing.B) {
					for b.Loop() {
						f()
					}
					b.ReportMetric(2*float64(m*n*k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
				})
			}
			for on := range paths[float32]() {
				bench(on.String(), p.run(dst, x, y, m, n, k))
			}
			x1, y1, out := general(p.a, m, k, x), general(p.b, k, n, y), general(blas.NoTrans, m, n, dst)
			bench("gonum", func() { blas32.Gemm(p.a, p.b, 1, x1, y1, p.beta, out) })
		}
	}
}

func BenchmarkVectors(b *testing.B) {
	const m, n = 64, 784
	rnd := rand.New(rand.NewPCG(10, 1))
	a, dst, ints, norm := normal[float32](rnd, m*n), make([]float32, m*n), make([]int64, m*n), 0.0
	for on := range paths[float32]() {
		bench := func(name string, f func()) {
			b.Run(name+"/"+on.String(), func(b *testing.B) {
				b.SetBytes(4 * m * n)
				for b.Loop() {
					f()
				}
			})
		}
		bench("FoldInt64", func() { FoldInt64(ints, dst, 1024) })
		bench("AddRows", func() { AddRows(dst[:n], a, n, m, n) })
		bench("SquaredNorm", func() { norm += SquaredNorm(a) })
		bench("Scale", func() { Scale(dst, 2, a) })
		bench("Gaussian", func() { Gaussian(dst, 1, a, 1) })
	}
}
