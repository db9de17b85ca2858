package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

func normal[T Float](rnd *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(rnd.NormFloat64())
	}
	return x
}

func TestMulVecIsTheInnerProduct(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, cols := range []int{0, 1, 3, 15, 16, 17, 100, 785, 2304} {
		w := Aligned[float32](5 * Padded[float32](cols))
		copy(w, normal[float32](rnd, len(w)))
		x := normal[float32](rnd, cols)
		got := make([]float32, 5)
		MulVec(got, w, Padded[float32](cols), x)
		for k := range got {
			want, scale := 0.0, 0.0
			for j := range x {
				p := float64(x[j]) * float64(w[k*Padded[float32](cols)+j])
				want, scale = want+p, scale+math.Abs(p)
			}
			require.InDelta(t, want, float64(got[k]), 1e-5*scale+1e-30, "cols %d", cols)
		}
	}
}

// TestRowsAreExact: a row's results do not change by a bit with its address,
// its place in the batch or the size of the batch. The control, a plain dot
// product, does where it has an assembly prologue.
func TestRowsAreExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 1))
	const outputs = 7
	differs := false
	for _, cols := range []int{5, 31, 64, 785} {
		stride := Padded[float32](cols)
		w := Aligned[float32](outputs * stride)
		copy(w, normal[float32](rnd, len(w)))
		for range 50 {
			row := normal[float32](rnd, cols)
			buffer := make([]float32, cols+16)
			want, got := make([]float32, outputs), make([]float32, outputs)
			for shift := range 16 {
				moved := buffer[shift : shift+cols]
				copy(moved, row)
				MulVec(got, w, stride, moved)
				if shift == 0 {
					copy(want, got)
				}
				require.Equal(t, want, got, "cols %d, shift %d", cols, shift)
				differs = differs || dot(row, moved) != dot(row, row)
			}
			batch := blas32.General{Rows: 40, Cols: cols, Stride: cols + 3, Data: normal[float32](rnd, 40*(cols+3))}
			at := rnd.IntN(batch.Rows)
			copy(batch.Data[at*batch.Stride:], row)
			all := blas32.General{Rows: batch.Rows, Cols: outputs, Stride: outputs, Data: make([]float32, batch.Rows*outputs)}
			MulT(all, batch, blas32.General{Rows: outputs, Cols: cols, Stride: stride, Data: w})
			require.Equal(t, want, all.Data[at*outputs:(at+1)*outputs])
		}
	}
	t.Logf("control: plain dot products change with the address: %v", differs)
}

func TestSquaredNormIsExactWhereFloat32Overflows(t *testing.T) {
	x := Aligned[float32](4)
	copy(x, []float32{3e30, 4e30, 0, 1e-30})
	require.InEpsilon(t, 25e60, SquaredNorm(x), 1e-6)
	require.Zero(t, SquaredNorm[float32](nil))
}

// TestAddOuterBound checks the product against float64 and its documented
// rounding bound, across the edges of tiles.
func TestAddOuterBound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	for _, cols := range []int{1, 7, outerTile - 1, outerTile, 2*outerTile + 5} {
		for _, rows := range []int{0, 1, 3, 64} {
			const outputs = 3
			x := make([][]float32, rows)
			for i := range x {
				x[i] = normal[float32](rnd, cols)
			}
			g := normal[float32](rnd, rows*outputs)
			w := make([]float32, outputs*cols)
			AddOuter(w, cols, g, x)
			for k := range outputs {
				for j := range cols {
					exact, size := 0.0, 0.0
					for i := range x {
						p := float64(g[i*outputs+k]) * float64(x[i][j])
						exact, size = exact+p, size+math.Abs(p)
					}
					m := float64(rows) * 0x1p-24
					require.LessOrEqual(t, math.Abs(float64(w[k*cols+j])-exact), m/(1-m)*size)
				}
			}
		}
	}
	require.Panics(t, func() { AddOuter(make([]float64, 6), 3, make([]float64, 3), make([][]float64, 1)) })
}

func TestKernelsDoNotAllocate(t *testing.T) {
	w, x := Aligned[float32](10*64), make([]float32, 64)
	out, rows := make([]float32, 10), [][]float32{x}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		MulVec(out, w, 64, x)
		AddOuter(w, 64, out, rows)
	}))
}

// BenchmarkSkinny compares the two products of a linear model, 10 outputs,
// with gonum's general product on the same shapes.
func BenchmarkSkinny(b *testing.B) {
	const rows, outputs = 32, 10
	for _, cols := range []int{784, 2304} {
		rnd := rand.New(rand.NewPCG(4, 1))
		data := normal[float32](rnd, 4096*cols)
		stride := Padded[float32](cols)
		w := Aligned[float32](outputs * stride)
		copy(w, normal[float32](rnd, len(w)))
		g := normal[float32](rnd, rows*outputs)
		out := make([]float32, rows*outputs)
		x := make([][]float32, rows)
		block := func(n int) blas32.General {
			from := n % (4096 / rows) * rows
			for i := range x {
				x[i] = data[(from+i)*cols : (from+i+1)*cols]
			}
			return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: data[from*cols : (from+rows)*cols]}
		}
		report := func(b *testing.B) {
			b.ReportMetric(2*rows*outputs*float64(cols)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		}
		b.Run(fmt.Sprintf("logits/%d", cols), func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				block(n)
				for i := range x {
					MulVec(out[i*outputs:(i+1)*outputs], w, stride, x[i])
				}
			}
			report(b)
		})
		b.Run(fmt.Sprintf("gradient/%d", cols), func(b *testing.B) {
			sum := make([]float32, outputs*cols)
			for n := 0; b.Loop(); n++ {
				block(n)
				AddOuter(sum, cols, g, x)
			}
			report(b)
		})
		b.Run(fmt.Sprintf("gonum-logits/%d", cols), func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				blas32.Gemm(blas.NoTrans, blas.Trans, 1, block(n), blas32.General{Rows: outputs, Cols: cols, Stride: stride, Data: w},
					0, blas32.General{Rows: rows, Cols: outputs, Stride: outputs, Data: out})
			}
			report(b)
		})
		b.Run(fmt.Sprintf("gonum-gradient/%d", cols), func(b *testing.B) {
			sum := make([]float32, outputs*cols)
			for n := 0; b.Loop(); n++ {
				blas32.Gemm(blas.Trans, blas.NoTrans, 1, blas32.General{Rows: rows, Cols: outputs, Stride: outputs, Data: g}, block(n),
					1, blas32.General{Rows: outputs, Cols: cols, Stride: cols, Data: sum})
			}
			report(b)
		})
	}
}
