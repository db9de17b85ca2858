package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func normal[T Float](rnd *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rnd.NormFloat64())
	}
	return x
}

// matrix is a strided matrix somewhere in a buffer. The other elements of the buffer are guards.
type matrix[T Float] struct {
	buffer         []T
	from           int
	rows, cols, ld int
	data           []T // from the first element to the last
}

const guard = 12345

func newMatrix[T Float](rnd *rand.Rand, rows, cols int) matrix[T] {
	m := matrix[T]{from: rnd.IntN(20), rows: rows, cols: cols, ld: cols + rnd.IntN(4)*rnd.IntN(9)}
	size := 0
	if rows > 0 && cols > 0 {
		size = (rows-1)*m.ld + cols
	}
	m.buffer = make([]T, m.from+size+20)
	for i := range m.buffer {
		m.buffer[i] = guard
	}
	m.data = m.buffer[m.from : m.from+size : m.from+size]
	for i := range rows {
		for j := range cols {
			m.data[i*m.ld+j] = T(rnd.NormFloat64())
		}
	}
	return m
}

func (m matrix[T]) row(i int) []T {
	if m.cols == 0 {
		return nil
	}
	return m.data[i*m.ld : i*m.ld+m.cols]
}

func (m matrix[T]) at(i, j int) float64 { return float64(m.data[i*m.ld+j]) }

func (m matrix[T]) intact() bool {
	element := func(at int) bool {
		at -= m.from
		return at >= 0 && at < len(m.data) && at%max(m.ld, 1) < m.cols
	}
	for i, v := range m.buffer {
		if !element(i) && v != guard {
			return false
		}
	}
	return true
}

func gamma[T Float](d int) float64 {
	u := 0x1p-24
	if unsafe.Sizeof(T(0)) == 8 {
		u = 0x1p-53
	}
	return float64(d) * u / (1 - float64(d)*u)
}

// variant describes one of the functions as a product of left(i,p) right(p,j).
type variant[T Float] struct {
	name        string
	left, right func(i, p int) (int, int) // to row and column
	depth       func(k int) int           // additions a term goes through
	adds        bool
	run         func(dst, a, b matrix[T], m, n, k int)
}

func straight(i, j int) (int, int) { return i, j }
func turned(i, j int) (int, int)   { return j, i }

func runs(run int) func(k int) int { return func(k int) int { return min(k, run) + (k+run-1)/run } }

func products[T Float]() []variant[T] {
	var variants []variant[T]
	for on := range paths[T]() {
		variants = append(variants, productsOn[T](on)...)
	}
	return variants
}

func productsOn[T Float](on path) []variant[T] {
	variants := []variant[T]{
		{"MulBT", straight, turned, runs(mulRun), false, func(d, a, b matrix[T], m, n, k int) {
			MulBT(d.data, d.ld, a.data, a.ld, b.data, b.ld, m, n, k)
		}},
		{"MulAB", straight, straight, runs(mulRun), false, func(d, a, b matrix[T], m, n, k int) {
			MulAB(d.data, d.ld, a.data, a.ld, b.data, b.ld, m, n, k)
		}},
		{"AddATB", turned, straight, func(k int) int { return runs(addRun)(k) + 2 }, true, func(d, a, b matrix[T], m, n, k int) {
			AddATB(d.data, d.ld, a.data, a.ld, b.data, b.ld, m, n, k)
		}},
		{"PackBT", straight, turned, runs(mulRun), false, func(d, a, b matrix[T], m, n, k int) {
			var packed Packed[T]
			packed.PackBT(b.data, b.ld, n, k)
			packed.Mul(d.data, d.ld, a.data, a.ld, m)
		}},
		{"PackAB", straight, straight, runs(mulRun), false, func(d, a, b matrix[T], m, n, k int) {
			var packed Packed[T]
			packed.PackAB(b.data, b.ld, k, n)
			packed.Mul(d.data, d.ld, a.data, a.ld, m)
		}},
	}
	for i, v := range variants {
		variants[i].name += " " + on.String()
		variants[i].run = func(d, a, b matrix[T], m, n, k int) { along(on, func() { v.run(d, a, b, m, n, k) }) }
	}
	return variants
}

func shape(f func(i, j int) (int, int), rows, cols int) (int, int) {
	if r, _ := f(1, 0); r == 1 {
		return rows, cols
	}
	return cols, rows
}

func (p variant[T]) operands(rnd *rand.Rand, m, n, k int) (dst, a, b matrix[T]) {
	ar, ac := shape(p.left, m, k)
	br, bc := shape(p.right, k, n)
	return newMatrix[T](rnd, m, n), newMatrix[T](rnd, ar, ac), newMatrix[T](rnd, br, bc)
}

