package nn

import (
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

// ReLU is the layer max(x, 0), element by element.
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

// Tanh is the layer of hyperbolic tangents, element by element.
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
