package dpsgd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
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

func (m *Softmax) Predict(_ context.Context, dst []int, data Data) error {
	z := make([]float64, m.classes)
	for i := range dst {
		m.logits(z, dense.Row(data.X, i))
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
	all, losses := upTo(len(g.Inputs)), 0.0
	for i, x := range g.Inputs {
		data.X.Data = append(data.X.Data, narrow(x)...)
		losses += g.Losses[i]
	}
	require.Len(t, g.Clipped, 3)
	for name, want := range g.Clipped {
		var norm float64
		require.NoError(t, json.Unmarshal([]byte(name), &norm))
		sum := make([]float32, len(m.parameters))
		tally := m.Worker().AddClipped(sum, data, all, FlatClip(norm))
		require.InDeltaSlice(t, want.Sum.flat(), sum, 5e-6)
		require.InDelta(t, losses, tally.Loss, 1e-5)
		require.InDelta(t, want.Fraction*float64(len(all)), float64(tally.Clipped), 1e-9)
	}
}

func TestTargetsStandInForLabels(t *testing.T) {
	x := blas32.General{Rows: 2, Cols: 1, Stride: 1, Data: []float32{0.25, 0.5}}
	targets := blas32.General{Rows: 2, Cols: 2, Stride: 3, Data: []float32{1, 2, 9, 3, 4}}
	require.NoError(t, Data{X: x, Targets: targets}.validate())
	require.NoError(t, Data{X: x, Y: []int{0, 1}, Targets: targets}.validate())
	for name, bad := range map[string]Data{
		"0 labels":                    {X: x},
		"1 labels":                    {X: x, Y: []int{1}, Targets: targets},
		"1 rows of targets":           {X: x, Y: []int{0, 1}, Targets: blas32.General{Rows: 1, Cols: 1, Stride: 1, Data: []float32{1}}},
		"targets: the matrix is malf": {X: x, Targets: blas32.General{Rows: 2, Cols: 2, Stride: 1, Data: targets.Data}},
		"target matrix has 2 rows ":   {X: x, Targets: blas32.General{Rows: 2}},
	} {
		require.ErrorContains(t, bad.validate(), name)
	}

	// Every number counts for the noise, and what lies between rows does not.
	sum := func(d Data) float64 {
		return released(t, newToy(), d, SumConfig{ClipNorm: 1, NoiseMultiplier: 1}, 1).Sum[0]
	}
	first := sum(Data{X: x, Targets: targets})
	targets.Data[2] = 7
	require.Equal(t, first, sum(Data{X: x, Targets: targets}))
	targets.Data[4] = 7
	require.NotEqual(t, first, sum(Data{X: x, Targets: targets}))
	require.NotEqual(t, first, sum(Data{X: x, Y: []int{0, 0}}))
}

type doubled struct{ x blas32.General }

func (d doubled) Dims() (rows, cols int) { return d.x.Rows, d.x.Cols }

func (d doubled) Unpack(dst []float32, i int) {
	for j, v := range dense.Row(d.x, i) {
		dst[j] = 2 * v
	}
}

func (d doubled) Hash(int) [sha256.Size]byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(d.x.Cols))
	for i := range d.x.Rows {
		b = sealed.Append(b, dense.Row(d.x, i))
	}
	return sha256.Sum256(b)
}

func packedSoftmax(rows, cols int) (plain, packed Data) {
	plain = Data{X: dense.New(rows, cols), Y: make([]int, rows)}
	half := dense.New(rows, cols)
	for i := range rows {
		plain.Y[i] = i % 3
		for j := range cols {
			v := float32(math.Sin(float64(1 + i*cols + j)))
			half.Data[i*cols+j], plain.X.Data[i*cols+j] = v, 2*v
		}
	}
	return plain, Data{Packed: doubled{half}, Y: plain.Y}
}

// What a worker adds for packed rows has the bits of what it adds for the rows themselves, in any
// order, also for records of several rows.
func TestPackedRowsAddWhatRowsAdd(t *testing.T) {
	plain, packed := packedSoftmax(40, 7)
	model := newSoftmax(7, 3)
	for _, ends := range [][]int{nil, {3, 4, 20, 40}} {
		plain.Ends, packed.Ends = ends, ends
		own, unpacking := forRecords(model, plain).Worker(), forRecords(model, packed).Worker()
		own.Start()
		unpacking.Start()
		for _, records := range [][]int{{0}, {3, 1, 2}, {2, 2}, {1, 0, 3, 2}} {
			want, got := make([]float32, len(model.Parameters())), make([]float32, len(model.Parameters()))
			require.Equal(t, own.AddClipped(want, plain, records, FlatClip(0.5)), unpacking.AddClipped(got, packed, records, FlatClip(0.5)))
			require.Equal(t, want, got)
		}
	}
}

