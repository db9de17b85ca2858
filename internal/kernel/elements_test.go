package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func hostile[T Float]() *rapid.Generator[T] {
	odd := []T{T(math.Inf(1)), T(math.Inf(-1)), T(math.NaN()), 0, T(math.Copysign(0, -1)), 1e-45, -1e-45, 3e38, -3e38, 1, -1, 2}
	return rapid.OneOf(rapid.SampledFrom(odd), rapid.Map(rapid.Float32(), func(v float32) T { return T(v) }))
}

func bitsEqual[T Float](t require.TestingT, want, got []T) {
	require.Equal(t, len(want), len(got))
	for i := range want {
		if want[i] != want[i] {
			require.True(t, got[i] != got[i], "element %d is %v, want NaN", i, got[i])
			continue
		}
		require.Equal(t, bitsOf(want[i]), bitsOf(got[i]), "element %d is %v, want %v", i, got[i], want[i])
	}
}

func guarded[T Float](x []T) (inside []T, ok func() bool) {
	buffer := append(slices.Clone(x), 77)
	return buffer[:len(x):len(x)], func() bool { return buffer[len(x)] == 77 }
}

// onEveryPath requires that f, on each path, turns a copy of src into want, bit for bit, and writes nothing
// behind it.
func onEveryPath[T Float](t require.TestingT, want, src []T, f func(dst []T)) {
	for on := range paths[T]() {
		got, ok := guarded(src)
		f(got)
		bitsEqual(t, want, got)
		require.True(t, ok(), "%v", on)
	}
}

func TestElementsMatch(t *testing.T) {
	t.Run("float32", testElementsMatch[float32])
	t.Run("float64", testElementsMatch[float64])
}

// testElementsMatch compares each path with one element at a time, bit for bit.
func testElementsMatch[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		x := rapid.SliceOfN(hostile[T](), n, n).Draw(t, "x")
		d := rapid.SliceOfN(hostile[T](), n, n).Draw(t, "d")
		rectified, gated := make([]T, n), make([]T, n)
		for i, v := range x {
			rectified[i] = max(v, 0)
			if v > 0 || v != v && !math.Signbit(float64(v)) {
				gated[i] = d[i]
			}
		}
		onEveryPath(t, rectified, x, func(got []T) { Rectify(got, got) })
		onEveryPath(t, gated, d, func(got []T) { Gate(got, x, got) })
	})
	require.Panics(t, func() { Rectify(make([]T, 2), make([]T, 3)) })
	require.Panics(t, func() { Gate(make([]T, 2), make([]T, 3), make([]T, 2)) })
	require.Panics(t, func() { Gate(make([]T, 2), make([]T, 2), make([]T, 1)) })
}

func TestAddToRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, n, gap := rapid.IntRange(0, 5).Draw(t, "m"), rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(0, 3).Draw(t, "gap")
		ld := n + gap
		x := rapid.SliceOfN(hostile[float32](), m*ld, m*ld).Draw(t, "x")
		v := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "v")
		want := slices.Clone(x)
		for i := range m {
			for j := range n {
				want[i*ld+j] += v[j]
			}
		}
		onEveryPath(t, want, x, func(got []float32) { AddToRows(got, ld, v, m, n) })
	})
	require.Panics(t, func() { AddToRows(make([]float32, 7), 4, make([]float32, 4), 2, 4) })
	require.Panics(t, func() { AddToRows(make([]float32, 8), 4, make([]float32, 3), 2, 4) })
}

func TestTapsMatch(t *testing.T) {
	t.Run("float32", testTapsMatch[float32])
	t.Run("float64", testTapsMatch[float64])
}

