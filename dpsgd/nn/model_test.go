package nn

import (
	"context"
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

// nets returns small networks. Among them every kind of layer follows every other kind that
// shares memory with it.
func nets(t testing.TB) map[string]*architecture {
	nets := map[string]*architecture{}
	add := func(name string, in Shape, loss Loss, layers ...Layer) {
		nets[name] = testkit.Must(newArchitecture(in, loss, layers...))
	}
	add("linear", Vector(7), CrossEntropy, Dense{Units: 3})
	add("squared", Vector(7), SquaredError, Dense{Units: 4}, Tanh{}, Dense{Units: 2})
	add("activations", Vector(6), CrossEntropy, ReLU{}, Dense{Units: 5}, ReLU{}, Tanh{}, ReLU{}, Flatten{}, Tanh{}, Dense{Units: 3})
	add("images", Image(7, 7, 2), CrossEntropy, Flatten{}, FromChannels{Shape: Image(7, 7, 2)},
		Conv2D{Filters: 4, Kernel: 3, Stride: 1, Padding: 1}, GroupNorm{Groups: 2}, ReLU{}, MaxPool{Kernel: 2, Stride: 2},
		Conv2D{Filters: 3, Kernel: 2, Stride: 1}, Tanh{}, AveragePool{Kernel: 2, Stride: 1}, Flatten{}, Dense{Units: 4})
	return nets
}

func randomBatch[T Float](a *architecture, rows int, seed uint64) examples[T] {
	rnd := rand.New(rand.NewPCG(seed, 3))
	out := a.output().Size()
	normal := func(int) T { return T(rnd.NormFloat64()) }
	b := examples[T]{X: testkit.Series(rows*a.input().Size(), normal), Stride: a.input().Size()}
	b.Y = testkit.Series(rows, func(int) int { return rnd.IntN(out) })
	if a.loss == SquaredError && seed%2 == 0 {
		b.Targets, b.TargetStride = testkit.Series(rows*(out+1), normal), out+1
	}
	return b
}

func randomParameters[T Float](a *architecture, seed uint64) []T {
	rnd := rand.New(rand.NewPCG(seed, 4))
	return testkit.Series(a.parameters(), func(i int) T { return T(0.5 * rnd.NormFloat64()) })
}

func groups(a *architecture) []int { return (&Model{arch: a}).Groups() }

func upTo(n int) (rows []int) {
	for i := range n {
		rows = append(rows, i)
	}
	return rows
}

func TestGradientIsThatOfTheLoss(t *testing.T) {
	const h = 1e-5
	for name, a := range nets(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				batch, p := randomBatch[float64](a, 1, seed), randomParameters[float64](a, seed)
				w := newWorker[float64](a, a.rows())
				value := func() float64 {
					w.Start(p)
					sum := make([]float64, len(p))
					return w.AddClipped(sum, batch, []int{0}, dpsgd.FlatClip(math.Inf(1))).Loss
				}
				w.Start(p)
				gradient := make([]float64, len(p))
				w.AddClipped(gradient, batch, []int{0}, dpsgd.FlatClip(math.Inf(1)))
				for j, was := range p {
					p[j] = was + h
					up := value()
					p[j] = was - h
					down := value()
					p[j] = was
					require.InDelta(t, (up-down)/(2*h), gradient[j], 1e-7, "parameter %d", j)
				}
			}
		})
	}
}

// TestOnePassIsExplicitIsMicroBatched compares three ways to get clipped sums: from norms
// without a stored gradient, from gradients that the test clips one by one, and from groups
// of every size. They agree to 1e-10.
func TestOnePassIsExplicitIsMicroBatched(t *testing.T) {
	const rows = 40
	for name, a := range nets(t) {
		t.Run(name, func(t *testing.T) {
			batch, p := randomBatch[float64](a, rows, 8), randomParameters[float64](a, 8)
			for _, clip := range []dpsgd.Clip{
				dpsgd.FlatClip(0.7),
				{Norms: []float64{0.7}, Stabilizer: 0.01},
				{Norms: splitNorm(1.5, len(groups(a)))},
			} {
				explicit := make([]float64, len(p))
				single := newWorker[float64](a, 1)
				single.Start(p)
				for i := range rows {
					g := make([]float64, len(p))
					single.AddClipped(g, batch, []int{i}, dpsgd.FlatClip(math.Inf(1)))
					sizes := []int{len(p)}
					if len(clip.Norms) > 1 {
						sizes = groups(a)
					}
					at := 0
					for k, size := range sizes {
						scale, _ := clip.Scale(k, normOf(g[at:at+size]))
						for j := at; j < at+size; j++ {
							explicit[j] += scale * g[j]
						}
						at += size
					}
				}
				for _, group := range []int{1, 8, 13, 40} {
					w := newWorker[float64](a, group)
					w.Start(p)
					sum := make([]float64, len(p))
					w.AddClipped(sum, batch, upTo(rows), clip)
					require.InDeltaSlice(t, explicit, sum, 1e-10, "groups of %d", group)
				}
			}
		})
	}
}

