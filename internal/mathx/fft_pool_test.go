package mathx

import (
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBorrowedTransforms gives the bits of new ones, by however many they are used.
func TestBorrowedTransforms(t *testing.T) {
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for trial := range 60 {
				n := []int{12, 64, 100}[trial%3]
				x := make([]float64, n)
				for j := range x {
					x[j] = math.Sin(float64(j * (trial + 1)))
				}
				want, got := packed(x), packed(x)
				NewFFT(n).Forward(want)
				f := BorrowFFT(n)
				require.Equal(t, n, f.Len())
				f.Forward(got)
				require.Equal(t, want, got)
				NewFFT(n).Inverse(want)
				f.Inverse(got)
				require.Equal(t, want[:n/2], got[:n/2])
				f.Return()
			}
		})
	}
	wait.Wait()
}
