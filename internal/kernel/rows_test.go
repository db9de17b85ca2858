package kernel

import (
	"flag"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
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
		src := testkit.Series(n, func(i int) float32 { return float32(i + 1) })
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

var fastest = machine

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

func drawn(t *rapid.T) path { return path(rapid.IntRange(int(portable), int(fastest)).Draw(t, "path")) }

func (p path) String() string { return []string{"portable", "AVX2", "AVX-512"}[p] }

func TestNoAssemblyIsForFloat64(t *testing.T) {
	require.Equal(t, portable, pathOf[float64]())
	require.Equal(t, machine, pathOf[float32]())
}

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

var long = flag.Bool("long", false, "build the generator of the assembly")

func TestAssemblyIsGenerated(t *testing.T) {
	if !*long {
		t.Skip("builds the generator: with -long")
	}
	dir := t.TempDir()
	generate := exec.Command("go", "run", ".", "-out", filepath.Join(dir, "fma_amd64.s"), "-stubs", filepath.Join(dir, "fma_amd64.go"),
		"-other", filepath.Join(dir, "fma_other.go"), "-pkg", "kernel")
	generate.Dir = "gen"
	generate.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly", "GOARCH=", "GOOS=")
	if out, err := generate.CombinedOutput(); err != nil {
		require.Contains(t, string(out), "module lookup disabled", "%s", out)
		t.Skip("the modules of the generator are not here: go -C internal/kernel/gen mod download")
	}
	for _, name := range []string{"fma_amd64.s", "fma_amd64.go", "fma_other.go"} {
		code := func(path string) string {
			_, rest, _ := strings.Cut(string(testkit.Must(os.ReadFile(path))), "\n") // the command
			return rest
		}
		require.True(t, code(filepath.Join(dir, name)) == code(name), "%s is not what gen writes: run go generate", name)
	}
}

func TestMake(t *testing.T) {
	for _, n := range []int{0, 1, 2, 15, 16, 17, 39, largePage/4 - 1, largePage / 4, largePage/4 + 1, largePage} {
		a, b, c := Make[float32](n), Make[float64](n), Make[int64](n)
		require.Len(t, a, n)
		require.Len(t, b, n)
		require.Len(t, c, n)
		for _, address := range []unsafe.Pointer{unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b)), unsafe.Pointer(unsafe.SliceData(c))} {
			require.Zero(t, uintptr(address)%alignment)
		}
		if 4*n >= largePage {
			require.Zero(t, uintptr(unsafe.Pointer(&a[0]))%largePage)
		}
		for i := range a {
			a[i], b[i], c[i] = 1, 1, 1 // all of it is there
		}
	}
}

func TestWholePages(t *testing.T) {
	memory := make([]byte, 4*largePage)
	address := func(b []byte) int { return int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
	for _, from := range []int{0, 1, 4096, largePage - 1, largePage, largePage + 1} {
		for _, n := range []int{0, 2, largePage - 1, largePage, 2*largePage - 1, 2 * largePage, len(memory) - largePage - 1} {
			b := memory[from : from+n]
			pages := wholePages(b)
			count := (address(b)+n)/largePage - (address(b)+largePage-1)/largePage
			require.Len(t, pages, max(0, count)*largePage)
			if len(pages) > 0 {
				require.Zero(t, address(pages)%largePage)
				require.GreaterOrEqual(t, address(pages), address(b))
				require.LessOrEqual(t, address(pages)+len(pages), address(b)+n)
			}
		}
	}
}
