package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func anyNumbers(t *rapid.T, n int, name string) []float32 {
	return rapid.SliceOfN(rapid.OneOf(rapid.Float32Range(-2, 2), rapid.Float32(), hostile[float32](), rapid.SampledFrom([]float32{0, 0, 0, 1, 1, -1})), n, n).Draw(t, name)
}

func TestImagesOnBothPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		a, b, c, d := anyNumbers(t, n+1, "a"), anyNumbers(t, n+1, "b"), anyNumbers(t, n, "c"), anyNumbers(t, n, "d")
		factor, most := rapid.Float32Range(-2, 2).Draw(t, "factor"), rapid.Float32Range(0, 2).Draw(t, "most")
		weights := [4]float32{factor, most, 1 - factor, 0.3}
		check := func(f func(dst []float32)) {
			plain := make([]float32, n)
			along(portable, func() { f(plain) })
			onEveryPath(t, plain, make([]float32, n), f)
		}
		check(func(dst []float32) { SquareRoots(dst, c) })
		check(func(dst []float32) { ScaleUpTo(dst, factor, c, most) })
		check(func(dst []float32) { Between(dst, a, b, weights) })
		check(func(dst []float32) { Polar(dst, make([]float32, n), a[:n], b[1:], c, d, factor) })
		check(func(dst []float32) { Polar(make([]float32, n), dst, a[:n], b[1:], c, d, factor) })
		check(func(dst []float32) { Affine(dst, c, float64(factor)/3, float64(most)*1e9) })
		bits := func(v float64) uint64 {
			if v != v {
				v = math.NaN()
			}
			return math.Float64bits(v)
		}
		var want [2]uint64
		for on := range paths[float32]() {
			got := [2]uint64{bits(Sum(a)), bits(SquaresAbout(a, float64(factor)))}
			if on == portable {
				want = got
			}
			require.Equal(t, want, got)
		}
	})
}

func TestImagesByDefinition(t *testing.T) {
	dst := make([]float32, 3)
	SquareRoots(dst, []float32{4, -4, 0})
	require.Equal(t, []float32{2, 0, 0}, dst)
	ScaleUpTo(dst, 2, []float32{1, 0.25, -9}, 1.5)
	require.Equal(t, []float32{1.5, 0.5, -18}, dst)
	Between(dst, []float32{1, 2, 3, 4}, []float32{10, 20, 30, 40}, [4]float32{1, 0.5, 2, 0.25})
	require.Equal(t, []float32{27, 51, 75}, dst)
	Affine(dst, []float32{1, 2, 3}, 1, 10)
	require.Equal(t, []float32{0, 10, 20}, dst)
	require.Equal(t, 6.0, Sum([]float32{1, 2, 3}))
	require.Equal(t, 14.0, SquaresAbout([]float32{1, 2, 3}, 0))
	long := testkit.Series(100, func(i int) float32 { return float32(i) })
	require.Equal(t, 4950.0, Sum(long))
	require.Equal(t, 83325.0, SquaresAbout(long, 49.5))
	two, four := make([]float32, 2), make([]float32, 4)
	for name, call := range map[string]func(){
		"roots":   func() { SquareRoots(two, dst) },
		"scale":   func() { ScaleUpTo(two, 1, dst, 1) },
		"between": func() { Between(dst, dst, four, [4]float32{}) },
		"lower":   func() { Between(dst, four, dst, [4]float32{}) },
		"affine":  func() { Affine(two, dst, 0, 1) },
		"turn":    func() { Polar(dst, two, dst, dst, dst, dst, 1) },
		"above":   func() { Polar(dst, dst, dst, dst, dst, two, 1) },
	} {
		require.Panics(t, call, name)
	}
}

func TestPolar(t *testing.T) {
	const n = 100_000
	x, y, zero := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		x[i], y[i] = float32(sin), float32(cos)
	}
	length, turn := make([]float32, n), make([]float32, n)
	Polar(length, turn, x, zero, y, zero, 1)
	for i := range n {
		require.InDelta(t, 1, length[i], 1e-6)
		require.LessOrEqual(t, float64(turn[i]), 2*math.Pi+1e-6)
		apart := float64(turn[i]) - math.Atan2(float64(y[i]), float64(x[i]))
		if math.Abs(apart-2*math.Pi*math.Round(apart/(2*math.Pi))) > 1e-6 {
			require.Failf(t, "direction", "%v of %v %v", turn[i], x[i], y[i])
		}
	}
	for _, long := range []float32{1e-40, 1, 1e38} {
		Polar(length[:3], turn[:3], []float32{long, -long, -long}, zero[:3], []float32{0, long, -long}, zero[:3], 2)
		require.InDeltaSlice(t, []float32{0, 3 * math.Pi / 2, 5 * math.Pi / 2}, turn[:3], 2e-6)
	}
}

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

func TestFetch(t *testing.T) {
	x := testkit.Series(1000, func(i int) int16 { return int16(i) })
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
