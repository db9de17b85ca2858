package dpsgd

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

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

// doubled keeps every row as half of itself.
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

// packedSoftmax returns data and the same packed.
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

// A run on packed rows is refused, charged and resumed as any other: what rows hold decides, and
// workers do not.
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

// expecting is a packed worker that keeps what it was told and given.
type expecting struct {
	Worker
	expected, given *[][]int
}

func (w expecting) Expect(rows []int) { *w.expected = append(*w.expected, rows) }

func (w expecting) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	*w.given = append(*w.given, rows)
	return Tally{}
}

// expectingModel is a model whose workers are such.
type expectingModel struct {
	Model
	expected, given [][]int
}

func (m *expectingModel) Worker() Worker {
	return expecting{m.Model.Worker(), &m.expected, &m.given}
}

// One worker is told with which rows its next call begins, but for the last call of a step, and
// that is all: it unpacks rows itself, and one that cannot is told nothing.
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
