package kernel

import (
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fastest is the path of this machine.
var fastest = machine

// along calls f while all functions on float32 take a path.
func along(on path, f func()) {
	defer func() { machine = fastest }()
	machine = on
	f()
}

// paths yields the paths of functions on T that the machine has, and makes the functions take them.
func paths[T Float]() iter.Seq[path] {
	return func(yield func(path) bool) {
		last, more := pathOf[T](), true
		for on := portable; on <= last && more; on++ {
			along(on, func() { more = yield(on) })
		}
	}
}

// drawn draws a path.
func drawn(t *rapid.T) path { return path(rapid.IntRange(int(portable), int(fastest)).Draw(t, "path")) }

func (p path) String() string { return []string{"portable", "AVX2", "AVX-512"}[p] }

func TestNoAssemblyIsForFloat64(t *testing.T) {
	require.Equal(t, portable, pathOf[float64]())
	require.Equal(t, machine, pathOf[float32]())
}

// TestFusedPathsAgree checks that AVX2 and AVX-512 give a product the same bits, whatever the numbers are
// and wherever they lie.
func TestFusedPathsAgree(t *testing.T) {
	if machine < avx512 {
		t.Skip("no AVX-512 here; .ci/avx512 emulates it")
	}
	compare := func(t require.TestingT, rnd *rand.Rand, m, n, k int, odd []float32) {
		for i, p := range productsOn[float32](avx2) {
			wide := productsOn[float32](avx512)[i]
			dst, a, b := p.operands(rnd, m, n, k)
			for _, x := range []matrix[float32]{dst, a, b} {
				for _, v := range odd {
					if len(x.data) > 0 {
						x.data[rnd.IntN(len(x.data))] = v
					}
				}
			}
			other := dst
			other.buffer = slices.Clone(dst.buffer)
			other.data = other.buffer[dst.from : dst.from+len(dst.data)]
			p.run(dst, a, b, m, n, k)
			wide.run(other, a, b, m, n, k)
			for at := range dst.buffer {
				if math.Float32bits(dst.buffer[at]) != math.Float32bits(other.buffer[at]) {
					require.Failf(t, "bits differ", "%s %d %d %d, element %d: %v and %v", p.name, m, n, k, at-dst.from, dst.buffer[at], other.buffer[at])
				}
			}
		}
	}
	t.Run("heights", func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(14, 1))
		for m := 1; m <= 80; m++ {
			compare(t, rnd, m, 1+rnd.IntN(40), 1+rnd.IntN(70), nil)
		}
	})
	t.Run("columns", func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(14, 2))
		for n := 1; n <= 17; n++ {
			for _, k := range []int{31, 32, 39, 40, 48, 65} {
				compare(t, rnd, 1+rnd.IntN(30), n, k, nil)
			}
		}
		for n := 18; n <= 150; n++ { // tiles of one to three vectors, the last in part
			compare(t, rnd, 1+rnd.IntN(30), n, 1+rnd.IntN(70), nil)
		}
	})
	for _, s := range [][3]int{{64, 10, 785}, {10, 785, 64}, {25, 16, 64}, {31, 33, 700}, {61, 70, 300}, {9, 10, 1500}, {130, 20, 270}, {1, 130, 70}, {1, 64, 300}, {1, 400, 40}, {70, 1024, 60}, {260, 50, 250}} {
		t.Run(fmt.Sprint(s), func(t *testing.T) { compare(t, rand.New(rand.NewPCG(14, 3)), s[0], s[1], s[2], nil) })
	}
	t.Run("any", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			dim, seed := rapid.IntRange(0, 70), rapid.Uint64().Draw(t, "seed")
			odd := rapid.SliceOfN(hostile[float32](), 0, 6).Draw(t, "odd")
			compare(t, rand.New(rand.NewPCG(seed, 14)), dim.Draw(t, "m"), dim.Draw(t, "n"), dim.Draw(t, "k"), odd)
		})
	})
}

func TestHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 11))
		h := Halves{M: rapid.IntRange(1, 27).Draw(t, "m"), Last: rapid.IntRange(0, 9).Draw(t, "last")}
		strips, gap := rapid.IntRange(1, 3).Draw(t, "strips"), rapid.IntRange(0, 3).Draw(t, "gap")
		k, row := h.Last/2+1, strip+gap
		normal := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rnd.NormFloat64())
			}
			return x
		}
		h.Even, h.Odd = normal((h.M+1)/2*k), normal(h.M/2*k)
		from, to := Strips{At: gap, Row: row, Step: row * (h.Last + 1)}, Strips{At: gap, Row: row, Step: row * h.M}
		src, dst := normal(gap+strips*from.Step), make([]float32, gap+strips*to.Step)
		for i := range dst {
			dst[i] = float32(math.NaN())
		}
		along(drawn(t), func() { h.MulStrips(dst, to, src, from, strips) })
		require.Equal(t, strip*h.M*strips, written(dst))
		for s := range strips {
			for r := range h.M {
				for j := range strip {
					want, size := 0.0, 0.0
					for i := range k {
						w, sign := h.Even, 1.0
						if r%2 == 1 {
							w, sign = h.Odd, -1
						}
						a, b := float64(from.row(src, i, s)[j]), float64(from.row(src, h.Last-i, s)[j])
						want += float64(w[r/2*k+i]) * (a + sign*b)
						size += math.Abs(float64(w[r/2*k+i])) * (math.Abs(a) + math.Abs(b))
					}
					require.InDelta(t, want, float64(to.row(dst, r, s)[j]), 1e-6*size)
				}
			}
		}
	})
}

func TestHalvesRefuseWhatDoesNotFit(t *testing.T) {
	h := Halves{Even: make([]float32, 2), Odd: make([]float32, 2), M: 2, Last: 2}
	at := Strips{Row: strip, Step: 3 * strip}
	src, dst := make([]float32, 3*strip), make([]float32, 2*strip)
	h.MulStrips(dst, at, src, at, 1)
	h.MulStrips(dst, at, src, at, 0)
	require.Panics(t, func() { h.MulStrips(dst[1:], at, src, at, 1) })
	require.Panics(t, func() { h.MulStrips(dst, at, src[1:], at, 1) })
	require.Panics(t, func() { h.MulStrips(dst, at, src, at, 2) })
	for _, bad := range []Halves{{Even: h.Even, Odd: h.Odd, M: 3, Last: 2}, {Even: h.Even, Odd: h.Odd, M: 2, Last: 4}, {Even: h.Even, M: 2, Last: 2}, {}} {
		require.Panics(t, func() { bad.MulStrips(dst, at, src, at, 1) })
	}
}

func TestGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lanes = 8
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 10))
		k, groups := rapid.IntRange(1, 9).Draw(t, "k"), rapid.IntRange(0, 5).Draw(t, "groups")
		src := make([]float32, 40)
		for i := range src {
			src[i] = float32(rnd.NormFloat64())
		}
		n := GroupOutputs*lanes*groups + 3
		sum, difference := make([]float32, n), make([]float32, n)
		var want [2][]float64 // of both products
		want[0], want[1] = make([]float64, n), make([]float64, n)
		size := 0.0
		g := new(Groups)
		for group := range groups {
			var out [GroupOutputs]int
			for i := range out {
				out[i] = 3 + (group*GroupOutputs+i)*lanes
			}
			var inputs [2]GroupInputs
			for half := range inputs {
				for range rnd.IntN(k + 1) {
					from := rnd.IntN(len(src) - lanes + 1)
					inputs[half].In = append(inputs[half].In, from)
					for _, at := range out {
						w := float32(rnd.NormFloat64())
						inputs[half].Weights = append(inputs[half].Weights, w)
						for l := range lanes {
							term := float64(w) * float64(src[from+l])
							want[half][at+l] += term
							size = max(size, math.Abs(term))
						}
					}
				}
			}
			g.Add(out, inputs[0], inputs[1])
		}
		along(drawn(t), func() { g.Mul(sum, difference, src) })
		for i := range n {
			require.InDelta(t, want[0][i]+want[1][i], float64(sum[i]), 1e-5*size)
			require.InDelta(t, want[0][i]-want[1][i], float64(difference[i]), 1e-5*size)
		}
	})
}

func TestGroupsRefuseWhatDoesNotFit(t *testing.T) {
	g := new(Groups)
	none, one := GroupInputs{}, GroupInputs{In: []int{5}, Weights: make([]float32, 4)}
	require.Panics(t, func() { g.Add([4]int{}, GroupInputs{In: []int{0}, Weights: make([]float32, 3)}, none) })
	require.Panics(t, func() { g.Add([4]int{-1}, one, none) })
	require.Panics(t, func() { g.Add([4]int{math.MaxInt32}, one, none) })
	g = new(Groups)
	g.Add([4]int{0, 8, 16, 24}, one, none)
	a, b := make([]float32, 32), make([]float32, 32)
	g.Mul(a, b, make([]float32, 13))
	require.Panics(t, func() { g.Mul(a[:31], b, make([]float32, 13)) })
	require.Panics(t, func() { g.Mul(a, b[:31], make([]float32, 13)) })
	require.Panics(t, func() { g.Mul(a, b, make([]float32, 12)) })
}

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
