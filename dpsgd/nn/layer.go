package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// Layer is a stage of a model: a function of an input and of parameters. A Layer holds settings but no state.
// The state is in a [Pass].
//
// To write a layer, implement its Pass as one generic type. The methods Float32 and Float64 then need one
// line each. Package nntest checks all obligations of a Layer and a Pass.
type Layer interface {
	// String describes the layer for Model.Fingerprint, with every setting that affects its function.
	String() string
	// Output returns the output shape for the input shape `in`, or an error if the settings are unsuitable.
	Output(in Shape) (Shape, error)
	// Tensors returns the size of each parameter tensor, in order. Output must accept the shape `in`.
	Tensors(in Shape) []int
	// Init sets the initial parameters.
	Init(parameters []float64, in Shape, rnd *rand.Rand)
	// Workspace returns roughly the number of values that a Pass stores per row. This number determines how
	// many rows are computed together.
	Workspace(in Shape) int
	// Float32 and Float64 return a Pass for at most the given number of rows.
	Float32(in Shape, rows int) Pass[float32]
	Float64(in Shape, rows int) Pass[float64]
}

// Pass computes one layer in one goroutine. For each group of rows the calls come in the order Forward,
// Backward, AddScaled. The calls for a group may end after Forward or after Backward. Matrices are dense and
// row-major, with one row per example. A Pass must not change its inputs. If the layer has parameters, x and
// dy do not change until AddScaled returns. The buffer y may change when the next layer's Forward is called.
//
// Row exactness: the results for one row depend only on the parameters and on this row's inputs, to the last
// bit. The number of rows, the row's index and memory addresses have no effect. The results are y, dx,
// squares, and the sum that AddScaled computes for only this row. See obligation 1 of [dpsgd.Worker].
type Pass[T Float] interface {
	// Start sets the parameters, which stay valid and constant until the next Start.
	Start(parameters []T)
	// Forward sets y to the layer's outputs for x.
	Forward(y, x []T, rows int)
	// Backward computes the gradient dx of each row's loss with respect to x, unless dx is nil. The argument
	// dy is the gradient with respect to y.
	//
	// Let g be the computed gradient of row i's loss with respect to tensor k. With scale one, AddScaled adds
	// g. Backward adds a bound on the squared norm of g to squares[k][i], unless squares is nil. The bound is
	// at least |g|^2 (1 - 2^-22). The layer documents how much the bound may exceed |g|^2. The bound is NaN
	// or +Inf if g is not finite, or if underflow in scaling could lose relative precision.
	Backward(dx, dy []T, rows int, squares [][]float64)
	// AddScaled adds the gradients of all rows to sum, which has the layout of the parameters. The gradient
	// of row i with respect to tensor k is multiplied by scales[k][i]. Tensors with equal scales share one
	// slice. If Backward got nil for squares, the argument scales is nil, and every scale is one.
	//
	// Scales are in [0, 2^60]. If Backward's bounds for a row are finite, its scaled gradient and all
	// intermediate results must be finite. If a gradient is a product of factors, a scaled factor must not
	// overflow, even if another factor is zero.
	//
	// The rounding error is at most gamma_n times the sum of the norms of the scaled gradients. Here gamma_n
	// = n u/(1 - n u), and u is the unit roundoff. For at most 48 rows, n is rows + 2. For more rows, n is
	// rows/48 + 51. For this bound, sum first over the positions of one row. Then sum runs of at most 48
	// rows, then the runs.
	AddScaled(sum []T, rows int, scales [][]T)
}

// InPlace is a [Layer] with passes that can overwrite their input. Input and output have the same size. A
// caller may pass y == x to Forward, and dx == dy to Backward. Backward must not read x. Between Forward and
// Backward y does not change, so Backward may read y.
type InPlace interface {
	Layer
	// InPlace marks a layer that satisfies the obligations of this interface.
	InPlace()
}

type architecture struct {
	shapes  []Shape // of the input, then of each layer's output
	layers  []Layer
	loss    Loss
	tensors []int  // number of values of each tensor, over all layers
	spans   []span // one per layer
	first   int    // index of the first layer with parameters
	perRow  int    // approximate number of values per row in a worker
}

type span struct{ parameters, size, tensors, count int }

func newArchitecture(in Shape, loss Loss, layers ...Layer) (*architecture, error) {
	if !in.valid() {
		return nil, fmt.Errorf("nn: the input is %+v; all of it must be positive and the product at most 2^30", in)
	}
	if loss != CrossEntropy && loss != SquaredError {
		return nil, fmt.Errorf("nn: the loss is %d; must be CrossEntropy or SquaredError", int(loss))
	}
	a := &architecture{shapes: []Shape{in}, layers: slices.Clone(layers), loss: loss, first: -1, perRow: in.Size()}
	total := 0
	for l, layer := range a.layers {
		if v := reflect.ValueOf(layer); layer == nil || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("nn: layer %d is nil", l)
		}
		in := a.shapes[l]
		out, err := layer.Output(in)
		if err != nil {
			return nil, fmt.Errorf("nn: layer %d, %T: %w", l, layer, err)
		}
		if !out.valid() {
			return nil, fmt.Errorf("nn: layer %d, %T: the output would be %+v", l, layer, out)
		}
		s := span{parameters: total, tensors: len(a.tensors)}
		for _, size := range layer.Tensors(in) {
			if size < 1 || size > maxSize || s.parameters+s.size+size > maxSize {
				return nil, fmt.Errorf("nn: layer %d, %T: a tensor of %d parameters, more than 2^30 in all, or none", l, layer, size)
			}
			a.tensors = append(a.tensors, size)
			s.size += size
			s.count++
		}
		if s.count > 0 && a.first < 0 {
			a.first = l
		}
		total += s.size
		a.spans = append(a.spans, s)
		a.shapes = append(a.shapes, out)
		a.perRow += 2*out.Size() + layer.Workspace(in)
	}
	out := a.output()
	switch {
	case a.first < 0:
		return nil, errors.New("nn: no layer has parameters")
	case out.Rows != 1 || out.Cols != 1:
		return nil, fmt.Errorf("nn: the output is %v, must be a vector: put Flatten somewhere", out)
	case loss == CrossEntropy && out.Size() < 2:
		return nil, errors.New("nn: cross-entropy needs two outputs or more")
	}
	return a, nil
}

func (a *architecture) input() Shape { return a.shapes[0] }

func (a *architecture) output() Shape { return a.shapes[len(a.shapes)-1] }

func (a *architecture) parameters() int {
	last := a.spans[len(a.spans)-1]
	return last.parameters + last.size
}

func (a *architecture) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", a.input())
	for _, l := range a.layers {
		fmt.Fprintf(&b, " | %v", l)
	}
	fmt.Fprintf(&b, " | %v", a.loss)
	return b.String()
}

// rows returns how many rows are computed together: a power of two from 8 to maxRows. The number must depend
// only on the architecture (see AddClipped of worker).
func (a *architecture) rows() int {
	const cache = 1 << 17 // values
	limit := max(cache, 2*a.parameters())
	rows := 8
	for rows < maxRows && 2*rows*a.perRow <= limit {
		rows *= 2
	}
	return rows
}
