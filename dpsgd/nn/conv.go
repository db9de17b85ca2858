package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/kernel"
)

// Conv2D is a two-dimensional convolution with square kernels that are not flipped (cross-correlation). Its
// tensors are the kernels and the intercepts. The kernels are ordered by filter, row, column, input channel.
type Conv2D struct {
	Filters int
	Kernel  int // positions per side
	Stride  int // in positions
	Padding int // zeros on every side, less than Kernel
	Weights Weights
}

func (c Conv2D) String() string {
	return fmt.Sprintf("conv %d kernel %d stride %d padding %d", c.Filters, c.Kernel, c.Stride, c.Padding)
}

func (c Conv2D) window() window { return window{c.Kernel, c.Stride, c.Padding} }

func (c Conv2D) Output(in Shape) (Shape, error) {
	if c.Filters < 1 {
		return Shape{}, fmt.Errorf("field Filters is %d, must be positive", c.Filters)
	}
	if err := c.Weights.check(); err != nil {
		return Shape{}, err
	}
	return c.window().output(in, c.Filters)
}

func (c Conv2D) taps(in Shape) int      { return c.Kernel * c.Kernel * in.Channels }
func (c Conv2D) Tensors(in Shape) []int { return []int{c.Filters * c.taps(in), c.Filters} }

func (c Conv2D) Init(parameters []float64, in Shape, rnd *rand.Rand) {
	weights := c.Filters * c.taps(in)
	c.Weights.draw(parameters[:weights], c.taps(in), c.Filters*c.Kernel*c.Kernel, rnd)
	clear(parameters[weights:])
}

func (c Conv2D) Workspace(in Shape) int {
	out, _ := c.Output(in)
	return out.Rows*out.Cols*c.taps(in) + c.Filters*(c.taps(in)+1)
}

func (c Conv2D) Float32(in Shape, rows int) Pass[float32] { return newConvPass[float32](c, in, rows) }
func (c Conv2D) Float64(in Shape, rows int) Pass[float64] { return newConvPass[float64](c, in, rows) }

type convPass[T Float] struct {
	in, padded Shape
	window     window
	out        int // number of filters
	taps       int // number of weights of a filter
	positions  int
	places     []int32 // of the lines of all windows in a padded image
	w, b       []T
	forward    kernel.Packed[T] // W^T
	back       kernel.Packed[T] // W
	packed     bool             // whether back holds the parameters of this step

	image     []T // one image with its border of zeros
	windows   []T // rows x positions x taps
	dwindows  []T // of one row
	dy        []T
	weights   []T // gradients: rows x out x taps
	intercept []T // gradients: rows x out
	square    []float64
}

func newConvPass[T Float](c Conv2D, in Shape, rows int) *convPass[T] {
	padded := Image(in.Rows+2*c.Padding, in.Cols+2*c.Padding, in.Channels)
	origins := window{kernel: c.Kernel, stride: c.Stride}.origins(padded)
	var places []int32
	for _, origin := range origins {
		for line := range c.Kernel {
			places = append(places, int32(origin+line*padded.Cols*in.Channels))
		}
	}
	return &convPass[T]{
		in: in, padded: padded, window: c.window(), out: c.Filters, taps: c.taps(in), positions: len(origins), places: places,
		image: make([]T, padded.Size()), windows: make([]T, rows*len(origins)*c.taps(in)),
		dwindows: make([]T, len(origins)*c.taps(in)), square: make([]float64, rows),
	}
}

func (p *convPass[T]) Start(parameters []T) {
	p.w, p.b = parameters[:p.out*p.taps], parameters[p.out*p.taps:]
	p.forward.PackBT(p.w, p.taps, p.out, p.taps)
	p.packed = false
}

func (p *convPass[T]) Forward(y, x []T, rows int) {
	size := p.in.Size()
	for i := range rows {
		p.spread(p.windows[i*p.positions*p.taps:(i+1)*p.positions*p.taps], x[i*size:(i+1)*size])
	}
	positions := rows * p.positions
	p.forward.Mul(y, p.out, p.windows, p.taps, positions)
	kernel.AddToRows(y, p.out, p.b, positions, p.out)
}

func (p *convPass[T]) spread(windows, x []T) {
	if p.window.padding > 0 {
		line, pad := p.in.Cols*p.in.Channels, p.window.padding
		for r := range p.in.Rows {
			copy(p.image[((r+pad)*p.padded.Cols+pad)*p.in.Channels:], x[r*line:(r+1)*line])
		}
		x = p.image
	}
	kernel.CopyRuns(windows, x, p.places)
}

func (p *convPass[T]) gather(dx, windows []T) {
	image := dx
	if p.window.padding > 0 {
		image = p.image
	}
	clear(image)
	kernel.AddRuns(image, windows, p.places)
	if p.window.padding > 0 {
		line, pad := p.in.Cols*p.in.Channels, p.window.padding
		for r := range p.in.Rows {
			copy(dx[r*line:(r+1)*line], p.image[((r+pad)*p.padded.Cols+pad)*p.in.Channels:])
		}
		clear(p.image) // the border must be zero for spread
	}
}

