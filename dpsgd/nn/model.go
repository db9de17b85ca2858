package nn

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/internal/sealed"
)

// Model is a sequence of layers with a loss and float32 parameters. It implements [dpsgd.Grouped]. The
// weights and intercepts of a layer form one group.
type Model struct {
	arch       *architecture
	parameters []float32
}

var (
	_ dpsgd.Grouped   = (*Model)(nil)
	_ dpsgd.Predictor = (*Model)(nil)
)

// New returns a model with zero parameters. Every layer must accept the output of the previous layer, and at
// least one layer must have parameters. The output must be a vector, with two or more elements for
// [CrossEntropy].
func New(in Shape, loss Loss, layers ...Layer) (*Model, error) {
	a, err := newArchitecture(in, loss, layers...)
	if err != nil {
		return nil, err
	}
	return &Model{arch: a, parameters: kernel.Make[float32](a.parameters())}, nil
}

// Init sets the parameters to initial values that each layer draws from rnd.
func (m *Model) Init(rnd *rand.Rand) {
	for l, s := range m.arch.spans {
		initial := make([]float64, s.size)
		m.arch.layers[l].Init(initial, m.arch.shapes[l], rnd)
		for i, v := range initial {
			m.parameters[s.parameters+i] = float32(v)
		}
	}
}

// Parameters implements [dpsgd.Model]. It returns the tensors of all layers, in order.
func (m *Model) Parameters() []float32 { return m.parameters }

func (m *Model) Groups() []int {
	var sizes []int
	for _, s := range m.arch.spans {
		if s.count > 0 {
			sizes = append(sizes, s.size)
		}
	}
	return sizes
}

// Fingerprint implements [dpsgd.Model]. The fingerprint describes the architecture. For layers of other
// packages it adds the type, because different types may have the same String.
func (m *Model) Fingerprint() []byte {
	b := []byte("nn 1 " + m.arch.String())
	ours := reflect.TypeFor[Model]().PkgPath()
	for l, layer := range m.arch.layers {
		kind := reflect.TypeOf(layer)
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if path := kind.PkgPath(); path != ours {
			b = fmt.Appendf(b, " | layer %d is %q of %s %v", l, layer.String(), path, kind)
		}
	}
	return b
}

func (m *Model) Check(data dpsgd.Data) error {
	if err := m.checkInput(data); err != nil {
		return err
	}
	outputs := m.arch.output().Size()
	if t := data.Targets; t.Rows > 0 && m.arch.loss == SquaredError {
		if t.Rows != data.X.Rows || t.Cols != outputs || dense.Check(t) != nil {
			return fmt.Errorf("nn: targets are %d x %d, stride %d, %d values; must be %d x %d",
				t.Rows, t.Cols, t.Stride, len(t.Data), data.X.Rows, outputs)
		}
		return nil
	}
	if len(data.Y) != data.X.Rows {
		return fmt.Errorf("nn: %d labels for %d rows", len(data.Y), data.X.Rows)
	}
	for i, y := range data.Y {
		if y < 0 || y >= outputs {
			return fmt.Errorf("nn: row %d has label %d, outside 0..%d", i, y, outputs-1)
		}
	}
	return nil
}

func (m *Model) checkInput(data dpsgd.Data) error {
	_, cols := data.Dims()
	if want := m.arch.input(); cols != want.Size() {
		return fmt.Errorf("nn: the data has %d columns, the model takes %d (%v)", cols, want.Size(), want)
	}
	if data.Packed != nil {
		return nil
	}
	if err := dense.Check(data.X); err != nil {
		return fmt.Errorf("nn: %w", err)
	}
	return nil
}

func (m *Model) Worker() dpsgd.Worker {
	return &modelWorker{model: m, worker: newWorker[float32](m.arch, m.arch.rows())}
}

type modelWorker struct {
	model  *Model
	worker *worker[float32]
}

func (w *modelWorker) Start() { w.worker.Start(w.model.parameters) }

func (w *modelWorker) AddClipped(sum []float32, data dpsgd.Data, rows []int, clip dpsgd.Clip) dpsgd.Tally {
	return w.worker.AddClipped(sum, batchOf(data), rows, clip)
}

func (w *modelWorker) Expect(rows []int) { w.worker.next = rows }

func (w *modelWorker) AppendNorms(dst []float64, data dpsgd.Data, rows []int, clip dpsgd.Clip) []float64 {
	return w.worker.AppendNorms(dst, batchOf(data), rows, clip)
}

