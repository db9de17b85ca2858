package dpsgd

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/kernel"
)

func readJSON(t *testing.T, name string, into any) {
	b, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, into))
}

type layer struct {
	W [][]float64 `json:"W"`
	B []float64   `json:"b"`
}

func (l layer) flat() (f []float64) {
	for _, w := range l.W {
		f = append(f, w...)
	}
	return append(f, l.B...)
}

type logisticGolden struct {
	Params  layer       `json:"params"`
	Inputs  [][]float64 `json:"inputs"`
	Labels  []int       `json:"labels"`
	Logits  [][]float64 `json:"logits"`
	Losses  []float64   `json:"losses"`
	Grads   []layer     `json:"per_example_grads"`
	Norms   []float64   `json:"per_example_norms"`
	Sum     layer       `json:"sum_grads"`
	Clipped map[string]struct {
		Scales   []float64 `json:"scales"`
		Fraction float64   `json:"fraction_clipped"`
		Sum      layer     `json:"flat_sum"`
		Step     struct {
			Rate     float64 `json:"lr"`
			DivideBy float64 `json:"divide_by"`
			Params   layer   `json:"params"`
		} `json:"sgd_step_no_noise"`
	} `json:"clipped"`
}

func convert[T kernel.Float](x []float64) []T {
	y := make([]T, len(x))
	for i, v := range x {
		y[i] = T(v)
	}
	return y
}

func widen[T kernel.Float](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func TestSoftmaxGolden(t *testing.T) {
	t.Run("float64", func(t *testing.T) { checkSoftmaxGolden[float64](t, 1e-9) })
	t.Run("float32", func(t *testing.T) { checkSoftmaxGolden[float32](t, 5e-6) })
}

func checkSoftmaxGolden[T kernel.Float](t *testing.T, tolerance float64) {
	var g logisticGolden
	readJSON(t, "logistic.json", &g)
	classes, cols := len(g.Params.W), len(g.Params.W[0])
	near := func(want []float64, got []T) {
		t.Helper()
		require.InDeltaSlice(t, want, widen(got), tolerance)
	}
	pass := newSoftmaxPass[T](cols, classes)
	pass.load(convert[T](g.Params.flat()))
	var x []T
	all := make([]int, len(g.Inputs))
	for i, in := range g.Inputs {
		x = append(x, convert[T](in)...)
		all[i] = i
	}
	for i := range g.Inputs {
		pass.forward(x[i*cols : (i+1)*cols])
		near(g.Logits[i], pass.logits)
		require.InDelta(t, g.Losses[i], pass.backward(g.Labels[i]), tolerance)
		require.InDelta(t, g.Norms[i], pass.norm(), tolerance)
		sum := make([]T, classes*(cols+1))
		pass.addClipped(sum, x, cols, g.Labels, all[i:i+1], FlatClip(math.Inf(1)))
		near(g.Grads[i].flat(), sum)
	}
	require.Len(t, g.Clipped, 3)
	for name, want := range g.Clipped {
		var clip float64
		require.NoError(t, json.Unmarshal([]byte(name), &clip))
		sum := make([]T, classes*(cols+1))
		tally := pass.addClipped(sum, x, cols, g.Labels, all, FlatClip(clip))
		near(want.Sum.flat(), sum)
		require.InDelta(t, want.Fraction*float64(len(all)), float64(tally.Clipped), 1e-9)
		for i, s := range want.Scales {
			require.InDelta(t, s, math.Min(1, clip/g.Norms[i]), 1e-9)
		}
		parameters, gradient := convert[T](g.Params.flat()), widen(sum)
		for j := range gradient {
			gradient[j] /= want.Step.DivideBy
		}
		o, err := optim.New(optim.Config{}, len(gradient))
		require.NoError(t, err)
		require.True(t, optim.Step(o, parameters, gradient, want.Step.Rate))
		near(want.Step.Params.flat(), parameters)
	}
}

func TestGradientIsThatOfTheLoss(t *testing.T) {
	const cols, classes, h = 5, 3, 1e-5
	rnd := rand.New(rand.NewPCG(1, 2))
	pass := newSoftmaxPass[float64](cols, classes)
	for range 20 {
		parameters, x := make([]float64, classes*(cols+1)), make([]float64, cols)
		for j := range parameters {
			parameters[j] = rnd.NormFloat64()
		}
		for j := range x {
			x[j] = rnd.NormFloat64()
		}
		label := []int{rnd.IntN(classes)}
		loss := func() float64 {
			pass.load(parameters)
			pass.forward(x)
			return pass.backward(label[0])
		}
		pass.load(parameters)
		gradient := make([]float64, len(parameters))
		pass.addClipped(gradient, x, cols, label, []int{0}, FlatClip(math.Inf(1)))
		for j, p := range parameters {
			parameters[j] = p + h
			up := loss()
			parameters[j] = p - h
			down := loss()
			parameters[j] = p
			require.InDelta(t, (up-down)/(2*h), gradient[j], 1e-8)
		}
	}
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

func TestSoftmaxRefusesWhatDoesNotFit(t *testing.T) {
	_, err := NewSoftmax(0, 2)
	require.Error(t, err)
	_, err = NewSoftmax(3, 1)
	require.Error(t, err)
	m, err := NewSoftmax(2, 3)
	require.NoError(t, err)
	x := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	require.ErrorContains(t, m.Check(Data{X: x, Y: []int{0, 3}}), "label 3")
	require.ErrorContains(t, m.Check(Data{X: x, Y: []int{-1, 0}}), "label -1")
	require.ErrorContains(t, m.Check(Data{X: blas32.General{Rows: 2, Cols: 1, Stride: 1}, Y: []int{0, 1}}), "columns")
	require.Error(t, m.Predict(make([]int, 1), x))
	require.Error(t, m.Logits(blas32.General{Rows: 2, Cols: 2}, x))
}

func TestPredict(t *testing.T) {
	m, err := NewSoftmax(2, 3)
	require.NoError(t, err)
	copy(m.Parameters(), []float32{1, 0, 0, 1, -1, -1, 0, 0, 0.5})
	x := blas32.General{Rows: 4, Cols: 2, Stride: 3, Data: []float32{2, 1, 9, 1, 2, 9, -1, -1, 9, 0.5, 0.5, 9}}
	got := make([]int, 4)
	require.NoError(t, m.Predict(got, x))
	require.Equal(t, []int{0, 1, 2, 0}, got, "ties go to the lowest class")
	logits := blas32.General{Rows: 4, Cols: 3, Stride: 3, Data: make([]float32, 12)}
	require.NoError(t, m.Logits(logits, x))
	require.Equal(t, []float32{2, 1, -2.5}, logits.Data[:3])
	x.Data[0] = float32(math.NaN())
	require.ErrorContains(t, m.Predict(got, x), "not finite")
}
