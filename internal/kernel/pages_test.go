package kernel

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Whole pages start and end at multiples of their size, are within the memory, and none is left
// out.
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
