package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/kernel"
)

// Dense is a fully connected layer W x + b on vectors. Its tensors are W (row-major, one row per unit) and b.
type Dense struct {
	Units   int
	Weights Weights // initial values of W
}

func (d Dense) String() string { return fmt.Sprintf("dense %d", d.Units) }

func (d Dense) Output(in Shape) (Shape, error) {
	switch {
	case d.Units < 1:
		return Shape{}, fmt.Errorf("field Units is %d, must be positive", d.Units)
	case in.Rows != 1 || in.Cols != 1:
		return Shape{}, fmt.Errorf("input is %v, must be a vector: put Flatten before", in)
	}
	return Vector(d.Units), d.Weights.check()
}

func (d Dense) Tensors(in Shape) []int { return []int{d.Units * in.Channels, d.Units} }

func (d Dense) Init(parameters []float64, in Shape, rnd *rand.Rand) {
	weights := d.Units * in.Channels
	d.Weights.draw(parameters[:weights], in.Channels, d.Units, rnd)
	clear(parameters[weights:])
}

func (d Dense) Workspace(Shape) int                      { return d.Units }
func (d Dense) Float32(in Shape, rows int) Pass[float32] { return newDensePass[float32](d, in, rows) }
func (d Dense) Float64(in Shape, rows int) Pass[float64] { return newDensePass[float64](d, in, rows) }

// A row's gradient with respect to W is the outer product of dy and x, with squared norm |dy|^2 |x|^2. The
// gradient with respect to b is dy. One matrix product sums the scaled gradients of all rows.

// densePass computes norms and sums of the rows' gradients without storing a gradient per row (Goodfellow
// 2015).
type densePass[T Float] struct {
	in, out int
	w, b    []T
	forward kernel.Packed[T] // W^T, if there are more than skinny units
	back    kernel.Packed[T] // W
	packed  bool             // whether back holds the parameters of this step
	x, dy   []T              // of the current rows
	scaled  []T              // scaled rows of dy
	xx, gg  []float64
	ahead   *ahead // nil unless x is rows of the data
}

const skinny = 16

func newDensePass[T Float](d Dense, in Shape, rows int) *densePass[T] {
	return &densePass[T]{
		in: in.Channels, out: d.Units, scaled: make([]T, rows*d.Units), xx: make([]float64, rows), gg: make([]float64, rows),
	}
}

func (p *densePass[T]) Start(parameters []T) {
	p.w, p.b = parameters[:p.out*p.in], parameters[p.out*p.in:]
	p.packed = false
	if p.out > skinny {
		p.forward.PackBT(p.w, p.in, p.out, p.in)
	}
}

func (p *densePass[T]) Forward(y, x []T, rows int) {
	p.x = x
	if p.out > skinny {
		p.forward.Mul(y, p.out, x, p.in, rows)
	} else {
		kernel.MulBT(y, p.out, x, p.in, p.w, p.in, rows, p.out, p.in)
	}
	kernel.AddToRows(y, p.out, p.b, rows, p.out)
}

// A row of dy clipped to C has norm C/|x|. Below the normal float32 range, an element of the row has a
// rounding error of 2^-150. For |x| <= 2^64, C >= 2^-40 and 2^46 units, the error of the product is below
// 2^-21 C. If x is short, the scale may exceed one. A row of dy of norm at most 2^64 stays finite under
// scales up to 2^60.

// steep limits the squared norms of rows of x (inputs) and dy (gradients of the outputs). A row above steep
// counts as not finite.
const steep = 0x1p128

func (p *densePass[T]) Backward(dx, dy []T, rows int, squares [][]float64) {
	p.dy = dy
	if dx != nil {
		if !p.packed {
			p.back.PackAB(p.w, p.in, p.out, p.in)
			p.packed = true
		}
		p.back.Mul(dx, p.in, dy, p.out, rows)
	}
	if squares == nil {
		return
	}
	kernel.SquaredNorms(p.xx, p.x, p.in, rows, p.in)
	kernel.SquaredNorms(p.gg, dy, p.out, rows, p.out)
	for i := range rows {
		if p.xx[i] > steep || p.gg[i] > steep {
			p.xx[i] = math.Inf(1)
		}
		squares[0][i] += p.gg[i] * p.xx[i]
		squares[1][i] += p.gg[i]
	}
}

func (p *densePass[T]) AddScaled(sum []T, rows int, scales [][]T) {
	w, b := sum[:p.out*p.in], sum[p.out*p.in:]
	g := p.dy
	if scales != nil {
		g = p.scaled
		scaleRows(g, p.dy, p.out, rows, scales[0])
	}
	addATB(p.ahead, w, g, p.x, p.out, p.in, rows)
	if scales != nil && &scales[0][0] != &scales[1][0] {
		scaleRows(g, p.dy, p.out, rows, scales[1])
	}
	kernel.AddRows(b, g, p.out, rows, p.out)
}

func scaleRows[T Float](dst, src []T, n, rows int, scales []T) {
	for i := range rows {
		kernel.Scale(dst[i*n:(i+1)*n], scales[i], src[i*n:(i+1)*n])
	}
}