func batchOf(data dpsgd.Data) examples[float32] {
	b := examples[float32]{
		X: data.X.Data, Stride: data.X.Stride, Y: data.Y,
		Targets: data.Targets.Data, TargetStride: data.Targets.Stride,
	}
	if data.Packed != nil {
		b.Unpack = data.Packed.Unpack
		if p, ok := data.Packed.(dpsgd.Fetcher); ok {
			b.Fetch = p.Fetch
		}
	}
	return b
}

// NewSoftmax returns softmax regression with logits W x + b, cross-entropy and zero parameters.
func NewSoftmax(cols, classes int) (*Model, error) {
	return New(Vector(cols), CrossEntropy, Dense{Units: classes, Weights: Zero})
}

// NewMLP returns a perceptron with hidden ReLU layers and cross-entropy. Initial parameters are drawn from
// rnd.
func NewMLP(cols int, hidden []int, classes int, rnd *rand.Rand) (*Model, error) {
	var layers []Layer
	for _, units := range hidden {
		layers = append(layers, Dense{Units: units}, ReLU{})
	}
	return started(rnd, Vector(cols), append(layers, Dense{Units: classes, Weights: Glorot})...)
}

func started(rnd *rand.Rand, in Shape, layers ...Layer) (*Model, error) {
	m, err := New(in, CrossEntropy, layers...)
	if err != nil {
		return nil, err
	}
	m.Init(rnd)
	return m, nil
}

// NewTutorialCNN returns the MNIST network of the DP-SGD tutorials of TensorFlow Privacy and Opacus. For
// images of 28 x 28 pixels with one channel it has 26,010 parameters. Initial parameters are drawn from rnd.
func NewTutorialCNN(in Shape, classes int, rnd *rand.Rand) (*Model, error) {
	return started(rnd, in,
		Conv2D{Filters: 16, Kernel: 8, Stride: 2, Padding: 3}, ReLU{}, MaxPool{Kernel: 2, Stride: 1},
		Conv2D{Filters: 32, Kernel: 4, Stride: 2}, ReLU{}, MaxPool{Kernel: 2, Stride: 1},
		Flatten{}, Dense{Units: 32}, ReLU{}, Dense{Units: classes, Weights: Glorot})
}

// fileMagic begins a model file. Then head writes the architecture and the number of parameters. The
// parameters (float32) and the SHA-256 of all preceding bytes follow.
const fileMagic = "pate dpsgd/nn 1\n"

const maxName = 1 << 16

func (m *Model) head() []byte {
	name := m.arch.String()
	b := binary.LittleEndian.AppendUint32([]byte(fileMagic), uint32(len(name)))
	return binary.LittleEndian.AppendUint64(append(b, name...), uint64(len(m.parameters)))
}

// Save writes the architecture and the parameters to w.
func (m *Model) Save(w io.Writer) error {
	if n := len(m.arch.String()); n > maxName {
		return fmt.Errorf("nn: the architecture takes %d bytes to name, more than %d", n, maxName)
	}
	if _, err := w.Write(sealed.Seal(sealed.Append(m.head(), m.parameters))); err != nil {
		return fmt.Errorf("nn: saving a model: %w", err)
	}
	return nil
}

// Load reads exactly one model file of [Model.Save] from r. Load fails if the file is damaged, has another
// architecture or has a parameter that is not finite.
func (m *Model) Load(r io.Reader) error {
	head := m.head()
	b := make([]byte, len(head)+4*len(m.parameters)+sha256.Size)
	n, err := io.ReadFull(r, b)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = m.parse(b[:n], head, len(b))
	}
	if err != nil {
		return fmt.Errorf("nn: loading a model: %w", err)
	}
	return nil
}

func (m *Model) parse(b, head []byte, size int) error {
	switch {
	case !bytes.HasPrefix(b, head):
		return m.foreign(b)
	case len(b) < size:
		return errors.New("the file ends early")
	}
	f, err := sealed.Open(b, string(head))
	if err != nil {
		return err
	}
	parameters := sealed.Numbers[float32](f, len(m.parameters))
	if err := f.End(); err != nil {
		return err
	}
	copy(m.parameters, parameters)
	return nil
}

