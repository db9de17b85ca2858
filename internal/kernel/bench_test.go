package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// benchmarkProduct reports the speed of each path on one shape. Only times of one run can be compared.
func benchmarkProduct(b *testing.B, m, n, k int, run, gonum func(dst, x, y []float32)) {
	rnd := rand.New(rand.NewPCG(9, 1))
	dst, x, y := Make[float32](m*n), Make[float32](m*k), Make[float32](n*k)
	copy(x, normal[float32](rnd, len(x)))
	copy(y, normal[float32](rnd, len(y)))
	bench := func(name string, f func()) {
		b.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, name), func(b *testing.B) {
			for b.Loop() {
				f()
			}
			b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
	for on := range paths[float32]() {
		bench(on.String(), func() { run(dst, x, y) })
	}
	bench("gonum", func() { gonum(dst, x, y) })
}

func general(rows, cols int, data []float32) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

// BenchmarkMulBT measures the shapes of logits, layers and kernels.
func BenchmarkMulBT(b *testing.B) {
	for _, s := range [][3]int{{512, 512, 512}, {240, 240, 784}, {32, 128, 784}, {64, 10, 784}, {256, 10, 784}, {256, 10, 1000}, {96, 6, 64}, {64, 10, 3969}, {256, 10, 6273}, {256, 2, 104}, {64, 16, 784}} {
		m, n, k := s[0], s[1], s[2]
		benchmarkProduct(b, m, n, k,
			func(dst, x, y []float32) { MulBT(dst, n, x, k, y, k, m, n, k) },
			func(dst, x, y []float32) {
				blas32.Gemm(blas.NoTrans, blas.Trans, 1, general(m, k, x), general(n, k, y), 0, general(m, n, dst))
			})
	}
}

// BenchmarkMulAB measures the shapes of errors passed down.
func BenchmarkMulAB(b *testing.B) {
	for _, s := range [][3]int{{512, 512, 512}, {64, 784, 10}, {256, 1000, 10}, {64, 784, 128}, {25, 16, 64}} {
		m, n, k := s[0], s[1], s[2]
		benchmarkProduct(b, m, n, k,
			func(dst, x, y []float32) { MulAB(dst, n, x, k, y, n, m, n, k) },
			func(dst, x, y []float32) {
				blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, general(m, k, x), general(k, n, y), 0, general(m, n, dst))
			})
	}
}

// BenchmarkPacked measures the shapes of layers, and of convolutions of an example.
func BenchmarkPacked(b *testing.B) {
	for _, s := range [][3]int{{512, 512, 512}, {512, 512, 1024}, {64, 128, 784}, {256, 1000, 784}, {25, 16, 64}, {196, 16, 64}, {25, 32, 256}} {
		m, n, k := s[0], s[1], s[2]
		packed, on := Packed[float32]{}, portable
		benchmarkProduct(b, m, n, k,
			func(dst, x, y []float32) {
				if packed.n == 0 || machine != on {
					on = machine
					packed.PackBT(y, k, n, k)
				}
				packed.Mul(dst, n, x, k, m)
			},
			func(dst, x, y []float32) {
				blas32.Gemm(blas.NoTrans, blas.Trans, 1, general(m, k, x), general(n, k, y), 0, general(m, n, dst))
			})
	}
}

// BenchmarkAddATB measures the shapes of gradients.
func BenchmarkAddATB(b *testing.B) {
	for _, s := range [][3]int{{512, 512, 512}, {10, 784, 32}, {10, 784, 64}, {10, 784, 256}, {10, 1000, 256}, {10, 3969, 64}, {10, 6273, 256}, {128, 784, 64}, {128, 784, 256}, {1000, 784, 256}, {16, 64, 196}, {32, 256, 25}} {
		m, n, k := s[0], s[1], s[2]
		benchmarkProduct(b, m, n, k,
			func(dst, x, y []float32) { AddATB(dst, n, x, m, y, n, m, n, k) },
			func(dst, x, y []float32) {
				blas32.Gemm(blas.Trans, blas.NoTrans, 1, general(k, m, x), general(k, n, y), 1, general(m, n, dst))
			})
	}
}

// BenchmarkVectors measures the functions on vectors, by the bytes they read.
func BenchmarkVectors(b *testing.B) {
	const m, n = 64, 784
	rnd := rand.New(rand.NewPCG(10, 1))
	a, dst, ints, norm := normal[float32](rnd, m*n), make([]float32, m*n), make([]int64, m*n), 0.0
	for on := range paths[float32]() {
		bench := func(name string, f func()) {
			b.Run(name+"/"+on.String(), func(b *testing.B) {
				b.SetBytes(4 * m * n)
				for b.Loop() {
					f()
				}
			})
		}
		bench("FoldInt64", func() { FoldInt64(ints, dst, 1024) })
		bench("AddRows", func() { AddRows(dst[:n], a, n, m, n) })
		bench("SquaredNorm", func() { norm += SquaredNorm(a) })
		bench("Scale", func() { Scale(dst, 2, a) })
	}
}
