package dpsgd

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/kernel"
)

// Softmax is softmax regression: logits W x + b, cross-entropy loss.
type Softmax struct {
	cols, classes int
	parameters    []float32 // W row-major, classes by cols, then b
}

// NewSoftmax returns a model with all parameters zero, for the given number of
// features and of classes, at least 2.
func NewSoftmax(cols, classes int) (*Softmax, error) {
	if cols < 1 || classes < 2 {
		return nil, fmt.Errorf("dpsgd: softmax regression needs a feature and two classes, got %d and %d", cols, classes)
	}
	return &Softmax{cols: cols, classes: classes, parameters: make([]float32, (cols+1)*classes)}, nil
}

// Parameters implements [Model]: the weights, row-major with a row for each
// class, then the intercepts.
func (m *Softmax) Parameters() []float32 { return m.parameters }

// Fingerprint implements [Model]: the shape says all.
func (m *Softmax) Fingerprint() []byte { return fmt.Appendf(nil, "softmax %d %d", m.cols, m.classes) }

// Check implements [Model].
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

// Worker implements [Model].
func (m *Softmax) Worker() Worker {
	return &softmaxWorker{model: m, pass: newSoftmaxPass[float32](m.cols, m.classes)}
}

// Logits sets row i of dst, x.Rows by classes, to the logits of row i of x.
func (m *Softmax) Logits(dst, x blas32.General) error {
	if x.Cols != m.cols || dst.Rows != x.Rows || dst.Cols != m.classes {
		return fmt.Errorf("dpsgd: logits of %d x %d rows into %d x %d, the model is %d to %d",
			x.Rows, x.Cols, dst.Rows, dst.Cols, m.cols, m.classes)
	}
	pass := newSoftmaxPass[float32](m.cols, m.classes)
	pass.load(m.parameters)
	for i := range x.Rows {
		pass.forward(row(x, i))
		copy(row(dst, i), pass.logits)
	}
	return nil
}

// Predict sets dst[i] to the class of row i of x, the lowest where logits are
// equal. A row that gives a logit which is not finite is an error.
func (m *Softmax) Predict(dst []int, x blas32.General) error {
	if x.Cols != m.cols || len(dst) != x.Rows {
		return fmt.Errorf("dpsgd: predicting %d x %d rows into %d, the model has %d columns", x.Rows, x.Cols, len(dst), m.cols)
	}
	pass := newSoftmaxPass[float32](m.cols, m.classes)
	pass.load(m.parameters)
	for i := range x.Rows {
		pass.forward(row(x, i))
		best := 0
		for k, v := range pass.logits {
			if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Errorf("dpsgd: row %d: a logit is not finite", i)
			}
			if v > pass.logits[best] {
				best = k
			}
		}
		dst[i] = best
	}
	return nil
}

type softmaxWorker struct {
	model *Softmax
	pass  *softmaxPass[float32]
}

func (w *softmaxWorker) Start() { w.pass.load(w.model.parameters) }

func (w *softmaxWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	return w.pass.addClipped(sum, data.X.Data, data.X.Stride, data.Y, rows, clip)
}

// softmaxPass is the forward and backward pass in either precision; float64 is
// for tests.
type softmaxPass[T kernel.Float] struct {
	cols, classes int
	stride        int
	weights       []T // aligned, padded copy
	bias          []T
	input         []T // aligned copy of the row at work
	logits        []T
	delta         []float64 // gradient of the loss by the logits
	scaled        []T       // rows of clipped deltas
	inputs        [][]T
}

func newSoftmaxPass[T kernel.Float](cols, classes int) *softmaxPass[T] {
	stride := kernel.Padded[T](cols)
	return &softmaxPass[T]{
		cols: cols, classes: classes, stride: stride,
		weights: kernel.Aligned[T](classes * stride),
		bias:    make([]T, classes),
		input:   kernel.Aligned[T](cols),
		logits:  make([]T, classes),
		delta:   make([]float64, classes),
	}
}

func (p *softmaxPass[T]) load(parameters []T) {
	for k := range p.classes {
		copy(p.weights[k*p.stride:], parameters[k*p.cols:(k+1)*p.cols])
	}
	copy(p.bias, parameters[p.classes*p.cols:])
}

func (p *softmaxPass[T]) forward(x []T) {
	copy(p.input, x)
	kernel.MulVec(p.logits, p.weights, p.stride, p.input)
	for k, b := range p.bias {
		p.logits[k] += b
	}
}

// backward takes the logits to the loss and to delta, softmax minus the one-hot
// label.
func (p *softmaxPass[T]) backward(label int) (loss float64) {
	top := math.Inf(-1)
	for _, v := range p.logits {
		top = math.Max(top, float64(v)) // NaN stays NaN
	}
	total := 0.0
	for k, v := range p.logits {
		p.delta[k] = math.Exp(float64(v) - top)
		total += p.delta[k]
	}
	for k := range p.delta {
		p.delta[k] /= total
	}
	p.delta[label]--
	return top + math.Log(total) - float64(p.logits[label])
}

// norm is that of the gradient delta (x, 1)^T, whose square is a product.
func (p *softmaxPass[T]) norm() float64 {
	square := 0.0
	for _, d := range p.delta {
		square += d * d
	}
	return math.Sqrt(square * (kernel.SquaredNorm(p.input) + 1))
}

// addClipped is Worker.AddClipped. Norm and scale are computed in double
// precision, with a relative error of at most 2^-52 (cols + classes), and the
// scaled deltas are rounded towards zero, which shrinks a contribution. Its
// elements are their products with the input, each rounded once more: by 2^-24
// relative in float32, 2^-53 in float64. So a contribution exceeds the clip norm
// by no more than about 2^-24 + 2^-52 (cols + classes), relative, which is below
// 2^-20 up to 2^31 columns and classes.
func (p *softmaxPass[T]) addClipped(sum, x []T, stride int, labels, rows []int, clip Clip) Tally {
	var tally Tally
	p.scaled, p.inputs = p.scaled[:0], p.inputs[:0]
	for _, i := range rows {
		input := x[i*stride : i*stride+p.cols]
		p.forward(input)
		loss := p.backward(labels[i])
		norm := p.norm()
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			tally.NonFinite++
			continue
		}
		scale, clipped := clip.Scale(0, norm)
		if clipped {
			tally.Clipped++
		}
		tally.Loss += loss
		for _, d := range p.delta {
			p.scaled = append(p.scaled, towardsZero[T](scale*d))
		}
		p.inputs = append(p.inputs, input)
	}
	kernel.AddOuter(sum[:p.classes*p.cols], p.cols, p.scaled, p.inputs)
	bias := sum[p.classes*p.cols:]
	for i := range p.inputs {
		for k, d := range p.scaled[i*p.classes : (i+1)*p.classes] {
			bias[k] += d
		}
	}
	return tally
}

// towardsZero rounds v to the next value of T that is not larger in magnitude.
func towardsZero[T kernel.Float](v float64) T {
	f := T(v)
	if math.Abs(float64(f)) > math.Abs(v) {
		f = T(math.Nextafter32(float32(f), 0))
	}
	return f
}