func (m *Model) foreign(b []byte) error {
	f, err := sealed.Fields(b, fileMagic)
	if err != nil {
		return err
	}
	named := f.Bytes(f.Uint(4))
	count := f.Uint(8)
	if f.Err() != nil {
		return errors.New("the file is for another model, or ends early")
	}
	if name := m.arch.String(); string(named) != name {
		return fmt.Errorf("the file is for %q, the model is %q", named, name)
	}
	return fmt.Errorf("%d parameters for %d", count, len(m.parameters))
}

// Logits sets row i of dst to the outputs for row i of data, on all processors. The size of dst must be
// (number of rows) x (number of outputs). If ctx ends, Logits returns ctx.Err(), and dst is incomplete.
func (m *Model) Logits(ctx context.Context, dst blas32.General, data dpsgd.Data) error {
	if err := m.checkInput(data); err != nil {
		return err
	}
	rows, _ := data.Dims()
	if outputs := m.arch.output().Size(); dst.Rows != rows || dst.Cols != outputs || dense.Check(dst) != nil {
		return fmt.Errorf("nn: outputs of %d rows go into %d x %d, not %d x %d", rows, rows, outputs, dst.Rows, dst.Cols)
	}
	return m.each(ctx, data, func(row int, outputs []float32) error {
		copy(dst.Data[row*dst.Stride:], outputs)
		return nil
	})
}

// Predict sets dst[i] to the index of the largest output for row i of data. In a tie, the lowest index wins.
// Predict uses all processors. An output that is not finite is an error.
func (m *Model) Predict(ctx context.Context, dst []int, data dpsgd.Data) error {
	if err := m.checkInput(data); err != nil {
		return err
	}
	if rows, _ := data.Dims(); len(dst) != rows {
		return fmt.Errorf("nn: classes of %d rows go into %d", rows, len(dst))
	}
	return m.each(ctx, data, func(row int, outputs []float32) (err error) {
		if dst[row], err = dense.Largest(outputs); err != nil {
			return fmt.Errorf("nn: row %d: %w", row, err)
		}
		return nil
	})
}

// Evaluation is the quality of a model on labelled data.
type Evaluation struct {
	Accuracy float64 // fraction of rows whose largest output is at the label's index
	Loss     float64 // mean loss of a row
}

// Evaluate returns the quality of the model on data. The data must be public, because the result is exact.
func (m *Model) Evaluate(ctx context.Context, data dpsgd.Data) (Evaluation, error) {
	if err := m.Check(data); err != nil {
		return Evaluation{}, err
	}
	if len(data.Y) != data.X.Rows || data.X.Rows == 0 {
		return Evaluation{}, fmt.Errorf("nn: %d labels for %d rows; an evaluation needs both", len(data.Y), data.X.Rows)
	}
	batch := batchOf(data)
	losses, right := make([]float64, data.X.Rows), make([]bool, data.X.Rows)
	err := m.each(ctx, data, func(row int, outputs []float32) error {
		class, err := dense.Largest(outputs)
		if err != nil {
			return fmt.Errorf("nn: row %d: %w", row, err)
		}
		right[row] = class == data.Y[row]
		losses[row] = lossAt(m.arch.loss, make([]float32, len(outputs)), outputs, batch, row)
		return nil
	})
	if err != nil {
		return Evaluation{}, err
	}
	var e Evaluation
	for i, loss := range losses {
		e.Loss += loss / float64(len(losses))
		if right[i] {
			e.Accuracy += 1 / float64(len(losses))
		}
	}
	return e, nil
}

func (m *Model) each(ctx context.Context, data dpsgd.Data, f func(row int, outputs []float32) error) error {
	per, n, batch := m.arch.rows(), m.arch.output().Size(), batchOf(data)
	size, _ := data.Dims()
	errs := make([]error, (size+per-1)/per)
	workers := make([]*worker[float32], min(runtime.GOMAXPROCS(0), len(errs)))
	parallel.Each(len(workers), len(errs), func(g, i int) {
		if errs[i] = ctx.Err(); errs[i] != nil {
			return
		}
		if workers[g] == nil {
			workers[g] = newWorker[float32](m.arch, per)
			workers[g].Start(m.parameters)
		}
		w := workers[g]
		var rows []int
		for r := i * per; r < min((i+1)*per, size); r++ {
			rows = append(rows, r)
		}
		w.forward(batch, rows)
		outputs := w.values[len(w.values)-1]
		for k, r := range rows {
			if errs[i] = f(r, outputs[k*n:(k+1)*n]); errs[i] != nil {
				return
			}
		}
	})
	return cmp.Or(errs...)
}