func (p variant[T]) check(t require.TestingT, rnd *rand.Rand, m, n, k int) {
	dst, a, b := p.operands(rnd, m, n, k)
	was := append([]T(nil), dst.data...)
	p.run(dst, a, b, m, n, k)
	require.True(t, dst.intact(), "%s %d %d %d: wrote outside", p.name, m, n, k)
	bound := gamma[T](p.depth(k))
	for i := range m {
		for j := range n {
			exact, size := 0.0, 0.0
			if p.adds {
				exact = float64(was[i*dst.ld+j])
				size = math.Abs(exact)
			}
			for q := range k {
				ai, aj := p.left(i, q)
				bi, bj := p.right(q, j)
				v := a.at(ai, aj) * b.at(bi, bj)
				exact, size = exact+v, size+math.Abs(v)
			}
			if math.Abs(dst.at(i, j)-exact) > bound*size+0x1p-52*float64(k)*size {
				require.Failf(t, "too far", "%s %d %d %d: element %d %d is %v, exact %v", p.name, m, n, k, i, j, dst.at(i, j), exact)
			}
		}
	}
}

func TestProductsMatch(t *testing.T) {
	t.Run("float32", testProductsMatch[float32])
	t.Run("float64", testProductsMatch[float64])
}

func testProductsMatch[T Float](t *testing.T) {
	for _, p := range products[T]() {
		rnd := rand.New(rand.NewPCG(5, 1))
		for _, shape := range [][3]int{{0, 3, 3}, {3, 0, 3}, {3, 3, 0}, {1, 1, 1}, {6, 16, 8}, {7, 17, 9}, {64, 10, 785}, {10, 785, 64}, {25, 16, 64}, {31, 33, 700}, {61, 70, 300}, {9, 10, 1500}, {130, 20, 270}, {1, 130, 70}, {1, 64, 300}} {
			p.check(t, rnd, shape[0], shape[1], shape[2])
		}
		rapid.Check(t, func(t *rapid.T) {
			dim := rapid.IntRange(0, 70)
			rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
			p.check(t, rnd, dim.Draw(t, "m"), dim.Draw(t, "n"), dim.Draw(t, "k"))
		})
	}
}

func TestProductRowsAreExact(t *testing.T) {
	t.Run("float32", testProductRowsAreExact[float32])
	t.Run("float64", testProductRowsAreExact[float64])
}

func testProductRowsAreExact[T Float](t *testing.T) {
	for _, p := range products[T]() {
		if p.adds {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
			n, k := rapid.IntRange(1, 140).Draw(t, "n"), rapid.IntRange(0, 600).Draw(t, "k")
			_, _, b := p.operands(rnd, 1, n, k)
			alone, row, _ := p.operands(rnd, 1, n, k)
			p.run(alone, row, b, 1, n, k)
			for range 3 {
				m := 1 + rnd.IntN(70)
				dst, a, moved := p.operands(rnd, m, n, k)
				for i := range b.rows {
					copy(moved.row(i), b.row(i))
				}
				at := rnd.IntN(m)
				copy(a.row(at), row.data)
				p.run(dst, a, moved, m, n, k)
				require.Equal(t, alone.data, dst.row(at), "%s %d %d %d", p.name, m, n, k)
			}
		})
	}
}

// TestRunsBoundTheDepth checks that a term much larger than the others costs each term of its run one
// rounding and no more. The control, one chain, exceeds the bound.
func TestRunsBoundTheDepth(t *testing.T) {
	const k, small = 1024, 0x1p-25
	exact, bound := 1+(k-1)*small, gamma[float32](64)
	for _, big := range []int{0, 31, 32, 500, 1023} {
		a, b := make([]float32, k), make([]float32, k)
		for i := range a {
			a[i], b[i] = small, 1
		}
		a[big] = 1
		for range paths[float32]() {
			var product, sum [1]float32
			AddATB(product[:], 1, a, 1, b, 1, 1, 1, k)
			require.InDelta(t, exact, float64(product[0]), bound*exact)
			AddRows(sum[:], a, 1, k, 1)
			require.InDelta(t, exact, float64(sum[0]), bound*exact)
		}
		var chain float32
		for _, v := range a {
			chain += v
		}
		if big == 0 {
			require.Greater(t, exact-float64(chain), bound*exact)
		}
	}
}

func TestGuardsSeeWrites(t *testing.T) {
	m := newMatrix[float32](rand.New(rand.NewPCG(12, 1)), 3, 4)
	require.True(t, m.intact())
	m.buffer[m.from+len(m.data)] = 0
	require.False(t, m.intact())
}

func TestProductsPassOnWhatIsNotFinite(t *testing.T) {
	for _, p := range products[float32]() {
		rnd := rand.New(rand.NewPCG(6, 1))
		const m, n, k = 13, 21, 37
		dst, a, b := p.operands(rnd, m, n, k)
		ai, aj := p.left(4, 20)
		a.data[ai*a.ld+aj] = float32(math.NaN())
		ai, aj = p.left(5, 36)
		a.data[ai*a.ld+aj] = float32(math.Inf(1))
		p.run(dst, a, b, m, n, k)
		for i := range m {
			for j := range n {
				v := dst.at(i, j)
				require.Equal(t, i == 4, math.IsNaN(v), "%s %d %d", p.name, i, j)
				require.Equal(t, i == 5, math.IsInf(v, 0), "%s %d %d", p.name, i, j)
			}
		}
	}
}