func (p *convPass[T]) Backward(dx, dy []T, rows int, squares [][]float64) {
	p.dy = dy
	n := p.positions
	if dx != nil {
		if !p.packed {
			p.back.PackAB(p.w, p.taps, p.out, p.taps)
			p.packed = true
		}
		size := p.in.Size()
		for i := range rows {
			p.back.Mul(p.dwindows, p.taps, dy[i*n*p.out:], p.out, n)
			p.gather(dx[i*size:(i+1)*size], p.dwindows)
		}
	}
	if squares == nil {
		return
	}
	if p.weights == nil {
		p.weights = make([]T, len(p.square)*p.out*p.taps)
		p.intercept = make([]T, len(p.square)*p.out)
	}
	clear(p.weights[:rows*p.out*p.taps])
	clear(p.intercept[:rows*p.out])
	for i := range rows {
		g := dy[i*n*p.out : (i+1)*n*p.out]
		kernel.AddATB(p.weights[i*p.out*p.taps:], p.taps, g, p.out, p.windows[i*n*p.taps:], p.taps, p.out, p.taps, n)
		kernel.AddRows(p.intercept[i*p.out:(i+1)*p.out], g, p.out, n, p.out)
	}
	addSquares(squares[0], p.square, p.weights, p.out*p.taps, rows)
	addSquares(squares[1], p.square, p.intercept, p.out, rows)
}

func (p *convPass[T]) AddScaled(sum []T, rows int, scales [][]T) {
	w, b := sum[:p.out*p.taps], sum[p.out*p.taps:]
	if scales == nil {
		n := rows * p.positions
		kernel.AddATB(w, p.taps, p.dy, p.out, p.windows, p.taps, p.out, p.taps, n)
		kernel.AddRows(b, p.dy, p.out, n, p.out)
		return
	}
	addScaledRows(w, p.weights, rows, scales[0])
	addScaledRows(b, p.intercept, rows, scales[1])
}

func addSquares[T Float](dst, scratch []float64, g []T, n, rows int) {
	kernel.SquaredNorms(scratch, g, n, rows, n)
	for i, s := range scratch[:rows] {
		dst[i] += s
	}
}

func addScaledRows[T Float](sum, g []T, rows int, scales []T) {
	n := len(sum)
	kernel.AddATB(sum, n, scales, 1, g, n, 1, n, rows)
}

// Weights selects the initial weights of a layer. Initial intercepts are zero.
type Weights int

const (
	// He draws normal weights of variance 2/fan-in, for layers before a ReLU (He et al. 2015).
	He Weights = iota
	// Glorot draws uniform weights of variance 2/(fan-in + fan-out), for layers before a tanh or without
	// activation (Glorot, Bengio 2010).
	Glorot
	// Zero sets all weights to zero, for models that are linear in their parameters. In other models, all
	// units of a layer would stay equal.
	Zero
)

func (w Weights) check() error {
	if w < He || w > Zero {
		return fmt.Errorf("field Weights is %d, must be He, Glorot or Zero", int(w))
	}
	return nil
}

func (w Weights) draw(dst []float64, fanIn, fanOut int, rnd *rand.Rand) {
	switch w {
	case He:
		deviation := math.Sqrt(2 / float64(fanIn))
		for i := range dst {
			dst[i] = deviation * rnd.NormFloat64()
		}
	case Glorot:
		limit := math.Sqrt(6 / (float64(fanIn) + float64(fanOut)))
		for i := range dst {
			dst[i] = limit * (2*rnd.Float64() - 1)
		}
	default:
		clear(dst)
	}
}

type Float interface{ float32 | float64 }

// Shape is the shape of an example between two layers. The example has Rows x Cols positions with Channels
// values each, ordered by row, column, channel. A vector has one position, and one channel for each element.
type Shape struct{ Rows, Cols, Channels int }

func Vector(n int) Shape { return Shape{Rows: 1, Cols: 1, Channels: n} }

func Image(rows, cols, channels int) Shape {
	return Shape{Rows: rows, Cols: cols, Channels: channels}
}

// Size returns the number of values in an example.
func (s Shape) Size() int { return s.Rows * s.Cols * s.Channels }

// String returns a text such as "28x28x1" or, for a vector, "10".
func (s Shape) String() string {
	if s.Rows == 1 && s.Cols == 1 {
		return fmt.Sprint(s.Channels)
	}
	return fmt.Sprintf("%dx%dx%d", s.Rows, s.Cols, s.Channels)
}

const maxSize = 1 << 30

func (s Shape) valid() bool {
	size := 1
	for _, n := range []int{s.Rows, s.Cols, s.Channels} {
		if n < 1 || n > maxSize {
			return false
		}
		if size *= n; size > maxSize {
			return false
		}
	}
	return true
}
