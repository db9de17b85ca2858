package moments

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/dpsgd"
)

// clippedSum returns what AddClipped adds for the rows, in one call.
func clippedSum(m dpsgd.Model, x blas32.General, rows []int, c float64) ([]float32, dpsgd.Tally) {
	sum := make([]float32, len(m.Parameters()))
	w := m.Worker()
	w.Start()
	tally := w.AddClipped(sum, dpsgd.Data{X: x, Y: make([]int, x.Rows)}, rows, dpsgd.FlatClip(c))
	return sum, tally
}

func widen(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

func norm(v []float64) float64 { return mat.Norm(mat.NewVecDense(len(v), v), 2) }

// TestARecordMovesTheSumByAtMostTheClipNorm tries the smallest worlds: all rows of three entries from a
// short list of numbers, and every pair of neighbours whose smaller set has none or one of them. What a
// record adds has, as a vector and as a matrix, a norm of at most C. The broken models exceed it.
func TestARecordMovesTheSumByAtMostTheClipNorm(t *testing.T) {
	const c = 1.5
	alphabet := []float32{0, 1e-20, -0.7, 3, 1e15}
	var rows [][]float32
	for _, a := range alphabet {
		for _, b := range alphabet {
			for _, d := range alphabet {
				rows = append(rows, []float32{a, b, d})
			}
		}
	}
	x := matrix(rows...)
	worst := func(m dpsgd.Model, size func([]float64) float64) float64 {
		most := 0.0
		for i := range rows {
			with, _ := clippedSum(m, x, []int{i}, c)
			most = max(most, size(widen(with)))
			for _, j := range []int{0, 31, 124} {
				both, _ := clippedSum(m, x, []int{j, i}, c)
				without, _ := clippedSum(m, x, []int{j}, c)
				difference := widen(both)
				for k, v := range widen(without) {
					difference[k] -= v
				}
				most = max(most, size(difference))
			}
		}
		return most
	}
	frobenius := func(v []float64) float64 { return mat.Norm(fromTriangle(v, 3), 2) }
	const slack = c * 0x1p-20
	second := secondModel(3, 1)
	require.InDelta(t, c, worst(second, norm), slack, "reached, and not passed")
	require.InDelta(t, c, worst(second, frobenius), slack)
	require.InDelta(t, c, worst(meanModel(3), norm), slack)

	require.Greater(t, worst(unclipped{second}, norm), 2*c, "no clipping")
	plain := secondModel(3, 1)
	plain.contributor = func() contributor {
		return func(dst, row []float32) {
			at := 0
			for i := range row {
				for j := i; j < len(row); j++ {
					dst[at] = row[i] * row[j] // no root of 2
					at++
				}
			}
		}
	}
	require.Greater(t, worst(plain, func(v []float64) float64 {
		at := 0
		for i := range 3 {
			for j := i; j < 3; j++ {
				if j > i {
					v[at] *= math.Sqrt2 // the matrix has it twice
				}
				at++
			}
		}
		return norm(v)
	}), 1.1*c, "a triangle whose norm is not the matrix's")
}

type unclipped struct{ *model }

func (u unclipped) Worker() dpsgd.Worker { return unclippedWorker{u.model.Worker()} }

type unclippedWorker struct{ dpsgd.Worker }

func (w unclippedWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, _ dpsgd.Clip) dpsgd.Tally {
	return w.Worker.AddClipped(sum, data, rows, dpsgd.FlatClip(math.Inf(1)))
}

// TestObligations checks the obligations of a dpsgd.Worker on rows of all sizes. Contributions are exact
// next to any other rows and at any address, clipped, and summed within gamma_64.
func TestObligations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	const n, channels, positions, c = dpsgd.MaxRows, 5, 3, 0.8
	x := randomMatrix(n, channels*positions, 7)
	x.Stride, x.Data = 17, make([]float32, n*17)
	for i := range n {
		size := math.Exp(8 * rnd.NormFloat64())
		for j := range x.Cols {
			x.Data[i*x.Stride+j] = float32(size * math.Abs(rnd.NormFloat64()))
		}
	}
	for _, i := range []int{3, 100} {
		x.Data[i*x.Stride+4] = float32(math.NaN())
	}
	x.Data[7*x.Stride] = math.MaxFloat32
	for _, m := range []*model{meanModel(x.Cols), secondModel(channels, positions)} {
		all := make([]int, n)
		exact := make([]float64, len(m.parameters))
		norms := 0.0
		for i := range n {
			all[i] = i
			alone, tally := clippedSum(m, x, []int{i}, c)
			size := norm(widen(alone))
			require.LessOrEqual(t, size, c*(1+0x1p-20))
			if i == 3 || i == 100 {
				require.Equal(t, int64(1), tally.NonFinite)
				require.Zero(t, size)
			}
			norms += size
			for k, v := range alone {
				exact[k] += float64(v)
			}
			moved := x
			moved.Data = append(make([]float32, 1+i%16), x.Data[i*x.Stride:]...)[1+i%16:]
			moved.Rows = 1
			elsewhere, _ := clippedSum(m, moved, []int{0}, c)
			require.Equal(t, alone, elsewhere)
		}
		rnd.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		sum, tally := clippedSum(m, x, all, c)
		require.LessOrEqual(t, tally.Clipped+tally.NonFinite, int64(n))
		require.GreaterOrEqual(t, tally.NonFinite, int64(2))
		for k, v := range widen(sum) {
			exact[k] -= v
		}
		const gamma = 64 * 0x1p-24 / (1 - 64*0x1p-24)
		require.LessOrEqual(t, norm(exact), gamma*norms)
	}
}
