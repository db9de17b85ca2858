package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrapAndUnwrap compares them with remainders, one by one.
func TestWrapAndUnwrap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 4 * (1 + rnd.IntN(6))
		lo := rnd.IntN(200) - 100
		p := make([]float64, rnd.IntN(3*n))
		to, want := make([]complex128, n/2), make([]float64, n)
		for i := range p {
			p[i] = float64(rnd.IntN(9) - 4)
			want[((lo+i)%n+n)%n] += p[i]
		}
		wrap(to, p, modulo(lo, n))
		for j, x := range want {
			is := real(to[j/2])
			if j%2 == 1 {
				is = imag(to[j/2])
			}
			require.Equal(t, x, is)
		}
		to[rnd.IntN(len(to))] = complex(math.NaN(), 1)
		back := make([]float64, rnd.IntN(n+1))
		for i := range back {
			back[i] = math.NaN() // what was there plays no part
		}
		unwrap(back, to, modulo(lo, n))
		for i, x := range back {
			j := modulo(lo+i, n)
			is := real(to[j/2])
			if j%2 == 1 {
				is = imag(to[j/2])
			}
			if !(is > 0) {
				is = 0
			}
			require.Equal(t, is, x)
		}
	}
}
