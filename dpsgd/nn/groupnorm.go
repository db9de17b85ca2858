package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/kernel"
)

// GroupNorm normalises groups of consecutive channels over all positions of one example, to mean zero and
// variance one. Then GroupNorm scales and shifts every channel (Wu and He 2018). The tensors are the scales
// and the shifts. DP-SGD forbids layers that mix examples, such as batch normalisation.
type GroupNorm struct {
	Groups int // must divide the number of channels
}

const groupEpsilon = 1e-5

func (g GroupNorm) String() string { return fmt.Sprintf("groupnorm %d", g.Groups) }

func (g GroupNorm) Output(in Shape) (Shape, error) {
	switch {
	case g.Groups < 1 || in.Channels%g.Groups != 0:
		return Shape{}, fmt.Errorf("Groups is %d, must divide the %d channels of the input", g.Groups, in.Channels)
	case in.Size() == g.Groups:
		return Shape{}, fmt.Errorf("Groups is %d, as many as the input has values: all would become zero", g.Groups)
	}
	return in, nil
}

func (g GroupNorm) Tensors(in Shape) []int { return []int{in.Channels, in.Channels} }

func (g GroupNorm) Init(parameters []float64, in Shape, _ *rand.Rand) {
	clear(parameters)
	for i := range in.Channels {
		parameters[i] = 1
	}
}

func (g GroupNorm) Workspace(in Shape) int { return in.Size() + 2*in.Channels + g.Groups }

func (g GroupNorm) Float32(in Shape, rows int) Pass[float32] {
	return newGroupPass[float32](g, in, rows)
}

func (g GroupNorm) Float64(in Shape, rows int) Pass[float64] {
	return newGroupPass[float64](g, in, rows)
}

type groupPass[T Float] struct {
	positions, channels, groups int
	parameters                  []T
	normal                      []T       // rows x positions x channels, before scale and shift
	inverse                     []float64 // 1/deviation, rows x groups
	scale, shift                []T       // gradients, rows x channels
	sums                        []float64 // of one row: scales, then shifts
	square                      []float64
}

func newGroupPass[T Float](g GroupNorm, in Shape, rows int) *groupPass[T] {
	return &groupPass[T]{
		positions: in.Rows * in.Cols, channels: in.Channels, groups: g.Groups,
		normal: make([]T, rows*in.Size()), inverse: make([]float64, rows*g.Groups),
		scale: make([]T, rows*in.Channels), shift: make([]T, rows*in.Channels),
		sums: make([]float64, 2*in.Channels), square: make([]float64, rows),
	}
}

func (p *groupPass[T]) Start(parameters []T) { p.parameters = parameters }

func (p *groupPass[T]) each(i, g int, f func(at, first, n int)) {
	n := p.channels / p.groups
	at := i*p.positions*p.channels + g*n
	for range p.positions {
		f(at, g*n, n)
		at += p.channels
	}
}

func (p *groupPass[T]) Forward(y, x []T, rows int) {
	scale, shift := p.parameters[:p.channels], p.parameters[p.channels:]
	count := float64(p.positions * p.channels / p.groups)
	for i := range rows {
		for g := range p.groups {
			mean, variance := 0.0, 0.0
			p.each(i, g, func(at, _, n int) {
				for _, v := range x[at : at+n] {
					mean += float64(v)
				}
			})
			mean /= count
			p.each(i, g, func(at, _, n int) {
				for _, v := range x[at : at+n] {
					d := float64(v) - mean
					variance += d * d
				}
			})
			inverse := 1 / math.Sqrt(variance/count+groupEpsilon)
			p.inverse[i*p.groups+g] = inverse
			p.each(i, g, func(at, first, n int) {
				for k, v := range x[at : at+n] {
					h := T((float64(v) - mean) * inverse)
					p.normal[at+k] = h
					y[at+k] = scale[first+k]*h + shift[first+k]
				}
			})
		}
	}
}

func (p *groupPass[T]) Backward(dx, dy []T, rows int, squares [][]float64) {
	count := float64(p.positions * p.channels / p.groups)
	for i := range rows {
		clear(p.sums)
		dscale, dshift := p.sums[:p.channels], p.sums[p.channels:]
		for g := range p.groups {
			// With the normalised values h and d = dy scale, dx = (d - mean d - h mean(d h))/deviation.
			mean, slope := 0.0, 0.0
			p.each(i, g, func(at, first, n int) {
				for k, h := range p.normal[at : at+n] {
					d, c := float64(dy[at+k]), first+k
					dscale[c] += d * float64(h)
					dshift[c] += d
				}
			})
			n := p.channels / p.groups
			for c := g * n; c < (g+1)*n; c++ {
				mean += float64(p.parameters[c]) * dshift[c]
				slope += float64(p.parameters[c]) * dscale[c]
			}
			if dx == nil {
				continue
			}
			mean, slope = mean/count, slope/count
			inverse := p.inverse[i*p.groups+g]
			p.each(i, g, func(at, first, n int) {
				for k, h := range p.normal[at : at+n] {
					d := float64(dy[at+k]) * float64(p.parameters[first+k])
					dx[at+k] = T(inverse * (d - mean - float64(h)*slope))
				}
			})
		}
		for c := range p.channels {
			p.scale[i*p.channels+c] = T(dscale[c])
			p.shift[i*p.channels+c] = T(dshift[c])
		}
	}
	if squares != nil {
		addSquares(squares[0], p.square, p.scale, p.channels, rows)
		addSquares(squares[1], p.square, p.shift, p.channels, rows)
	}
}

func (p *groupPass[T]) AddScaled(sum []T, rows int, scales [][]T) {
	if scales == nil {
		kernel.AddRows(sum[:p.channels], p.scale, p.channels, rows, p.channels)
		kernel.AddRows(sum[p.channels:], p.shift, p.channels, rows, p.channels)
		return
	}
	addScaledRows(sum[:p.channels], p.scale, rows, scales[0])
	addScaledRows(sum[p.channels:], p.shift, rows, scales[1])
}
