package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestSparse compares every path with a loop over all elements of the matrix, bit for bit.
func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows, columns, n := rapid.IntRange(0, 6).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "columns"), rapid.IntRange(0, 40).Draw(t, "n")
		ldb, ldd := max(1, n+rnd.IntN(3)), max(1, n+rnd.IntN(3))
		b := make([]float32, columns*ldb)
		for i := range b {
			b[i] = float32(rnd.NormFloat64())
		}
		if rapid.Bool().Draw(t, "hostile") {
			b[rnd.IntN(len(b))] = hostile[float32]().Draw(t, "odd")
		}
		start, places, weights := []int32{0}, []int32{}, []float32{}
		want := make([]float32, rows*ldd)
		for i := range want {
			want[i] = -5 // of which a gap between rows stays
		}
		for i := range rows {
			clear(want[i*ldd:][:n])
			for range rnd.IntN(12) {
				p, w := rnd.IntN(columns), float32(rnd.NormFloat64())
				places, weights = append(places, int32(p)), append(weights, w)
				for j := range n {
					want[i*ldd+j] += float32(w * b[p*ldb+j])
				}
			}
			start = append(start, int32(len(places)))
		}
		from := rnd.IntN(rows + 1)
		to := from + rnd.IntN(rows-from+1)
		s := NewSparse(columns, start, places, weights)
		for range paths[float32]() {
			got, ok := guarded(slices.Repeat([]float32{-5}, (to-from)*ldd))
			s.MulRows(got, ldd, from, to, b, ldb, n)
			bitsEqual(t, want[from*ldd:to*ldd], got)
			require.True(t, ok())
		}
	})
	one, b := []float32{1}, make([]float32, 8)
	for name, f := range map[string]func(){
		"column":     func() { NewSparse(1, []int32{0, 1}, []int32{1}, one) },
		"negative":   func() { NewSparse(1, []int32{0, 1}, []int32{-1}, one) },
		"short":      func() { NewSparse(1, []int32{0, 2}, []int32{0}, one) },
		"falling":    func() { NewSparse(1, []int32{0, 2, 1}, []int32{0}, one) },
		"no rows":    func() { NewSparse(1, nil, nil, nil) },
		"weights":    func() { NewSparse(1, []int32{0, 1}, []int32{0}, nil) },
		"rows":       func() { NewSparse(1, []int32{0, 1}, []int32{0}, one).MulRows(b, 8, 0, 2, b, 8, 8) },
		"empty rows": func() { (Sparse{}).MulRows(b, 8, 0, 1, b, 8, 8) },
		"dst":        func() { NewSparse(1, []int32{0, 1}, []int32{0}, one).MulRows(b[:7], 8, 0, 1, b, 8, 8) },
		"factor":     func() { NewSparse(1, []int32{0, 1}, []int32{0}, one).MulRows(b, 8, 0, 1, b[:7], 8, 8) },
	} {
		require.Panics(t, f, name)
	}
}