func TestTrainOnPackedRows(t *testing.T) {
	plain, packed := packedSoftmax(300, 7)
	run := func(d Data, workers int) []float32 {
		model := newSoftmax(7, 3)
		cfg := Config{SamplingProbability: 0.2, NoiseMultiplier: 1, ClipNorm: 1, Steps: 5, LearningRate: 1, Workers: workers}
		require.NoError(t, testkit.Err(train(t.Context(), t, model, d, cfg, rng.SeedKey(1))))
		return model.Parameters()
	}
	first := run(packed, 1)
	require.Equal(t, first, run(packed, 3))
	require.NotEqual(t, first, run(plain, 1), "the key of a run is a function of how rows are kept")
	other := doubled{dense.New(300, 7)}
	copy(other.x.Data, packed.Packed.(doubled).x.Data)
	other.x.Data[2099] = 0
	require.NotEqual(t, first, run(Data{Packed: other, Y: packed.Y}, 1))
}

func TestPackedDataIsChecked(t *testing.T) {
	plain, packed := packedSoftmax(2*MaxRows+10, 7)
	model := newSoftmax(7, 3)
	require.NoError(t, checkRun(model, packed, rng.SeedKey(1)))
	for name, change := range map[string]func(d *Data){
		"has rows in X and in Packed": func(d *Data) { d.X = plain.X },
		"521 labels for 522 rows":     func(d *Data) { d.Y = d.Y[1:] },
		"rows from 512 on":            func(d *Data) { d.Y = append([]int(nil), d.Y...); d.Y[515] = 3 },
		"columns":                     func(d *Data) { _, *d = packedSoftmax(522, 6) },
		"has 0 rows":                  func(d *Data) { *d = Data{Packed: doubled{}} },
		"the last record ends at":     func(d *Data) { d.Ends = []int{200, 400} },
	} {
		d := packed
		change(&d)
		require.ErrorContains(t, checkRun(model, d, rng.SeedKey(1)), name)
	}
	cfg := Config{SamplingProbability: 0.2, NoiseMultiplier: 1, ClipNorm: 1, Steps: 5, LearningRate: 1, Public: packed, Observe: func(Metrics) {}}
	require.ErrorContains(t, testkit.Err(Train(t.Context(), model, plain, cfg, nil, rng.SeedKey(1))), "Config.Public is packed")
	values := testkit.Must(MeasureDistances(model, packed, []int{0, 1}, FlatClip(1), Batches))
	want := testkit.Must(MeasureDistances(model, plain, []int{0, 1}, FlatClip(1), Batches))
	require.InDeltaSlice(t, want, values, 1e-6)
	packed.Packed.(doubled).x.Data[9] = float32(math.Inf(1))
	_, err := MeasureDistances(model, packed, []int{0}, FlatClip(1), Batches)
	require.ErrorContains(t, err, "row 1 has a value that is not finite")
}

type expecting struct {
	Worker
	expected, given *[][]int
}

func (w expecting) Expect(rows []int) { *w.expected = append(*w.expected, rows) }

func (w expecting) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	*w.given = append(*w.given, rows)
	return Tally{}
}

type expectingModel struct {
	Model
	expected, given [][]int
}

func (m *expectingModel) Worker() Worker { return expecting{m.Model.Worker(), &m.expected, &m.given} }

func TestWorkersKnowWhatTheyGetNext(t *testing.T) {
	plain, packed := packedSoftmax(3000, 7)
	cfg := Config{SamplingProbability: 0.9, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, Workers: 1}
	without := cfg
	without.NonPrivate, without.NoiseMultiplier = true, 0
	for _, cfg := range []Config{cfg, without} {
		m := &expectingModel{Model: newSoftmax(7, 3)}
		stepOf(t, trainerOf(t, m, packed, cfg, 1))
		require.Len(t, m.given, len(m.expected))
		require.Greater(t, len(m.given), 40)
		for i, rows := range m.given[1:] {
			require.Equal(t, rows, m.expected[i][:len(rows)], "call %d of %d", i, len(m.given))
		}
		require.Empty(t, m.expected[len(m.given)-1])

		m = &expectingModel{Model: newSoftmax(7, 3)}
		stepOf(t, trainerOf(t, m, plain, cfg, 1))
		require.Empty(t, m.expected)
	}
}
