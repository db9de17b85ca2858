package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

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
