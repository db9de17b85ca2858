package kernel

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 2, 15, 16, 17, 39, largePage/4 - 1, largePage / 4, largePage/4 + 1, largePage} {
		a, b, c := Make[float32](n), Make[float64](n), Make[int64](n)
		require.Len(t, a, n)
		require.Len(t, b, n)
		require.Len(t, c, n)
		for _, address := range []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(unsafe.SliceData(c))} {
			require.Zero(t, uintptr(address)%alignment)
		}
		if 4*n >= largePage {
			require.Zero(t, uintptr(unsafe.Pointer(&a[0]))%largePage)
		}
		for i := range a {
			a[i], b[i], c[i] = 1, 1, 1 // all of it is there
		}
	}
}

// Whole pages start and end at multiples of their size, are within the memory, and none is left out.
func TestWholePages(t *testing.T) {
	memory := make([]byte, 4*largePage)
	address := func(b []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
	for _, from := range []int{0, 1, 4096, largePage - 1, largePage, largePage + 1} {
		for _, n := range []int{0, 2, largePage - 1, largePage, 2*largePage - 1, 2 * largePage, len(memory) - largePage - 1} {
			b := memory[from : from+n]
			pages := wholePages(b)
			count := (address(b)+n)/largePage - (address(b)+largePage-1)/largePage
			require.Len(t, pages, max(0, count)*largePage)
			if len(pages) > 0 {
				require.Zero(t, address(pages)%largePage)
				require.GreaterOrEqual(t, address(pages), address(b))
				require.LessOrEqual(t, address(pages)+len(pages), address(b)+n)
			}
		}
	}
}
