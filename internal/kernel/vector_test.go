package kernel

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestAligned(t *testing.T) {
	for n := range 40 {
		a, b := aligned[float32](n), aligned[float64](n)
		require.Len(t, a, n)
		require.Len(t, b, n)
		require.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(a)))%alignment)
		require.Zero(t, uintptr(unsafe.Pointer(unsafe.SliceData(b)))%alignment)
	}
}

func TestKernelsDoNotAllocate(t *testing.T) {
	const m, n, k = 7, 20, 33
	a, b, bt, dst := make([]float32, m*k), make([]float32, k*n), make([]float32, n*k), make([]float32, m*n)
	g, norms, ints := make([]float32, k*m), make([]float64, m), make([]int64, m*n)
	var p Packed[float32]
	p.PackAB(b, n, k, n)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		MulBT(dst, n, a, k, bt, k, m, n, k)
		MulAB(dst, n, a, k, b, n, m, n, k)
		p.PackAB(b, n, k, n)
		p.Mul(dst, n, a, k, m)
		AddATB(dst, n, g, m, b, n, m, n, k)
		AddRows(dst[:n], b, n, k, n)
		SquaredNorms(norms, a, k, m, k)
		Scale(dst, 0.5, dst)
		FoldInt64(ints, dst, 8)
	}))
}