// testTapsMatch compares each path with a search that knows numbers, not bits. It leaves out -0 beside 0
// and NaN, which numbers do not order.
func testTapsMatch[T Float](t *testing.T) {
	ordered := hostile[T]().Filter(func(v T) bool { return v == v && (v != 0 || !math.Signbit(float64(v))) })
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		count := rapid.SampledFrom([]int{1, 2, 3, 4, 9, 256}).Draw(t, "taps")
		taps := make([]int, count)
		for i := 1; i < count; i++ {
			taps[i] = taps[i-1] + rapid.IntRange(1, 6).Draw(t, "tap")
		}
		size := taps[count-1] + n
		x := rapid.SliceOfN(ordered, size, size).Draw(t, "x")
		dy := rapid.SliceOfN(hostile[T](), n, n).Draw(t, "dy")
		best, winner, dx := make([]T, n), make([]uint8, n), make([]T, size)
		for c := range best {
			best[c] = x[c]
			for i, tap := range taps {
				if v := x[c+tap]; v > best[c] {
					best[c], winner[c] = v, uint8(i)
				}
			}
			dx[c+taps[winner[c]]] += dy[c]
		}
		onEveryPath(t, best, make([]T, n), func(got []T) {
			won := make([]uint8, n)
			MaxTaps(got, won, x, taps)
			require.Equal(t, winner, won)
		})
		onEveryPath(t, dx, make([]T, size), func(got []T) { AddToTaps(got, winner, dy, taps) })
	})
	x, codes, many := make([]T, 9), make([]uint8, 4), testkit.Series(257, func(i int) int { return i })
	for name, f := range map[string]func(){
		"short":     func() { MaxTaps(x[:4], codes, x[:4], []int{0, 1}) },
		"winner":    func() { MaxTaps(x[:4], codes[:3], x, []int{0}) },
		"no taps":   func() { MaxTaps(x[:4], codes, x, nil) },
		"negative":  func() { MaxTaps(x[:4], codes, x, []int{-1}) },
		"falling":   func() { AddToTaps(x, codes, x[:4], []int{1, 0}) },
		"short dst": func() { AddToTaps(x[:4], codes, x[:4], []int{0, 1}) },
		"many":      func() { MaxTaps(x[:0], nil, make([]T, 300), many) },
	} {
		require.Panics(t, f, name)
	}
}

func TestRuns(t *testing.T) {
	t.Run("float32", testRuns[float32])
	t.Run("float64", testRuns[float64])
}

func testRuns[T Float](t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, count, size := rapid.IntRange(0, 40).Draw(t, "n"), rapid.IntRange(0, 9).Draw(t, "runs"), rapid.IntRange(40, 70).Draw(t, "size")
		places := rapid.SliceOfN(rapid.Int32Range(0, int32(size-n)), count, count).Draw(t, "places")
		x := rapid.SliceOfN(hostile[T](), size, size).Draw(t, "x")
		runs := rapid.SliceOfN(hostile[T](), count*n, count*n).Draw(t, "more")
		copies, sums := make([]T, count*n), slices.Clone(x)
		for i := range copies {
			at := int(places[i/n]) + i%n
			copies[i], sums[at] = x[at], sums[at]+runs[i]
		}
		onEveryPath(t, copies, make([]T, count*n), func(got []T) { CopyRuns(got, x, places) })
		onEveryPath(t, sums, x, func(got []T) { AddRuns(got, runs, places) })
	})
	for range paths[T]() {
		for _, places := range [][]int32{{-1, 0}, {0, -1}, {0, 13}, {13, 0}, {0, math.MinInt32}, {0}, {0, 0, 0}, nil} {
			n := 16
			if len(places) == 1 {
				n = 24 // a run longer than x
			}
			x, runs := make([]T, 20), make([]T, n+len(places)/3)
			require.Panics(t, func() { CopyRuns(runs, x, places) }, "%v", places)
			require.Panics(t, func() { AddRuns(x, runs, places) }, "%v", places)
		}
	}
}

func TestMaxTapsOrdersBits(t *testing.T) {
	nan, negative := float32(math.NaN()), float32(math.Copysign(math.NaN(), -1))
	zero := float32(math.Copysign(0, -1))
	rising := []float32{negative, float32(math.Inf(-1)), -1, -1e-45, zero, 0, 1e-45, 1, float32(math.Inf(1)), nan}
	for i, a := range rising {
		require.Equal(t, bitsOf(a), orderOf(order(a)))
		for j, b := range rising {
			x := append(slices.Repeat([]float32{a}, 8), slices.Repeat([]float32{b}, 8)...)
			for range paths[float32]() {
				best, winner := make([]float32, 8), make([]uint8, 8)
				MaxTaps(best, winner, x, []int{0, 8})
				require.Equal(t, slices.Repeat([]uint8{map[bool]uint8{true: 1}[j > i]}, 8), winner, "%v %v", a, b)
				require.Equal(t, bitsOf(rising[max(i, j)]), bitsOf(best[0]))
			}
		}
	}
}

