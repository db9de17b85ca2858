package dpsgd

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/testkit"
)

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

// fake is a model whose workers add what a function adds.
type fake struct {
	parameters []float32
	print      string
	add        addClipped
}

type addClipped func(sum []float32, data Data, rows []int, clip Clip) Tally

func (m fake) Parameters() []float32 { return m.parameters }
func (m fake) Check(Data) error      { return nil }
func (m fake) Worker() Worker        { return fakeWorker{m.add} }
func (m fake) Fingerprint() []byte   { return []byte(m.print) }

type fakeWorker struct{ add addClipped }

func (fakeWorker) Start() {}
func (w fakeWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	return w.add(sum, data, rows, clip)
}

// newToy returns a model with these parameters, or with one, whose gradient is the record's feature, by the
// first parameter.
func newToy(parameters ...float32) fake {
	if parameters == nil {
		parameters = []float32{0}
	}
	return fake{parameters: parameters, add: addToy}
}

func addToy(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
	for _, i := range rows {
		g := float64(dense.Row(data.X, i)[0])
		if g-g != 0 {
			tally.NonFinite++
			continue
		}
		scale, clipped := clip.Scale(0, math.Abs(g))
		if clipped {
			tally.Clipped++
		}
		sum[0] += float32(scale * g)
	}
	return tally
}

// pair is a model with two parameters, in one group or two, whose gradient is the record.
type pair struct {
	fake
	groups []int
}

func (m pair) Groups() []int { return m.groups }

func newPair(groups ...int) pair {
	return pair{fake{parameters: make([]float32, 2), add: func(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
		groups := groups
		if len(clip.Norms) == 1 {
			groups = []int{2}
		}
		for _, i := range rows {
			low, any := 0, false
			for g, n := range groups {
				x := dense.Row(data.X, i)[low : low+n]
				scale, clipped := clip.Scale(g, normOf(x))
				any = any || clipped
				for j, v := range x {
					sum[low+j] += float32(scale * float64(v))
				}
				low += n
			}
			if any {
				tally.Clipped++
			}
			tally.Loss += math.Abs(float64(dense.Row(data.X, i)[0]))
		}
		return tally
	}}, groups}
}

// Softmax is softmax regression, as plain as the obligations of Worker allow.
type Softmax struct {
	cols, classes int
	parameters    []float32 // W row-major, classes by cols, then b
}

func newSoftmax(cols, classes int) *Softmax {
	return &Softmax{cols: cols, classes: classes, parameters: make([]float32, (cols+1)*classes)}
}

func (m *Softmax) Parameters() []float32 { return m.parameters }
func (m *Softmax) Fingerprint() []byte   { return fmt.Appendf(nil, "softmax %d %d", m.cols, m.classes) }

func (m *Softmax) Check(data Data) error {
	if data.X.Cols != m.cols {
		return fmt.Errorf("dpsgd: the data has %d columns, the model %d", data.X.Cols, m.cols)
	}
	for i, y := range data.Y {
		if y < 0 || y >= m.classes {
			return fmt.Errorf("dpsgd: row %d has label %d, outside 0..%d", i, y, m.classes-1)
		}
	}
	return nil
}

func (m *Softmax) logits(z []float64, x []float32) {
	for k := range z {
		z[k] = float64(m.parameters[m.classes*m.cols+k])
		for j, v := range x {
			z[k] += float64(m.parameters[k*m.cols+j]) * float64(v)
		}
	}
}

// Predict sets dst[i] to the class of row i of x.
func (m *Softmax) Predict(_ context.Context, dst []int, x blas32.General) error {
	z := make([]float64, m.classes)
	for i := range dst {
		m.logits(z, dense.Row(x, i))
		dst[i] = 0
		for k, v := range z {
			if v > z[dst[i]] {
				dst[i] = k
			}
		}
	}
	return nil
}

func (m *Softmax) Worker() Worker {
	return &softmaxWorker{
		Softmax: m, delta: make([]float64, m.classes),
		scaled: make([]float32, 0, MaxRows*m.classes), inputs: make([]float32, 0, MaxRows*m.cols),
	}
}

type softmaxWorker struct {
	*Softmax
	delta          []float64
	scaled, inputs []float32 // of the rows at work
}

func (w *softmaxWorker) Start() {}

func (w *softmaxWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
	scaled, inputs := w.scaled[:0], w.inputs[:0]
	for _, i := range rows {
		x, delta := dense.Row(data.X, i), w.delta
		w.logits(delta, x)
		top, total, square := math.Inf(-1), 0.0, 1.0
		for _, v := range delta {
			top = math.Max(top, v)
		}
		own := delta[data.Y[i]]
		for k, v := range delta {
			delta[k] = math.Exp(v - top)
			total += delta[k]
		}
		for _, v := range x {
			square += float64(v) * float64(v)
		}
		deltas := 0.0
		for k := range delta {
			if delta[k] /= total; k == data.Y[i] {
				delta[k]--
			}
			deltas += delta[k] * delta[k]
		}
		norm := math.Sqrt(deltas * square)
		if norm-norm != 0 {
			tally.NonFinite++
			continue
		}
		scale, clipped := clip.Scale(0, norm)
		if clipped {
			tally.Clipped++
		}
		tally.Loss += top + math.Log(total) - own
		for _, d := range delta {
			scaled = append(scaled, float32(scale*d))
		}
		inputs = append(inputs, x...)
	}
	n := len(scaled) / w.classes
	kernel.AddATB(sum, w.cols, scaled, w.classes, inputs, w.cols, w.classes, w.cols, n)
	kernel.AddRows(sum[w.classes*w.cols:], scaled, w.classes, n, w.classes)
	return tally
}

// TestSoftmaxGolden checks that the model of the tests is right.
func TestSoftmaxGolden(t *testing.T) {
	var g struct {
		Params  layer       `json:"params"`
		Inputs  [][]float64 `json:"inputs"`
		Labels  []int       `json:"labels"`
		Losses  []float64   `json:"losses"`
		Clipped map[string]struct {
			Fraction float64 `json:"fraction_clipped"`
			Sum      layer   `json:"flat_sum"`
		} `json:"clipped"`
	}
	testkit.ReadJSON(t, "nn/testdata/logistic.json", &g)
	narrow := func(x []float64) (y []float32) {
		for _, v := range x {
			y = append(y, float32(v))
		}
		return y
	}
	m := newSoftmax(len(g.Params.W[0]), len(g.Params.W))
	copy(m.parameters, narrow(g.Params.flat()))
	data := Data{X: blas32.General{Rows: len(g.Inputs), Cols: m.cols, Stride: m.cols}, Y: g.Labels}
	var all []int
	losses := 0.0
	for i, x := range g.Inputs {
		data.X.Data = append(data.X.Data, narrow(x)...)
		all = append(all, i)
		losses += g.Losses[i]
	}
	require.Len(t, g.Clipped, 3)
	for name, want := range g.Clipped {
		var norm float64
		require.NoError(t, json.Unmarshal([]byte(name), &norm))
		sum := make([]float32, len(m.parameters))
		tally := m.Worker().AddClipped(sum, data, all, FlatClip(norm))
		for j, v := range want.Sum.flat() {
			require.InDelta(t, v, sum[j], 5e-6)
		}
		require.InDelta(t, losses, tally.Loss, 1e-5)
		require.InDelta(t, want.Fraction*float64(len(all)), float64(tally.Clipped), 1e-9)
	}
}
