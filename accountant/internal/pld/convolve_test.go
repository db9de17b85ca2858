package pld

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// TestManyStepsAreConvolvedAsFewAre: frequencies from the definition and from a transform give one law, but
// for what both say that rounding did. As one block of very many, the law is certified to be several times
// nearer.
func TestManyStepsAreConvolvedAsFewAre(t *testing.T) {
	for _, q := range []float64{1e-3, 0.01} {
		for _, reverse := range []bool{false, true} {
			s := &Sum{}
			s.Add(Pair{pairSampled, q, 1, 0}, 1e7)
			all := &query{parts: componentsOf(t, s, reverse)}
			all.truncate(-20)
			law := testkit.Must(all.parts[0].law(t.Context(), q/50, 5, reverse, true, 1<<20))
			c := composer().newConvolver(t.Context())
			c.accuracy = 1e-12
			few := testkit.Must(c.convolve(1, factor{law, 32}))
			many := testkit.Must(c.convolve(manySteps, factor{law, 32}))
			square := 0.0
			for i, p := range few.p {
				other := 0.0
				if j := few.lo + i - many.lo; j >= 0 && j < len(many.p) {
					other = many.p[j]
				}
				square += (p - other) * (p - other)
			}
			name := fmt.Sprintf("q %g, reverse %t", q, reverse)
			require.LessOrEqual(t, math.Sqrt(square/law.h), few.noise+many.noise+few.err+many.err, name)
			require.Less(t, many.noise, few.noise/3, name)
			require.NotZero(t, square, name)
		}
	}
}

// TestWindowsHoldTheirLaw: what lies outside a window, summed up by a transform three times as long, is
// less than was allowed.
func TestWindowsHoldTheirLaw(t *testing.T) {
	for _, q := range []float64{1e-3, 0.1} {
		for _, power := range []int64{2, 25, 300} {
			s := &Sum{}
			s.Add(Pair{pairSampled, q, 1, 0}, 1000)
			all := &query{parts: componentsOf(t, s, false)}
			all.truncate(-20)
			law := testkit.Must(all.parts[0].law(t.Context(), q/20, 3, false, true, 1<<20))
			const outside = 1e-9
			lo, hi := chernoffWindow([]factor{{law, power}}, math.Log(outside))
			c := composer().newConvolver(t.Context())
			c.accuracy = 1e-16
			whole := testkit.Must(c.convolve(1, factor{law, power}))
			below, above := 0.0, 0.0
			for i, p := range whole.p {
				switch k := whole.lo + i; {
				case k < lo:
					below += p
				case k > hi:
					above += p
				}
			}
			name := fmt.Sprintf("q %g, power %d", q, power)
			require.Less(t, below, outside, name)
			require.Less(t, above, outside, name)
			require.LessOrEqual(t, whole.lo, lo+2, name)
		}
	}
}

// Errors of a law are those of all it is made of.
func TestErrorsOfLawsAddUp(t *testing.T) {
	t.Parallel()
	law := func() *tilted {
		t := &tilted{h: 0.01, p: make([]float64, 50)}
		for i := range t.p {
			t.p[i] = 1
		}
		t.normalise()
		t.err, t.noise, t.inf, t.lossError = 1e-3, 2e-3, 3e-3, 4e-3
		return t
	}
	c := &convolver{ctx: t.Context(), maxLength: 1 << 16, accuracy: 1e-12}
	out := testkit.Must(c.convolve(1, factor{law(), 3}, factor{law(), 2}))
	require.GreaterOrEqual(t, out.err, 5e-3)
	require.GreaterOrEqual(t, out.noise, 10e-3)
	require.GreaterOrEqual(t, out.inf, 15e-3)
	require.GreaterOrEqual(t, out.lossError, 20e-3)
	for _, up := range []bool{true, false} {
		moved := law().onto(0.03, 1, up)
		require.GreaterOrEqual(t, moved.err, 1e-3)
		require.GreaterOrEqual(t, moved.noise, 2e-3)
		require.GreaterOrEqual(t, moved.inf, 3e-3)
		require.GreaterOrEqual(t, moved.lossError, 4e-3)
	}
}

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
			back[i] = math.NaN() // the old number plays no part
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
