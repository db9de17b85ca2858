package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAddRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		m, n := rapid.IntRange(0, 100).Draw(t, "m"), rapid.IntRange(0, 200).Draw(t, "n")
		a, dst := newMatrix[float32](rnd, m, n), newMatrix[float32](rnd, 1, n)
		was := append([]float32(nil), dst.data...)
		along(drawn(t), func() { AddRows(dst.data, a.data, a.ld, m, n) })
		require.True(t, dst.intact())
		for j := range n {
			exact, size := float64(was[j]), math.Abs(float64(was[j]))
			for i := range m {
				exact, size = exact+a.at(i, j), size+math.Abs(a.at(i, j))
			}
			require.LessOrEqual(t, math.Abs(dst.at(0, j)-exact), gamma[float32](runs(addRun)(m)+1)*size)
		}
	})
}

func TestCopyRow(t *testing.T) {
	for n := range 70 {
		src := make([]float32, n)
		for i := range src {
			src[i] = float32(i + 1)
		}
		onEveryPath(t, src, make([]float32, n), func(got []float32) { CopyRow(got, src, make([]float32, n)) })
	}
	require.Panics(t, func() { CopyRow(make([]float32, 2), make([]float32, 3), make([]float32, 2)) })
	require.Panics(t, func() { CopyRow(make([]float32, 2), make([]float32, 2), make([]float32, 1)) })
}

func TestSquaredNorms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		m, n := rapid.IntRange(0, 5).Draw(t, "m"), rapid.IntRange(0, 300).Draw(t, "n")
		a := newMatrix[float32](rnd, m, n)
		norms := make([]float64, m)
		SquaredNorms(norms, a.data, a.ld, m, n)
		for i := range m {
			exact := 0.0
			for j := range n {
				exact += a.at(i, j) * a.at(i, j)
			}
			require.InEpsilon(t, exact+1, norms[i]+1, 1e-13)
			moved := append(make([]float32, 3), a.row(i)...)[3:]
			require.Equal(t, norms[i], SquaredNorm(moved[:n:n]))
		}
	})
}

func TestSquaredNormIsExactWhereFloat32Overflows(t *testing.T) {
	x := []float32{3e30, 4e30, 0, 1e-30}
	require.InEpsilon(t, 25e60, SquaredNorm(x), 1e-6)
	require.Zero(t, SquaredNorm[float32](nil))
}

func TestScale(t *testing.T) {
	x := []float64{1, -2, math.Inf(1), 1e300}
	Scale(x, 1e10, x)
	require.Equal(t, []float64{1e10, -2e10, math.Inf(1), math.Inf(1)}, x)
	require.Panics(t, func() { Scale(x[:2], 1, x) })
}

// TestFoldIsTheNearestInteger compares with math.RoundToEven, up to the edge of its range, for any factor
// of 24 significant bits.
func TestFoldIsTheNearestInteger(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 1))
	for n := range 70 {
		perUnit := math.Ldexp(1, rnd.IntN(40))
		if n%2 == 1 {
			perUnit *= 1 + float64(rnd.IntN(1<<23))/(1<<23)
		}
		src, dst, want := make([]float32, n), make([]int64, n), make([]int64, n)
		for i := range src {
			src[i] = float32(math.Ldexp(2*rnd.Float64()-1, 51-rnd.IntN(60)) / perUnit)
			if rnd.IntN(4) == 0 {
				src[i] = float32((float64(rnd.IntN(1000)) - 500.5) / perUnit) // a tie, or near one
			}
			dst[i] = rnd.Int64() - 1<<62
			want[i] = dst[i] + int64(math.RoundToEven(float64(src[i])*perUnit))
		}
		square := SquaredNorm(src)
		require.Equal(t, square, FoldInt64(dst, src, perUnit))
		require.Equal(t, want, dst)
		require.Equal(t, make([]float32, n), src)
	}
}

// TestPathsAgree checks the functions whose assembly promises the bits of the portable path.
func TestPathsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		m, n := rapid.IntRange(0, 70).Draw(t, "m"), rapid.IntRange(0, 150).Draw(t, "n")
		type results struct {
			rows, scaled []float32
			norm, folded float64
			ints         []int64
			cleared      []float32
		}
		run := func() (r results) {
			rnd := rand.New(rand.NewPCG(seed, 6))
			a, rows := newMatrix[float32](rnd, m, n), newMatrix[float32](rnd, 1, n)
			scaled, x := newMatrix[float32](rnd, 1, n), newMatrix[float32](rnd, 1, n)
			factor := float32(rnd.NormFloat64())
			AddRows(rows.data, a.data, a.ld, m, n)
			Scale(scaled.data, factor, x.data)
			require.True(t, rows.intact() && scaled.intact() && x.intact())
			r = results{rows: rows.data, scaled: scaled.data, norm: SquaredNorm(x.data)}
			ints, src := make([]int64, n+9), newMatrix[float32](rnd, 1, n)
			from := rnd.IntN(9)
			r.folded = FoldInt64(ints[from:from+n], src.data, rnd.Float64()*0x1p49)
			require.True(t, src.intact())
			r.ints, r.cleared = ints, src.data
			return r
		}
		var plain results
		along(portable, func() { plain = run() })
		for on := range paths[float32]() {
			require.Equal(t, plain, run(), on)
		}
	})
}

