package mathx

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// circle returns the cosine and the sine of 2 pi k/n, k <= n/8, in 300 bits.
func circle(k, n int) (cos, sin *big.Float) {
	const bits = 300
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803", 10, bits, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	angle := new(big.Float).SetPrec(bits).Mul(pi, big.NewFloat(float64(2*k)))
	angle.Quo(angle, big.NewFloat(float64(n)))
	term := new(big.Float).SetPrec(bits).SetInt64(1)
	cos, sin = new(big.Float).SetPrec(bits).SetInt64(1), new(big.Float).SetPrec(bits)
	for j := 1; j < 60; j += 2 {
		term.Mul(term, angle).Quo(term, big.NewFloat(float64(j)))
		sin.Add(sin, term)
		term.Mul(term, angle).Quo(term, big.NewFloat(float64(-j-1)))
		cos.Add(cos, term)
	}
	return cos, sin
}

func TestUnitRootsAreRounded(t *testing.T) {
	for _, n := range []int{4, 8, 12, 16, 20, 36, 60, 64, 100, 128, 1000, 1 << 12, 1500, 40960, 41472, 1 << 20} {
		w := unitRoots(n)
		require.Len(t, w, n/2)
		for trial := range 400 {
			k := trial
			if n/8 > 400 {
				k = n / 8 / 400 * trial
			}
			if 8*k > n {
				break
			}
			cos, sin := circle(k, n)
			c, _ := cos.Float64()
			s, _ := sin.Float64()
			name := fmt.Sprintf("n=%d k=%d", n, k)
			off := func(is float64, want *big.Float) float64 {
				d, _ := new(big.Float).Sub(new(big.Float).SetPrec(300).SetFloat64(is), want).Float64()
				return d
			}
			require.Less(t, math.Hypot(off(real(w[k]), cos), off(-imag(w[k]), sin)), 0.75*0x1p-53, name)
			if k > 0 { // and so are their images
				require.InDelta(t, c, -real(w[n/2-k]), 0x1p-54*1.01, name)
				require.InDelta(t, s, -imag(w[n/2-k]), 0x1p-54*1.01, name)
			}
			if q := n/4 - k; q < len(w) {
				require.InDelta(t, s, real(w[q]), 0x1p-54*1.01, name)
				require.InDelta(t, c, -imag(w[q]), 0x1p-54*1.01, name)
			}
		}
	}
}
