package nn

import (
	"crypto/sha256"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

func TestRowsWhereTheyLie(t *testing.T) {
	const n, cols = 9, 12
	for name, layers := range map[string][]Layer{
		"linear":          {Dense{Units: 3}},
		"in place":        {Flatten{}, ReLU{}, Dense{Units: 3}},
		"first in place":  {ReLU{}, Dense{Units: 3}},
		"behind a vector": {Flatten{}, Dense{Units: 4, Weights: He}, Tanh{}, Dense{Units: 3}},
	} {
		in := Vector(cols)
		if name == "in place" {
			in = Image(2, 3, 2)
		}
		m, err := New(in, CrossEntropy, layers...)
		require.NoError(t, err, name)
		copy(m.parameters, randomParameters[float32](m.arch, 1))
		for _, bad := range []int{-1, 4} {
			together := randomBatch[float32](m.arch, n, 1)
			if bad >= 0 {
				together.X[bad*cols] = float32(math.NaN())
			}
			apart := examples[float32]{X: make([]float32, n*(cols+1)), Stride: cols + 1, Y: together.Y}
			rows := upTo(n)
			for i := range rows {
				copy(apart.X[i*(cols+1):], together.X[i*cols:(i+1)*cols])
			}
			before := slices.Clone(together.X)
			for _, clip := range []float64{0.3, math.Inf(1)} {
				var sums [2][]float32
				var tallies [2]dpsgd.Tally
				for k, b := range []examples[float32]{together, apart} {
					w := newWorker[float32](m.arch, m.arch.rows())
					w.Start(m.parameters)
					sums[k] = make([]float32, len(m.parameters))
					tallies[k] = w.AddClipped(sums[k], b, rows, dpsgd.FlatClip(clip))
				}
				require.Equal(t, sums[1], sums[0], "%s, row %d, clip %g", name, bad, clip)
				require.Equal(t, tallies[1], tallies[0])
				require.Equal(t, int64(min(1, bad+1)), tallies[0].NonFinite)
			}
			for i, v := range together.X {
				require.Equal(t, math.Float32bits(before[i]), math.Float32bits(v), "the data")
			}
		}
	}
}

func randomArchitecture(rnd *rand.Rand) *architecture {
	for {
		in := Image(1+rnd.IntN(8), 1+rnd.IntN(8), 1+rnd.IntN(4))
		var layers []Layer
		for range rnd.IntN(5) {
			layers = append(layers, []Layer{
				Conv2D{Filters: 1 + rnd.IntN(20), Kernel: 1 + rnd.IntN(4), Stride: 1 + rnd.IntN(2), Padding: rnd.IntN(2)},
				MaxPool{Kernel: 1 + rnd.IntN(3), Stride: 1 + rnd.IntN(2)},
				AveragePool{Kernel: 1 + rnd.IntN(3), Stride: 1 + rnd.IntN(2)},
				GroupNorm{Groups: 1 + rnd.IntN(2)}, ReLU{}, Tanh{},
			}[rnd.IntN(6)])
		}
		layers = append(layers, Flatten{})
		for range rnd.IntN(3) {
			layers = append(layers, Dense{Units: 1 + rnd.IntN(40)}, []Layer{ReLU{}, Tanh{}, GroupNorm{Groups: 1}}[rnd.IntN(3)])
		}
		loss := []Loss{CrossEntropy, SquaredError}[rnd.IntN(2)]
		if a, err := newArchitecture(in, loss, append(layers, Dense{Units: 2 + rnd.IntN(20)})...); err == nil {
			return a
		}
	}
}

// extremeBatch returns rows of sizes from denormal to overflowing, zeros, and elements that
// are not finite, among inputs and targets.
func extremeBatch(a *architecture, rows int, rnd *rand.Rand) examples[float32] {
	size, out := a.input().Size(), a.output().Size()
	b := examples[float32]{Stride: size, TargetStride: out}
	value := func(kind int, spread float64) float32 {
		v := rnd.NormFloat64() * spread
		switch kind {
		case 0:
			if rnd.IntN(10) == 0 {
				v = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rnd.IntN(3)]
			}
		case 1:
			v = math.Copysign(math.MaxFloat32, v)
		case 2:
			v = rnd.NormFloat64() * 1e-42
		case 3:
			v = 0
		case 4:
			v = rnd.NormFloat64() * 0x1p62
		}
		return float32(v)
	}
	for range rows {
		kind, spread := rnd.IntN(12), math.Exp(25*rnd.NormFloat64())
		for range size {
			b.X = append(b.X, value(kind, spread))
		}
		kind, spread = rnd.IntN(12), math.Exp(25*rnd.NormFloat64())
		for range out {
			b.Targets = append(b.Targets, value(kind, min(spread, 1e37)))
		}
		b.Y = append(b.Y, rnd.IntN(out))
	}
	return b
}

