package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The assembly and the portable path have the same bits, and both round as they say.
func TestInt16(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		unit := float32(math.Ldexp(1, rapid.IntRange(-126, 112).Draw(t, "exponent")))
		src := rapid.SliceOfN(rapid.Int16(), n, n).Draw(t, "integers")
		plain, fast := make([]float32, n), make([]float32, n)
		along(portable, func() { UnpackInt16(plain, src, unit) })
		UnpackInt16(fast, src, unit)
		require.Equal(t, plain, fast)
		for i, v := range src {
			require.Equal(t, float64(v)*float64(unit), float64(fast[i]))
		}
		back := make([]int16, n)
		PackInt16(back, fast, 1/unit)
		require.Equal(t, src, back)

		values := rapid.SliceOfN(rapid.Float32Range(-32767, 32767), n, n).Draw(t, "values")
		for i := range values {
			if rapid.Bool().Draw(t, "half way") {
				values[i] = float32(math.Floor(float64(values[i])/2)) + 0.5
			}
		}
		other := make([]int16, n)
		along(portable, func() { PackInt16(back, values, 1) })
		PackInt16(other, values, 1)
		require.Equal(t, back, other)
		for i, v := range values {
			require.Equal(t, math.RoundToEven(float64(v)), float64(back[i]))
		}
	})
	require.Panics(t, func() { UnpackInt16(make([]float32, 1), nil, 1) })
	require.Panics(t, func() { PackInt16(make([]int16, 1), nil, 1) })
}

// Asking for memory changes nothing, and reads nothing behind the end.
func TestFetch(t *testing.T) {
	x := make([]int16, 1000)
	for i := range x {
		x[i] = int16(i)
	}
	was := slices.Clone(x)
	for n := range x {
		Fetch(x[:n])
		Fetch(x[n:])
	}
	require.Equal(t, was, x)
	Fetch(nil)
}

func TestLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float32(), 0, 90).Draw(t, "x")
		most := 0.0
		for _, v := range x {
			most = max(most, math.Abs(float64(v)))
		}
		for range paths[float32]() {
			require.Equal(t, most, float64(Largest(x)))
		}
		if len(x) == 0 {
			return
		}
		i := rapid.IntRange(0, len(x)-1).Draw(t, "i")
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x[i] = float32(bad)
			for range paths[float32]() {
				got := Largest(x)
				require.False(t, got-got == 0)
			}
		}
	})
}

// Bytes are little-endian wherever they lie, and come back.
func TestInt16Bytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOf(rapid.Int16()).Draw(t, "x")
		before := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "before")
		b := AppendInt16(before, x)
		require.Equal(t, before, b[:len(before)])
		b = b[len(before):]
		require.Len(t, b, 2*len(x))
		for i, v := range x {
			require.Equal(t, uint16(v), binary.LittleEndian.Uint16(b[2*i:]))
		}
		back := make([]int16, len(x))
		LoadInt16(back, b)
		require.Equal(t, append([]int16{}, x...), back)
	})
	require.Panics(t, func() { LoadInt16(make([]int16, 2), make([]byte, 3)) })
}