func TestCentre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		src := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "src")
		mean := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "mean")
		scale, far := rapid.Float64Range(-1e6, 1e6).Draw(t, "scale"), rapid.Float32Range(0, 1e8).Draw(t, "far")
		want := make([]float32, n)
		for i := range want {
			d := float64(float32(float64(src[i]-mean[i]) * scale))
			if want[i] = float32(math.Max(-float64(far), math.Min(d, float64(far)))); far == 0 && d == 0 {
				want[i] = float32(d)
			}
		}
		for range paths[float32]() {
			got, ok := guarded(src)
			Centre(got, got, mean, scale, far)
			for i := range got { // a zero has either sign
				require.True(t, want[i] == got[i] || want[i] != want[i] && got[i] != got[i], "%v %v", want[i], got[i])
			}
			require.True(t, ok())
		}
	})
	require.Panics(t, func() { Centre(make([]float32, 2), make([]float32, 3), make([]float32, 2), 1, 1) })
	require.Panics(t, func() { Centre(make([]float32, 2), make([]float32, 2), make([]float32, 1), 1, 1) })
}

func TestNotBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		low := rapid.OneOf(rapid.Float32Range(-3, 0), rapid.Just(float32(math.Inf(-1))))
		x := rapid.SliceOfN(low, n, n).Draw(t, "x")
		y := rapid.SliceOfN(rapid.Float32Range(0, 1), n, n).Draw(t, "y")
		floor := rapid.Float32Range(-3, 3).Draw(t, "floor")
		if n > 0 && rapid.Bool().Draw(t, "odd") {
			x[rapid.IntRange(0, n-1).Draw(t, "place")] = hostile[float32]().Draw(t, "value")
		}
		want := slices.IndexFunc(x, func(float32) bool { return false })
		for i := n - 1; i >= 0; i-- {
			if !(x[i]-y[i] < floor) {
				want = i
			}
		}
		if want < 0 {
			want = n
		}
		for range paths[float32]() {
			require.Equal(t, want, NotBelow(x, y, floor))
			require.Equal(t, 0, NotBelow(append([]float32{1}, x...), append([]float32{0}, y...), float32(math.NaN())))
		}
	})
	require.Panics(t, func() { NotBelow(make([]float32, 2), make([]float32, 3), 1) })
}

func TestSquaredDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows, k, gap, count := rapid.IntRange(1, 9).Draw(t, "rows"), rapid.IntRange(0, 70).Draw(t, "k"), rapid.IntRange(0, 3).Draw(t, "gap"), rapid.IntRange(0, 70).Draw(t, "count")
		ld := max(1, k+gap)
		m, x := normal[float32](rnd, (rows-1)*ld+k), normal[float32](rnd, k)
		want := make([]float32, count)
		places := testkit.Series(count, func(int) int32 { return rnd.Int32N(int32(rows)) })
		along(portable, func() { SquaredDistances(want, x, m, ld, places) })
		for i, p := range places {
			sum := 0.0
			for j, v := range x {
				d := float64(v) - float64(m[int(p)*ld+j])
				sum += d * d
			}
			require.InEpsilon(t, 1+sum, 1+float64(want[i]), 1e-5)
		}
		odd := hostile[float32]().Draw(t, "odd")
		if k > 0 && rapid.Bool().Draw(t, "hostile") {
			m[rnd.IntN(len(m))], x[rnd.IntN(k)] = odd, odd
			along(portable, func() { SquaredDistances(want, x, m, ld, places) })
		}
		onEveryPath(t, want, make([]float32, count), func(got []float32) { SquaredDistances(got, x, m, ld, places) })
	})
	x := make([]float32, 8)
	require.Panics(t, func() { SquaredDistances(x[:1], x, x, 8, nil) })
	require.Panics(t, func() { SquaredDistances(x[:1], x, x, 8, []int32{1}) })
	require.Panics(t, func() { SquaredDistances(x[:1], x, x, 8, []int32{-1}) })
}

