package rng

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMassesInStrides(t *testing.T) {
	noise := gaussian(t, 3)
	masses := NewMasses(noise.LogProb, 20)
	for _, stride := range []int64{1, 3} {
		for from := int64(-50); from < 40; from++ {
			products, want := make([]float64, 30), make([]float64, 30)
			for i := range products {
				products[i] = 1 / float64(i+1)
				want[i] = products[i] * masses.AtMost(from+int64(i)*stride)
			}
			masses.TimesAtMost(products, from, stride)
			require.Equal(t, want, products, "from %d by %d", from, stride)
			if from < -20 || from > 20 {
				continue
			}
			products = make([]float64, (20-from)/stride+1)
			masses.FillAt(products, from, stride)
			for i, p := range products {
				require.Equal(t, math.Exp(noise.LogProb(from+int64(i)*stride)), p, "from %d by %d", from, stride)
			}
		}
	}
}