func TestProductsRefuseWhatDoesNotFit(t *testing.T) {
	x := make([]float32, 12) // 3 by 4
	for name, f := range map[string]func(){
		"negative":      func() { MulAB(x, 4, x, 4, x, 4, -1, 3, 3) },
		"narrow stride": func() { MulAB(x, 2, x, 3, x, 3, 3, 3, 3) },
		"short dst":     func() { MulAB(x[:10], 4, x, 3, x, 3, 3, 3, 3) },
		"short a":       func() { MulBT(x, 4, x[:10], 4, x, 3, 3, 3, 3) },
		"short b":       func() { MulBT(x, 4, x, 4, x[:10], 4, 3, 3, 3) },
		"overflow":      func() { MulAB(x, math.MaxInt/4+1, x, 1, x, 1, 9, 1, 1) },
		"atb":           func() { AddATB(x, 4, x, 4, x, 4, 3, 3, 4) },
		"packed":        func() { new(Packed[float32]).PackBT(x, 4, 4, 4) },
		"rows":          func() { AddRows(x[:3], x, 4, 3, 4) },
		"norms":         func() { SquaredNorms(make([]float64, 2), x, 4, 3, 4) },
		"fold":          func() { FoldInt64(make([]int64, 3), x, 1) },
	} {
		require.Panics(t, f, name)
	}
	require.NotPanics(t, func() { MulAB(x[:11], 4, x, 3, x, 3, 3, 3, 3) }, "a slice may end with the last element")
}

func TestProductsDoNotAllocate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	for _, p := range products[float32]() {
		if strings.HasPrefix(p.name, "Pack") {
			continue
		}
		for _, shape := range [][3]int{{3, 10, 100}, {40, 40, 300}} {
			dst, a, b := p.operands(rnd, shape[0], shape[1], shape[2])
			require.Zero(t, testing.AllocsPerRun(20, func() { p.run(dst, a, b, shape[0], shape[1], shape[2]) }), p.name)
		}
	}
	var packed Packed[float32]
	x, y, sums, norms := make([]float32, 64*64), make([]float32, 64*64), make([]int64, 64), make([]float64, 64)
	packed.PackBT(x, 64, 64, 64)
	require.Zero(t, testing.AllocsPerRun(20, func() {
		packed.PackBT(x, 64, 60, 64)
		packed.PackAB(x, 64, 64, 40)
		packed.Mul(y, 64, x, 64, 64)
		AddRows(y[:64], x, 64, 64, 64)
		SquaredNorms(norms, x, 64, 64, 64)
		FoldInt64(sums, y[:64], 1024)
		Scale(y, 2, x)
	}))
}

// FuzzDimensions calls the products with dimensions, strides and lengths that need not fit together. Each
// call must either panic before it writes anything, or write the product and nothing else.
func FuzzDimensions(f *testing.F) {
	f.Add(3, 4, 5, 4, 5, 5, 12, 15, 20)
	f.Add(3, 4, 5, math.MaxInt/2+1, 5, 5, 12, 15, 20)
	f.Add(-1, 4, 5, 4, 5, 5, 12, 15, 20)
	f.Add(17, 33, 40, 33, 40, 40, 561, 680, 1320)
	f.Fuzz(func(t *testing.T, m, n, k, ldd, lda, ldb, lend, lena, lenb int) {
		const most = 4096
		if max(lend, lena, lenb) > most || min(lend, lena, lenb) < 0 || max(m, n, k) > 1<<30 {
			return
		}
		rnd := rand.New(rand.NewPCG(11, 1))
		dst, a, b := newMatrix[float32](rnd, 1, lend), newMatrix[float32](rnd, 1, lena), newMatrix[float32](rnd, 1, lenb)
		fits := func(have, ld, rows, cols int) bool {
			if rows <= 0 || cols <= 0 {
				return rows >= 0 && cols >= 0
			}
			if ld < cols || ld > most && rows > 1 {
				return false
			}
			return rows <= most && cols <= have && (rows == 1 || (rows-1)*ld+cols <= have)
		}
		for _, p := range productsOn[float32](machine)[:3] {
			ar, ac := shape(p.left, m, k)
			br, bc := shape(p.right, k, n)
			ok := fits(lend, ldd, m, n) && fits(lena, lda, ar, ac) && fits(lenb, ldb, br, bc)
			was := append([]float32(nil), dst.buffer...)
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				p.run(matrix[float32]{data: dst.data, ld: ldd}, matrix[float32]{data: a.data, ld: lda}, matrix[float32]{data: b.data, ld: ldb}, m, n, k)
				return
			}()
			require.Equal(t, !ok, panicked, p.name)
			for i, v := range dst.buffer {
				at := i - dst.from
				inside := ok && at >= 0 && at < lend && m > 0 && n > 0 && at/max(ldd, 1) < m && at%max(ldd, 1) < n
				if !inside && v != was[i] {
					t.Fatalf("%s wrote outside", p.name)
				}
			}
		}
	})
}