var long = flag.Bool("long", false, "play all of what tests take a sample of")

func TestObligationsAtExtremes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(78, 3))
	finite, trials := 0, 60
	if *long {
		trials = 300
	}
	for trial := range trials {
		a := randomArchitecture(rnd)
		size := math.Exp([]float64{-1, 20 * rnd.NormFloat64()}[rnd.IntN(2)])
		p := testkit.Series(a.parameters(), func(int) float32 { return float32(rnd.NormFloat64() * size) })
		rows := []int{1, 7, 40, 100}[rnd.IntN(4)]
		batch := extremeBatch(a, rows, rnd)
		sizes := [][]int{{len(p)}, groups(a), a.tensors}[trial%3]
		clip := dpsgd.Clip{Stabilizer: []float64{0, 0, 0, 1e-320, 0x1p-30, 0.01, 1e6}[rnd.IntN(7)]}
		for range sizes {
			clip.Norms = append(clip.Norms, []float64{0x1p-40, 1e-3, 1, 0x1p40}[rnd.IntN(4)])
		}
		start := func() *worker[float32] {
			w := newWorker[float32](a, a.rows())
			if trial%3 == 2 {
				w.layers = byTensor[float32](len(a.tensors), w.rows)
			}
			w.Start(p)
			return w
		}
		w := start()
		var tally dpsgd.Tally
		exact, norms := make([]float64, len(p)), make([]float64, len(sizes))
		var alone [][]float32
		for i := range rows {
			g := make([]float32, len(p))
			own := start().AddClipped(g, batch, []int{i}, clip)
			tally.Clipped += own.Clipped
			tally.NonFinite += own.NonFinite
			finite += int(1 - own.NonFinite)
			alone = append(alone, g)
			at := 0
			for k, n := range sizes {
				for j := at; j < at+n; j++ {
					exact[j] += float64(g[j])
				}
				norm := normOf(g[at : at+n])
				require.True(t, norm <= clip.Norms[k]*(1+0x1p-20), "trial %d, row %d, group %d: norm %g, %v, %v", trial, i, k, norm, clip, a)
				norms[k] += norm
				at += n
			}
		}
		sum := make([]float32, len(p))
		all := w.AddClipped(sum, batch, upTo(rows), clip)
		require.Equal(t, tally.Clipped, all.Clipped, "trial %d: %v", trial, a)
		require.Equal(t, tally.NonFinite, all.NonFinite, "trial %d: %v", trial, a)
		for j, v := range sum {
			exact[j] -= float64(v)
		}
		at := 0
		for k, n := range sizes {
			require.LessOrEqual(t, normOf(exact[at:at+n]), 64*0x1p-24*norms[k], "trial %d, group %d: %v", trial, k, a)
			at += n
		}
		// What other rows left in the worker must not show.
		for range min(rows, 5) {
			i := rnd.IntN(rows)
			g := make([]float32, len(p))
			w.AddClipped(g, batch, []int{i}, clip)
			require.True(t, slices.Equal(alone[i], g), "trial %d, row %d: %v", trial, i, a)
		}
	}
	require.Greater(t, finite, 13*trials)
}

func TestTowardsZeroNeverGrows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 10000 {
		v := rnd.NormFloat64() * math.Exp2(rnd.Float64()*280-160)
		f := float64(towardsZero[float32](v))
		require.LessOrEqual(t, math.Abs(f), math.Abs(v))
		require.InDelta(t, v, f, math.Abs(v)*0x1p-23+0x1p-149)
	}
	require.Equal(t, 0.1, towardsZero[float64](0.1))
}

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

