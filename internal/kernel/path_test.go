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

var long = flag.Bool("long", false, "build the generator of the assembly")

// TestAssemblyIsGenerated checks that the assembly in the repository is what the generator writes. Go
// generate writes it anew.
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
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			_, rest, _ := strings.Cut(string(text), "\n") // the command
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

// Whole pages start and end at multiples of their size, are within the memory, and none is left out.
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