// Lanes are summed with the bits of single additions, whatever the numbers are.
func TestLanes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		before := rapid.SliceOfN(hostile[float64](), n, n).Draw(t, "before")
		lane := rapid.SliceOfN(hostile[float64](), n, n).Draw(t, "lane")
		piece := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "piece")
		folded, added := make([]float64, n), make([]float64, n)
		for i, v := range before {
			folded[i], added[i] = v+float64(piece[i]), v+lane[i]
		}
		for range paths[float32]() {
			dst, src := append([]float64(nil), before...), append([]float32(nil), piece...)
			FoldFloat64(dst, src)
			bitsEqual(t, folded, dst)
			for _, v := range src {
				require.Zero(t, math.Float32bits(v))
			}
			dst = append([]float64(nil), before...)
			AddFloat64(dst, lane)
			bitsEqual(t, added, dst)
		}
	})
	require.Panics(t, func() { FoldFloat64(make([]float64, 1), nil) })
	require.Panics(t, func() { AddFloat64(make([]float64, 1), nil) })
}

// TestAddInts compares each path with the conversion of one integer at a time. Integers of all sizes are
// among them, and ones that lie halfway between doubles.
func TestAddInts(t *testing.T) {
	odd := []int64{0, 1, -1, 1 << 53, 1<<53 + 1, -1<<53 - 1, 1<<54 + 2, 1<<54 + 6, 1<<32 - 1, -1 << 32, math.MaxInt64, math.MinInt64}
	integer := rapid.OneOf(rapid.SampledFrom(odd), rapid.Int64())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		sum := rapid.SliceOfN(integer, n, n).Draw(t, "sum")
		noise := rapid.SliceOfN(integer, n, n).Draw(t, "noise")
		scale := rapid.SampledFrom([]float64{1, 0x1p-40, 1.0 / 3}).Draw(t, "scale")
		want, scaled := slices.Clone(sum), make([]float64, n)
		for i, v := range noise {
			want[i] += v
			scaled[i] = float64(want[i]) * scale
		}
		for on := range paths[float32]() {
			total, part := append(slices.Clone(sum), 77), append(make([]float64, n), 77)
			AddInts(part[:n], total[:n], noise, scale)
			require.Equal(t, append(slices.Clone(want), 77), total, "%v", on)
			require.Equal(t, append(slices.Clone(scaled), 77), part, "%v", on)
		}
	})
	require.Panics(t, func() { AddInts(make([]float64, 2), make([]int64, 3), make([]int64, 2), 1) })
	require.Panics(t, func() { AddInts(make([]float64, 2), make([]int64, 2), make([]int64, 3), 1) })
}

func TestDescend(t *testing.T) {
	t.Run("float32", testDescend[float32])
	t.Run("float64", testDescend[float64])
}

// testDescend compares each path with one parameter at a time, bit for bit. One number that is not finite,
// wherever it lies, is told.
func testDescend[T Float](t *testing.T) {
	gradients := rapid.SampledFrom([]float64{0, math.Inf(1), math.NaN(), 1e300, 1e39})
	few := func(t *rapid.T, n int, all *rapid.Generator[float64]) []float64 {
		x := rapid.SliceOfN(rapid.Float64Range(-2, 2), n, n).Draw(t, "ordinary")
		if n > 0 && rapid.Bool().Draw(t, "odd") {
			x[rapid.IntRange(0, n-1).Draw(t, "place")] = all.Draw(t, "one")
		}
		return x
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		gradient := few(t, n, gradients)
		x := make([]T, n)
		for i, v := range few(t, n, rapid.Map(hostile[T](), func(v T) float64 { return float64(v) })) {
			x[i] = T(v)
		}
		decay := rapid.SampledFrom([]float64{0, 0.01, 1}).Draw(t, "decay")
		rate := rapid.SampledFrom([]float64{1, 0.1, 3}).Draw(t, "rate")
		want, finite := make([]T, n), true
		for i, v := range x {
			pull := float64(decay * float64(v))
			move := float64(rate * float64(gradient[i]+pull))
			want[i] = T(float64(v) - move)
			finite = finite && !math.IsNaN(float64(want[i])) && !math.IsInf(float64(want[i]), 0)
		}
		onEveryPath(t, want, x, func(got []T) { require.Equal(t, finite, Descend(got, gradient, decay, rate)) })
	})
	require.Panics(t, func() { Descend(make([]T, 2), make([]float64, 3), 0, 1) })
}
