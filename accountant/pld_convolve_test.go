package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestManyStepsAreConvolvedAsFewAre: frequencies from the definition and from a transform give
// one law, but for what both say that rounding did. As one block of very many, the law is
// certified to be several times nearer.
func TestManyStepsAreConvolvedAsFewAre(t *testing.T) {
	for _, q := range []float64{1e-3, 0.01} {
		for _, reverse := range []bool{false, true} {
			s := &schedule{}
			require.NoError(t, s.add(pairKey{pairSampled, q, 1, 0}, 1e7))
			all := &query{parts: componentsOf(t, s, reverse)}
			all.truncate(-20)
			law, err := all.parts[0].law(t.Context(), q/50, 5, reverse, true, 1<<20)
			require.NoError(t, err)
			c := newPLD(t, PLDConfig{}).newConvolver(t.Context())
			c.accuracy = 1e-12
			few, err := c.convolve(1, factor{law, 32})
			require.NoError(t, err)
			many, err := c.convolve(manySteps, factor{law, 32})
			require.NoError(t, err)
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

// TestWindowsHoldTheirLaw: what lies outside a window, summed up by a transform three times
// as long, is less than was allowed.
func TestWindowsHoldTheirLaw(t *testing.T) {
	for _, q := range []float64{1e-3, 0.1} {
		for _, power := range []int64{2, 25, 300} {
			s := &schedule{}
			require.NoError(t, s.add(pairKey{pairSampled, q, 1, 0}, 1000))
			all := &query{parts: componentsOf(t, s, false)}
			all.truncate(-20)
			law, err := all.parts[0].law(t.Context(), q/20, 3, false, true, 1<<20)
			require.NoError(t, err)
			const outside = 1e-9
			lo, hi := chernoffWindow([]factor{{law, power}}, math.Log(outside))
			c := newPLD(t, PLDConfig{}).newConvolver(t.Context())
			c.accuracy = 1e-16
			whole, err := c.convolve(1, factor{law, power})
			require.NoError(t, err)
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
