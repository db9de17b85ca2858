package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/kernel"
)

type plain struct{}

func (plain) Tensors(Shape) []int               { return nil }
func (plain) Init([]float64, Shape, *rand.Rand) {}

type plainPass[T Float] struct{}

func (plainPass[T]) Start([]T)                 {}
func (plainPass[T]) AddScaled([]T, int, [][]T) {}

type elementwise struct{ plain }

func (elementwise) Output(in Shape) (Shape, error) { return in, nil }
func (elementwise) Workspace(Shape) int            { return 0 }
func (elementwise) InPlace()                       {}

// ReLU is the layer max(x, 0) on each element.
type ReLU struct{ elementwise }

func (ReLU) String() string                        { return "relu" }
func (ReLU) Float32(in Shape, _ int) Pass[float32] { return &reluPass[float32]{size: in.Size()} }
func (ReLU) Float64(in Shape, _ int) Pass[float64] { return &reluPass[float64]{size: in.Size()} }

type reluPass[T Float] struct {
	plainPass[T]
	size int
	y    []T
}

func (p *reluPass[T]) Forward(y, x []T, rows int) {
	p.y = y[:rows*p.size]
	kernel.Rectify(p.y, x[:len(p.y)])
}

func (p *reluPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) {
	kernel.Gate(dx[:len(p.y)], p.y, dy[:len(p.y)])
}

// Tanh is the layer tanh(x) on each element.
type Tanh struct{ elementwise }

func (Tanh) String() string                        { return "tanh" }
func (Tanh) Float32(in Shape, _ int) Pass[float32] { return &tanhPass[float32]{size: in.Size()} }
func (Tanh) Float64(in Shape, _ int) Pass[float64] { return &tanhPass[float64]{size: in.Size()} }

type tanhPass[T Float] struct {
	plainPass[T]
	size int
	y    []T
}

func (p *tanhPass[T]) Forward(y, x []T, rows int) {
	p.y = y[:rows*p.size]
	for i, v := range x[:len(p.y)] {
		p.y[i] = T(math.Tanh(float64(v)))
	}
}

func (p *tanhPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) {
	dx, dy = dx[:len(p.y)], dy[:len(p.y)]
	for i, v := range p.y {
		dx[i] = dy[i] * (1 - v*v)
	}
}

// Flatten turns an input into a vector, ordered by row, column, channel.
type Flatten struct{ plain }

func (Flatten) String() string                        { return "flatten" }
func (Flatten) Output(in Shape) (Shape, error)        { return Vector(in.Size()), nil }
func (Flatten) Workspace(Shape) int                   { return 0 }
func (Flatten) Float32(in Shape, _ int) Pass[float32] { return flattenPass[float32]{size: in.Size()} }
func (Flatten) Float64(in Shape, _ int) Pass[float64] { return flattenPass[float64]{size: in.Size()} }

type flattenPass[T Float] struct {
	plainPass[T]
	size int
}

func (p flattenPass[T]) Forward(y, x []T, rows int)                   { copy(y[:rows*p.size], x) }
func (p flattenPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) { copy(dx[:rows*p.size], dy) }

// FromChannels turns a vector in the order channel, row, column into an image in the order row, column,
// channel. It must be the first layer.
type FromChannels struct {
	plain
	Shape Shape // of the image
}

func (c FromChannels) String() string { return fmt.Sprintf("from channels %v", c.Shape) }

func (c FromChannels) Output(in Shape) (Shape, error) {
	if !c.Shape.valid() || in != Vector(c.Shape.Size()) {
		return Shape{}, fmt.Errorf("input is %v, must be a vector of the size of %+v", in, c.Shape)
	}
	return c.Shape, nil
}

func (FromChannels) Workspace(Shape) int { return 0 }

func (c FromChannels) Float32(Shape, int) Pass[float32] { return channelsPass[float32]{of: c.Shape} }
func (c FromChannels) Float64(Shape, int) Pass[float64] { return channelsPass[float64]{of: c.Shape} }

type channelsPass[T Float] struct {
	plainPass[T]
	of Shape
}

func (p channelsPass[T]) Forward(y, x []T, rows int) {
	p.transpose(y, x, rows, p.of.Channels, p.of.Rows*p.of.Cols)
}

func (p channelsPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) {
	p.transpose(dx, dy, rows, p.of.Rows*p.of.Cols, p.of.Channels)
}

func (p channelsPass[T]) transpose(dst, src []T, rows, m, n int) {
	size := m * n
	for i := range rows {
		kernel.Transpose(dst[i*size:(i+1)*size], m, src[i*size:(i+1)*size], n, m, n)
	}
}
