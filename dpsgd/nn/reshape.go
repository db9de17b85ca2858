package nn

import "fmt"

// Flatten turns any input into a vector: by row, then column, then channel.
type Flatten struct{ plain }

func (Flatten) String() string                        { return "flatten" }
func (Flatten) Output(in Shape) (Shape, error)        { return Vector(in.Size()), nil }
func (Flatten) Workspace(Shape) int                   { return 0 }
func (Flatten) Float32(in Shape, _ int) Pass[float32] { return flattenPass[float32]{size: in.Size()} }
func (Flatten) Float64(in Shape, _ int) Pass[float64] { return flattenPass[float64]{size: in.Size()} }

// flattenPass copies. A model shares the memory instead, and calls nothing.
type flattenPass[T Float] struct {
	plainPass[T]
	size int
}

func (p flattenPass[T]) Forward(y, x []T, rows int)                   { copy(y[:rows*p.size], x) }
func (p flattenPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) { copy(dx[:rows*p.size], dy) }

// FromChannels accepts data laid out by channel, then row, then column. Its input is a vector, its output an
// image. If used it is the first layer.
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

// transpose turns every row of src, an m x n matrix, into its n x m transpose.
func (p channelsPass[T]) transpose(dst, src []T, rows, m, n int) {
	size := m * n
	for i := range rows {
		from, to := src[i*size:(i+1)*size], dst[i*size:(i+1)*size]
		for a := range m {
			for b, v := range from[a*n : (a+1)*n] {
				to[b*m+a] = v
			}
		}
	}
}
