package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
)

// Layer is a stage of a model: a function of its input and of parameters. It is a plain value with settings
// and no state. Its working memory is a [Pass].
//
// To write your own layer, implement this interface with one generic type that is a Pass. Float32 and Float64
// are then one line each. The tests of package nntest check all obligations of a Layer and a Pass.
type Layer interface {
	// String describes the layer and every setting that shapes its function. It distinguishes models whose
	// gradients may differ: see Fingerprint of [dpsgd.Model].
	String() string
	// Output returns the shape of the output for an input of the given shape, or an error with the setting
	// that does not fit.
	Output(in Shape) (Shape, error)
	// Tensors returns the number of values of each tensor of parameters, in the order of their layout, or nil
	// if there are none. Here and below, in is a shape that Output accepts.
	Tensors(in Shape) []int
	// Init sets the initial values of the parameters.
	Init(parameters []float64, in Shape, rnd *rand.Rand)
	// Workspace returns roughly how many values per row a Pass keeps in its own memory. The number of rows
	// that are computed together depends on it.
	Workspace(in Shape) int
	// Float32 and Float64 return working memory for up to the given number of rows at a time.
	Float32(in Shape, rows int) Pass[float32]
	Float64(in Shape, rows int) Pass[float64]
}

// Pass computes one layer, for one goroutine. The calls for a group of rows come in the order Forward,
// Backward, AddScaled; later calls may be left out. Matrices are dense and row-major with one row per
// example. The buffers x and dy of a layer with parameters do not change until AddScaled has returned. The
// buffer y stays unchanged only until the next layer's Forward. A Pass does not change its inputs.
//
// Row exactness: the results for one row depend on parameters and on this row's inputs alone, to the last
// bit. They do not depend on the number of rows, on the row's place among them, or on addresses. This holds
// for y and dx of the row, for its squares, and for the sum of AddScaled if it is the only row. See
// obligation 1 of [dpsgd.Worker].
type Pass[T Float] interface {
	// Start announces new parameters. They stay valid and fixed until the next Start.
	Start(parameters []T)
	// Forward sets y to the layer's values at x.
	Forward(y, x []T, rows int)
	// Backward computes dx, the gradient of each row's loss with respect to x, from dy, the gradient with
	// respect to y. If dx is nil, it is not needed.
	//
	// Let g be the gradient of row i's loss with respect to tensor k, as AddScaled adds it for a scale of
	// one. Backward adds a number to squares[k][i]. It is at least the squared norm of g times 1 - 2^-22, and
	// exceeds the squared norm by no more than the layer documents. It is NaN or +Inf if g is not finite, or
	// if scaling could lose relative precision in g by underflow. If squares is nil, it is not needed.
	Backward(dx, dy []T, rows int, squares [][]float64)
	// AddScaled adds the gradients of all rows to sum, with tensor k of row i scaled by scales[k][i]. The
	// slice sum is laid out like the parameters. Tensors with the same scales share one slice. If Backward
	// got no squares, scales is nil and every scale is one.
	//
	// Scales are in [0, 2^60], above one if clipping lengthens short gradients. If the squares of a row are
	// finite, its scaled gradient must be finite, and so must all intermediate results: a scale applied to a
	// factor of the gradient must not overflow there, not even if the other factor is zero.
	//
	// The rounding error is at most gamma_n times the sum of the norms of the scaled gradients. Here n is
	// rows + 2 up to 48 rows and rows/48 + 51 above, gamma_n = n u/(1 - n u), and u is the unit roundoff. To
	// achieve this, sum rows in runs of at most 48, and then the runs. A gradient that is itself a sum over
	// positions must therefore be computed for its row first, alone.
	AddScaled(sum []T, rows int, scales [][]T)
}

// InPlace is implemented by a [Layer] whose passes can work in place, which saves memory traffic. Its input
// and output have the same size. Forward may have y == x, and Backward dx == dy. Backward needs no x. It may
// read the y of Forward, which nothing changes before Backward: unlike the buffers of other layers, the
// buffers of such a layer are its own.
type InPlace interface {
	Layer
	// InPlace does nothing. It marks a layer that meets these obligations.
	InPlace()
}

// architecture is a sequence of layers with a loss at its end, checked to fit together. It holds no
// parameters and does not change.
type architecture struct {
	shapes  []Shape // of the input, then of the output of every layer
	layers  []Layer
	loss    Loss
	tensors []int  // sizes, of all layers
	spans   []span // of every layer
	first   int    // index of the first layer with parameters
	perRow  int    // approximate number of values a worker holds per row
}

// span is the part of a layer in all parameters and in all tensors.
type span struct{ parameters, size, tensors, count int }

// newArchitecture checks that every layer accepts the output of the layer before. At least one layer must
// have parameters. The output must be a vector, with two or more values for [CrossEntropy].
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

// output returns the shape of the model's outputs for one example, a vector.
func (a *architecture) output() Shape { return a.shapes[len(a.shapes)-1] }

func (a *architecture) parameters() int {
	last := a.spans[len(a.spans)-1]
	return last.parameters + last.size
}

// String describes input, layers with their settings, and loss. Two architectures with the same text compute
// the same function of parameters and data.
func (a *architecture) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", a.input())
	for _, l := range a.layers {
		fmt.Fprintf(&b, " | %v", l)
	}
	fmt.Fprintf(&b, " | %v", a.loss)
	return b.String()
}

// rows returns the number of rows that are computed together: enough to make products efficient, and few
// enough for the values of the rows to stay in the cache, or to be few compared with the parameters. It is a
// power of two from 8 to MaxRows and depends on the architecture alone.
func (a *architecture) rows() int {
	const cache = 1 << 17 // values
	limit := max(cache, 2*a.parameters())
	rows := 8
	for rows < maxRows && 2*rows*a.perRow <= limit {
		rows *= 2
	}
	return rows
}
