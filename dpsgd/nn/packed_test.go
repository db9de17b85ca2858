package nn

import (
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
)

// asked is a packed matrix that counts how often memory was asked for a number.
type asked struct {
	x     blas32.General
	count []int
}

func (a asked) Dims() (rows, cols int)            { return a.x.Rows, a.x.Cols }
func (a asked) Unpack(dst []float32, i int)       { copy(dst, dense.Row(a.x, i)) }
func (a asked) Hash(int) (hash [sha256.Size]byte) { return hash }

func (a asked) Fetch(i, from, to int) {
	for j := from; j < to; j++ {
		a.count[i*a.x.Cols+j]++
	}
}

// unfetched hides Fetch.
type unfetched struct{ dpsgd.Packed }

// packedRows returns rows with labels, and the same packed. Row 5 is not finite.
func packedRows(rows, cols int) (plain, packed dpsgd.Data, a asked) {
	rnd := rand.New(rand.NewPCG(3, uint64(cols)))
	x := dense.New(rows, cols)
	for i := range x.Data {
		x.Data[i] = float32(rnd.NormFloat64())
	}
	x.Data[5*cols+1] = float32(math.NaN())
	y := make([]int, rows)
	for i := range y {
		y[i] = i % 10
	}
	a = asked{x, make([]int, rows*cols)}
	return dpsgd.Data{X: x, Y: y}, dpsgd.Data{Packed: a, Y: y}, a
}

// What a worker adds for packed rows has the bits of what it adds for the rows themselves,
// whatever memory was asked for.
func TestPackedRowsAddWhatRowsAdd(t *testing.T) {
	for _, cols := range []int{3, 64, 300, 5000} {
		softmax, err := NewSoftmax(cols, 10)
		require.NoError(t, err)
		perceptron, err := NewMLP(cols, []int{20}, 10, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, err)
		for _, m := range []*Model{softmax, perceptron} {
			plain, packed, a := packedRows(100, cols)
			own, unpacking := m.Worker(), m.Worker().(dpsgd.PackedWorker)
			own.Start()
			unpacking.Start()
			for i, rows := range [][]int{{0}, {7, 3, 9, 5}, nil, {5}, permutation(70)} {
				for _, norm := range []float64{0.1, math.Inf(1)} {
					want, got := make([]float32, len(m.Parameters())), make([]float32, len(m.Parameters()))
					data := packed
					if i%2 == 0 {
						data.Packed = unfetched{a}
					}
					unpacking.Expect([]int{99, 5})
					require.Equal(t, own.AddClipped(want, plain, rows, dpsgd.FlatClip(norm)), unpacking.AddClipped(got, data, rows, dpsgd.FlatClip(norm)))
					require.Equal(t, want, got)
				}
			}
		}
	}
}

func permutation(n int) []int { return rand.New(rand.NewPCG(4, 4)).Perm(n) }

// While a group is at work memory is asked once for all of the next, in its order, also from one
// call to the next.
func TestRowsAreAskedForAhead(t *testing.T) {
	const cols, group = 5000, 16
	m, err := NewSoftmax(cols, 10)
	require.NoError(t, err)
	require.Equal(t, group, m.arch.rows())
	_, packed, a := packedRows(100, cols)
	w := m.Worker().(dpsgd.PackedWorker)
	w.Start()
	sum := make([]float32, len(m.Parameters()))
	rows := permutation(100)
	w.Expect(rows[40:80])
	w.AddClipped(sum, packed, rows[:40], dpsgd.FlatClip(1))
	for i, r := range rows {
		want := 0
		if i >= group && i < 40+group {
			want = 1
		}
		for j := range cols {
			require.Equal(t, want, a.count[r*cols+j], "row %d of those given, column %d", i, j)
		}
	}
	w.AddClipped(sum, packed, rows[40:50], dpsgd.FlatClip(1)) // nothing is expected
	for _, r := range rows[40+group:] {
		require.Zero(t, a.count[r*cols])
	}
}

// Distances of packed rows are those of the rows themselves.
func TestDistancesOfPackedRows(t *testing.T) {
	m, err := NewSoftmax(300, 10)
	require.NoError(t, err)
	plain, packed, _ := packedRows(100, 300)
	plain.X.Data[5*300+1] = 0
	rows := permutation(100)
	for _, between := range []dpsgd.Between{dpsgd.Batches, dpsgd.Records} {
		want, err := dpsgd.MeasureDistances(m, plain, rows, dpsgd.FlatClip(0.1), between)
		require.NoError(t, err)
		got, err := dpsgd.MeasureDistances(m, packed, rows, dpsgd.FlatClip(0.1), between)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