type unfetched struct{ dpsgd.Packed }

// packedRows returns rows with labels, and the same packed. Row 5 is not finite.
func packedRows(rows, cols int) (plain, packed dpsgd.Data, a asked) {
	rnd := rand.New(rand.NewPCG(3, uint64(cols)))
	x := blas32.General{Rows: rows, Cols: cols, Stride: cols}
	x.Data = testkit.Series(rows*cols, func(int) float32 { return float32(rnd.NormFloat64()) })
	x.Data[5*cols+1] = float32(math.NaN())
	y := testkit.Series(rows, func(i int) int { return i % 10 })
	a = asked{x, make([]int, rows*cols)}
	return dpsgd.Data{X: x, Y: y}, dpsgd.Data{Packed: a, Y: y}, a
}

func TestPackedRowsAddWhatRowsAdd(t *testing.T) {
	for _, cols := range []int{3, 64, 300, 5000} {
		softmax := testkit.Must(NewSoftmax(cols, 10))
		perceptron := testkit.Must(NewMLP(cols, []int{20}, 10, rand.New(rand.NewPCG(1, 1))))
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
	m := testkit.Must(NewSoftmax(cols, 10))
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

func TestDistancesOfPackedRows(t *testing.T) {
	m := testkit.Must(NewSoftmax(300, 10))
	plain, packed, _ := packedRows(100, 300)
	plain.X.Data[5*300+1] = 0
	rows := permutation(100)
	for _, between := range []dpsgd.Between{dpsgd.Batches, dpsgd.Records} {
		want := testkit.Must(dpsgd.MeasureDistances(m, plain, rows, dpsgd.FlatClip(0.1), between))
		got := testkit.Must(dpsgd.MeasureDistances(m, packed, rows, dpsgd.FlatClip(0.1), between))
		require.Equal(t, want, got)
	}
}

// TestMaxPoolTakesTheFirstOfEqual checks both precisions where many values of a window are
// equal, also with more than a hundred taps and an odd number of taps.
func TestMaxPoolTakesTheFirstOfEqual(t *testing.T) {
	for _, pool := range []MaxPool{{Kernel: 1, Stride: 1}, {Kernel: 2, Stride: 1}, {Kernel: 2, Stride: 2}, {Kernel: 3, Stride: 1}, {Kernel: 16, Stride: 3}} {
		in := Image(19, 17, 2)
		checkMaxPool(t, pool, in, newMaxPass[float32](pool, in, 2))
		checkMaxPool(t, pool, in, newMaxPass[float64](pool, in, 2))
	}
}

func checkMaxPool[T Float](t *testing.T, pool MaxPool, in Shape, p Pass[T]) {
	const rows = 2
	out := testkit.Must(pool.Output(in))
	rnd := rand.New(rand.NewPCG(6, 1))
	x := testkit.Series(rows*in.Size(), func(int) T { return T(rnd.IntN(4) - 3) }) // negative or zero
	dy := testkit.Series(rows*out.Size(), func(j int) T { return T(j + 1) })
	y, dx := make([]T, len(dy)), make([]T, len(x))
	p.Forward(y, x, rows)
	p.Backward(dx, dy, rows, nil)
	wantY, wantDX := make([]T, len(y)), make([]T, len(dx))
	for k := range y {
		i, r, c, channel := k/out.Size(), k/(out.Cols*out.Channels)%out.Rows, k/out.Channels%out.Cols, k%out.Channels
		best := -1
		for a := range pool.Kernel {
			for b := range pool.Kernel {
				at := i*in.Size() + ((r*pool.Stride+a)*in.Cols+c*pool.Stride+b)*in.Channels + channel
				if best < 0 || x[at] > x[best] {
					best = at
				}
			}
		}
		wantY[k] = x[best]
		wantDX[best] += dy[k]
	}
	require.Equal(t, wantY, y, "%v", pool)
	require.Equal(t, wantDX, dx, "%v", pool)
}