func splitNorm(norm float64, parts int) []float64 {
	return slices.Repeat([]float64{norm / math.Sqrt(float64(parts))}, parts)
}

func normOf[T Float](v []T) float64 {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return math.Sqrt(square)
}

func TestObligationsOfAWorker(t *testing.T) {
	for name, a := range nets(t) {
		t.Run(name, func(t *testing.T) {
			const rows = dpsgd.MaxRows
			batch, p := randomBatch[float32](a, rows, 5), randomParameters[float32](a, 5)
			rnd := rand.New(rand.NewPCG(5, 5))
			for i := range rows {
				size := float32(math.Exp2(float64(rnd.IntN(90) - 30)))
				for j := range a.input().Size() {
					batch.X[i*batch.Stride+j] *= size
				}
			}
			for _, clip := range []dpsgd.Clip{
				dpsgd.FlatClip(0x1p-40), dpsgd.FlatClip(0.3), {Norms: []float64{1}, Stabilizer: 0.01}, {Norms: splitNorm(1, len(groups(a)))},
			} {
				alone := make([][]float32, rows)
				exact, total := make([]float64, len(p)), 0.0
				w := newWorker[float32](a, a.rows())
				w.Start(p)
				for i := range rows {
					alone[i] = make([]float32, len(p))
					w.AddClipped(alone[i], batch, []int{i}, clip)
					for j, v := range alone[i] {
						exact[j] += float64(v)
					}
					require.LessOrEqual(t, normOf(alone[i]), clip.Norm()*(1+0x1p-20), "row %d", i)
					total += normOf(alone[i])
				}
				for i, norm := range w.AppendNorms(nil, batch, upTo(rows), clip) {
					want := normOf(alone[i])
					require.InDelta(t, want, norm, 1e-5*want+1e-30, "norm of row %d", i)
					require.LessOrEqual(t, norm, clip.Norm()*(1+0x1p-20))
				}
				sum := make([]float32, len(p))
				w.AddClipped(sum, batch, upTo(rows), clip)
				for j, v := range sum {
					exact[j] -= float64(v)
				}
				require.LessOrEqual(t, normOf(exact), 64*0x1p-24*total)
				require.Positive(t, total)
				// Use a copy of the data elsewhere, in another order, with another worker.
				for range 20 {
					i := rnd.IntN(rows)
					moved := examples[float32]{X: make([]float32, 5*batch.Stride+1), Stride: batch.Stride, Y: []int{0, 0, 0, batch.Y[i]}}
					moved.X = moved.X[1:]
					copy(moved.X[3*batch.Stride:], batch.X[i*batch.Stride:(i+1)*batch.Stride])
					other := newWorker[float32](a, 1+rnd.IntN(64))
					other.Start(p)
					got := make([]float32, len(p))
					other.AddClipped(got, moved, []int{3}, clip)
					require.Equal(t, alone[i], got)
				}
			}
		})
	}
}