func TestSparse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		rows, columns, n := rapid.IntRange(0, 6).Draw(t, "rows"), rapid.IntRange(1, 9).Draw(t, "columns"), rapid.IntRange(0, 40).Draw(t, "n")
		ldb, ldd := max(1, n+rnd.IntN(3)), max(1, n+rnd.IntN(3))
		b := normal[float32](rnd, columns*ldb)
		if rapid.Bool().Draw(t, "hostile") {
			b[rnd.IntN(len(b))] = hostile[float32]().Draw(t, "odd")
		}
		start, places, weights := []int32{0}, []int32{}, []float32{}
		want := slices.Repeat([]float32{-5}, rows*ldd) // of which a gap between rows stays
		for i := range rows {
			clear(want[i*ldd:][:n])
			for range rnd.IntN(12) {
				p, w := rnd.IntN(columns), float32(rnd.NormFloat64())
				places, weights = append(places, int32(p)), append(weights, w)
				for j := range n {
					want[i*ldd+j] += float32(w * b[p*ldb+j])
				}
			}
			start = append(start, int32(len(places)))
		}
		from := rnd.IntN(rows + 1)
		to := from + rnd.IntN(rows-from+1)
		s := NewSparse(columns, start, places, weights)
		gaps := slices.Repeat([]float32{-5}, (to-from)*ldd)
		onEveryPath(t, want[from*ldd:to*ldd], gaps, func(got []float32) { s.MulRows(got, ldd, from, to, b, ldb, n) })
	})
	one, b := []float32{1}, make([]float32, 8)
	for name, f := range map[string]func(){
		"column":     func() { NewSparse(1, []int32{0, 1}, []int32{1}, one) },
		"negative":   func() { NewSparse(1, []int32{0, 1}, []int32{-1}, one) },
		"short":      func() { NewSparse(1, []int32{0, 2}, []int32{0}, one) },
		"falling":    func() { NewSparse(1, []int32{0, 2, 1}, []int32{0}, one) },
		"no rows":    func() { NewSparse(1, nil, nil, nil) },
		"weights":    func() { NewSparse(1, []int32{0, 1}, []int32{0}, nil) },
		"rows":       func() { NewSparse(1, []int32{0, 1}, []int32{0}, one).MulRows(b, 8, 0, 2, b, 8, 8) },
		"empty rows": func() { (Sparse{}).MulRows(b, 8, 0, 1, b, 8, 8) },
		"dst":        func() { NewSparse(1, []int32{0, 1}, []int32{0}, one).MulRows(b[:7], 8, 0, 1, b, 8, 8) },
		"factor":     func() { NewSparse(1, []int32{0, 1}, []int32{0}, one).MulRows(b, 8, 0, 1, b[:7], 8, 8) },
	} {
		require.Panics(t, f, name)
	}
}

func TestExp32(t *testing.T) {
	worst := 0.0
	for x := float32(0); x > -87; x -= 0.00037 {
		worst = max(worst, math.Abs(float64(exp32(x))/math.Exp(float64(x))-1))
	}
	t.Logf("worst relative error %.3g", worst)
	require.Less(t, worst, 1e-7)
	require.Zero(t, exp32(float32(math.NaN())))
	require.Equal(t, float32(1), exp32(0))
	require.Zero(t, exp32(-87.1))
	require.Zero(t, exp32(float32(math.Inf(-1))))
	require.Zero(t, exp32(-math.MaxFloat32))
}

func TestGaussian(t *testing.T) {
	compare := func(t require.TestingT, products, norms []float32, norm, gamma float32) {
		want := testkit.Series(len(products), func(j int) float32 { return exp32(-gamma * max(0, norm+norms[j]-2*products[j])) })
		onEveryPath(t, want, products, func(got []float32) { Gaussian(got, norm, norms, gamma) })
	}
	t.Run("domain", func(t *testing.T) {
		var products []float32
		for x := float32(0.5); x > -45; x -= 0.00037 {
			products = append(products, x)
		}
		compare(t, products, make([]float32, len(products)), 0, 1)
		compare(t, products, make([]float32, len(products)), 0, 1e-3)
	})
	t.Run("any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(0, 40).Draw(t, "n")
			of := func(name string) []float32 { return rapid.SliceOfN(hostile[float32](), n, n).Draw(t, name) }
			compare(t, of("products"), of("norms"), hostile[float32]().Draw(t, "norm"), rapid.Float32Range(0, 100).Draw(t, "gamma"))
		})
	})
	require.Panics(t, func() { Gaussian(make([]float32, 2), 1, make([]float32, 3), 1) })
}
