package kernel

import (
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