func TestRowsThatAreNotFinite(t *testing.T) {
	for name, a := range nets(t) {
		t.Run(name, func(t *testing.T) {
			const rows = 20
			batch, p := randomBatch[float32](a, rows, 6), randomParameters[float32](a, 6)
			w := newWorker[float32](a, a.rows())
			w.Start(p)
			var good []int
			for i := range rows {
				switch v := &batch.X[i*batch.Stride+i%batch.Stride]; i % 5 {
				case 0:
					*v = float32(math.NaN())
				case 2:
					*v = float32(math.Inf(1))
				default:
					good = append(good, i)
				}
			}
			for _, norm := range []float64{0.5, math.Inf(1)} {
				all, want := make([]float32, len(p)), make([]float32, len(p))
				tally := w.AddClipped(all, batch, upTo(rows), dpsgd.FlatClip(norm))
				require.EqualValues(t, rows-len(good), tally.NonFinite)
				require.False(t, math.IsNaN(tally.Loss))
				// Form the same groups without them: rows from 8 on are in the second.
				var kept dpsgd.Tally
				for from := 0; from < rows; from += w.rows {
					var group []int
					for _, i := range good {
						if i >= from && i < from+w.rows {
							group = append(group, i)
						}
					}
					kept.Clipped += w.AddClipped(want, batch, group, dpsgd.FlatClip(norm)).Clipped
				}
				require.Equal(t, want, all)
				require.Equal(t, kept.Clipped, tally.Clipped)
			}
		})
	}
}

func TestShapesAreChecked(t *testing.T) {
	for want, layers := range map[string][]Layer{
		"put Flatten before":      {Conv2D{Filters: 2, Kernel: 3, Stride: 1}, Dense{Units: 3}},
		"put Flatten somewhere":   {Conv2D{Filters: 2, Kernel: 3, Stride: 1}},
		"Units is 0":              {Flatten{}, Dense{}},
		"Filters is 0":            {Conv2D{Kernel: 3, Stride: 1}},
		"Kernel is 0":             {Conv2D{Filters: 1, Stride: 1}},
		"Stride is 0":             {Conv2D{Filters: 1, Kernel: 2}},
		"Padding is 2":            {Conv2D{Filters: 1, Kernel: 2, Stride: 1, Padding: 2}},
		"smaller than the kernel": {MaxPool{Kernel: 9, Stride: 1}},
		"at most 16":              {MaxPool{Kernel: 17, Stride: 1}},
		"must divide":             {GroupNorm{Groups: 2}},
		"all would become zero":   {Flatten{}, GroupNorm{Groups: 64}},
		"must be a vector of":     {FromChannels{Shape: Image(8, 8, 1)}},
		"no layer has parameters": {Flatten{}, ReLU{}},
		"two outputs":             {Flatten{}, Dense{Units: 1}},
		"layer 1 is nil":          {Flatten{}, nil},
		"layer 2 is nil":          {Flatten{}, &Dense{Units: 2}, (*Dense)(nil)},
		"Weights is 77":           {Flatten{}, Dense{Units: 2, Weights: 77}},
		"Weights is -1":           {Conv2D{Filters: 2, Kernel: 3, Stride: 1, Weights: -1}},
		"2^30":                    {Flatten{}, Dense{Units: 1 << 28}},
	} {
		require.ErrorContains(t, testkit.Err(New(Image(8, 8, 1), CrossEntropy, layers...)), want)
	}
	require.ErrorContains(t, testkit.Err(New(Shape{Rows: 1, Cols: 1}, CrossEntropy, Dense{Units: 2})), "positive")
	require.ErrorContains(t, testkit.Err(New(Vector(2), Loss(7), Dense{Units: 2})), "the loss is 7")
}

func TestDataIsChecked(t *testing.T) {
	m := testkit.Must(NewSoftmax(2, 3))
	x := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	require.NoError(t, m.Check(dpsgd.Data{X: x, Y: []int{0, 2}}))
	require.ErrorContains(t, m.Check(dpsgd.Data{X: x, Y: []int{0, 3}}), "label 3")
	require.ErrorContains(t, m.Check(dpsgd.Data{X: x, Y: []int{-1, 0}}), "label -1")
	require.ErrorContains(t, m.Check(dpsgd.Data{X: x, Y: []int{0}}), "1 labels")
	require.ErrorContains(t, m.Check(dpsgd.Data{X: blas32.General{Rows: 2, Cols: 1, Stride: 1}, Y: []int{0, 1}}), "columns")
	ctx := context.Background()
	require.Error(t, m.Predict(ctx, make([]int, 1), dpsgd.Data{X: x}))
	require.Error(t, m.Logits(ctx, blas32.General{Rows: 2, Cols: 2}, dpsgd.Data{X: x}))
	squared := testkit.Must(New(Vector(2), SquaredError, Dense{Units: 3}))
	y := dense.New(2, 3)
	require.NoError(t, squared.Check(dpsgd.Data{X: x, Targets: y}))
	y.Cols = 2
	require.ErrorContains(t, squared.Check(dpsgd.Data{X: x, Targets: y}), "targets")
}

