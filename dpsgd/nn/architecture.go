package nn

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// architecture is a sequence of layers with a loss at its end, checked to fit together. It holds no
// parameters and does not change.
type architecture struct {
	shapes  []Shape // of the input, then of the output of every layer
	layers  []Layer
	loss    Loss
	tensors []int  // sizes, of all layers
	spans   []span // of every layer
	first   int    // the first layer with parameters
	perRow  int    // values a worker holds for a row, roughly
}

// span is a layer's part of all parameters and of all tensors.
type span struct{ parameters, size, tensors, count int }

// newArchitecture checks that every layer accepts the output of the one before. At least one layer must have
// parameters. The output must be a vector, of two values or more for [CrossEntropy].
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

// String names input, layers with their settings, and loss. Two architectures of the same name compute the
// same function of parameters and data.
func (a *architecture) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v", a.input())
	for _, l := range a.layers {
		fmt.Fprintf(&b, " | %v", l)
	}
	fmt.Fprintf(&b, " | %v", a.loss)
	return b.String()
}

// rows returns how many rows are computed together: enough to make products efficient, and few enough for the
// values of the rows to stay in the cache, or to be small beside the parameters. It is a power of two from 8
// to MaxRows, a function of the architecture alone.
func (a *architecture) rows() int {
	const cache = 1 << 17 // values
	limit := max(cache, 2*a.parameters())
	rows := 8
	for rows < maxRows && 2*rows*a.perRow <= limit {
		rows *= 2
	}
	return rows
}