func TestPredict(t *testing.T) {
	m := testkit.Must(NewSoftmax(2, 3))
	copy(m.Parameters(), []float32{1, 0, 0, 1, -1, -1, 0, 0, 0.5})
	x := blas32.General{Rows: 4, Cols: 2, Stride: 3, Data: []float32{2, 1, 9, 1, 2, 9, -1, -1, 9, 0.5, 0.5, 9}}
	ctx := context.Background()
	got := make([]int, 4)
	require.NoError(t, m.Predict(ctx, got, dpsgd.Data{X: x}))
	require.Equal(t, []int{0, 1, 2, 0}, got, "ties go to the lowest class")
	logits := blas32.General{Rows: 4, Cols: 3, Stride: 4, Data: make([]float32, 15)}
	require.NoError(t, m.Logits(ctx, logits, dpsgd.Data{X: x}))
	require.Equal(t, []float32{2, 1, -2.5, 0}, logits.Data[:4])
	e := testkit.Must(m.Evaluate(ctx, dpsgd.Data{X: x, Y: []int{0, 1, 0, 0}}))
	require.Equal(t, 0.75, e.Accuracy)
	loss := 0.0
	for i, y := range []int{0, 1, 0, 0} {
		row := wide(logits.Data[4*i : 4*i+3])
		loss += math.Log(math.Exp(row[0])+math.Exp(row[1])+math.Exp(row[2])) - row[y]
	}
	require.InDelta(t, loss/4, e.Loss, 1e-6)
	x.Data[0] = float32(math.NaN())
	require.ErrorContains(t, m.Predict(ctx, got, dpsgd.Data{X: x}), "not finite")
	stopped := testkit.Ended()
	require.ErrorIs(t, m.Predict(stopped, got, dpsgd.Data{X: x}), context.Canceled)
	require.NoError(t, m.Predict(stopped, nil, dpsgd.Data{X: blas32.General{Cols: 2, Stride: 2}}))
}

// TestPredictionsAreRowExact checks that a row's outputs do not depend on how many rows are computed.
func TestPredictionsAreRowExact(t *testing.T) {
	m := testkit.Must(NewTutorialCNN(Image(28, 28, 1), 10, rand.New(rand.NewPCG(1, 1))))
	require.Len(t, m.Parameters(), 26010)
	require.Equal(t, []int{16*64 + 16, 32*256 + 32, 512*32 + 32, 32*10 + 10}, m.Groups())
	batch := randomBatch[float32](m.arch, 40, 1)
	x := blas32.General{Rows: 40, Cols: 784, Stride: 784, Data: batch.X}
	all, one := dense.New(40, 10), dense.New(1, 10)
	require.NoError(t, m.Logits(context.Background(), all, dpsgd.Data{X: x}))
	for i := range 40 {
		require.NoError(t, m.Logits(context.Background(), one, dpsgd.Data{X: dense.Rows(x, i, i+1)}))
		require.Equal(t, dense.Row(all, i), one.Data)
	}
}

func TestInit(t *testing.T) {
	a, b := small(t, 1), small(t, 1)
	require.Equal(t, a.Parameters(), b.Parameters())
	require.NotEqual(t, a.Parameters(), small(t, 2).Parameters())
	m := testkit.Must(NewMLP(400, []int{300}, 10, rand.New(rand.NewPCG(2, 2))))
	deviation := func(p []float32) float64 { return normOf(p) / math.Sqrt(float64(len(p))) }
	require.InEpsilon(t, math.Sqrt(2.0/400), deviation(m.Parameters()[:120000]), 0.02)
	require.Zero(t, deviation(m.Parameters()[120000:120300]))
	require.InEpsilon(t, math.Sqrt(2.0/310), deviation(m.Parameters()[120300:123300]), 0.06)
}
