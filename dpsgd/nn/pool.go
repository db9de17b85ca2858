package nn

import (
	"fmt"

	"github.com/pate-go/pate/internal/kernel"
)

// MaxPool is the largest value of each channel in a square window. In a tie, the gradient goes to the
// first of the largest values.
type MaxPool struct {
	plain
	Kernel, Stride int // in positions; Kernel is at most 16
}

func (m MaxPool) String() string { return fmt.Sprintf("maxpool %d stride %d", m.Kernel, m.Stride) }

func (m MaxPool) Output(in Shape) (Shape, error) {
	if m.Kernel > 16 {
		return Shape{}, fmt.Errorf("field Kernel is %d, must be at most 16", m.Kernel)
	}
	return window{kernel: m.Kernel, stride: m.Stride}.output(in, in.Channels)
}

func (m MaxPool) Workspace(in Shape) int {
	out, _ := m.Output(in)
	return out.Size()/4 + 1
}

func (m MaxPool) Float32(in Shape, rows int) Pass[float32] { return newMaxPass[float32](m, in, rows) }
func (m MaxPool) Float64(in Shape, rows int) Pass[float64] { return newMaxPass[float64](m, in, rows) }

type maxPass[T Float] struct {
	plainPass[T]
	pooling
	winner []uint8 // index of the tap with the largest value, for each output
}

func newMaxPass[T Float](m MaxPool, in Shape, rows int) *maxPass[T] {
	p := newPooling(m.Kernel, m.Stride, in)
	return &maxPass[T]{pooling: p, winner: make([]uint8, rows*len(p.origins)*p.run)}
}

type pooling struct {
	size, run     int // number of values of a row, and of a run of windows
	origins, taps []int
}

func newPooling(kernel, stride int, in Shape) pooling {
	w := window{kernel: kernel, stride: stride}
	p := pooling{size: in.Size(), taps: w.taps(in)}
	p.origins, p.run = w.runs(in)
	return p
}

func (p *maxPass[T]) Forward(y, x []T, rows int) {
	n, at := p.run, 0
	for i := range rows {
		for _, origin := range p.origins {
			kernel.MaxTaps(y[at:at+n], p.winner[at:at+n], x[i*p.size+origin:(i+1)*p.size], p.taps)
			at += n
		}
	}
}

func (p *maxPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) {
	n, at := p.run, 0
	clear(dx[:rows*p.size])
	for i := range rows {
		for _, origin := range p.origins {
			kernel.AddToTaps(dx[i*p.size+origin:(i+1)*p.size], p.winner[at:at+n], dy[at:at+n], p.taps)
			at += n
		}
	}
}

// AveragePool is the mean of each channel in a square window.
type AveragePool struct {
	plain
	Kernel, Stride int // in positions
}

func (a AveragePool) String() string {
	return fmt.Sprintf("averagepool %d stride %d", a.Kernel, a.Stride)
}

func (a AveragePool) Output(in Shape) (Shape, error) {
	return window{kernel: a.Kernel, stride: a.Stride}.output(in, in.Channels)
}

func (AveragePool) Workspace(Shape) int                     { return 0 }
func (a AveragePool) Float32(in Shape, _ int) Pass[float32] { return newAveragePass[float32](a, in) }
func (a AveragePool) Float64(in Shape, _ int) Pass[float64] { return newAveragePass[float64](a, in) }

type averagePass[T Float] struct {
	plainPass[T]
	pooling
	share T // weight of one value in a mean
}

func newAveragePass[T Float](a AveragePool, in Shape) *averagePass[T] {
	return &averagePass[T]{pooling: newPooling(a.Kernel, a.Stride, in), share: 1 / T(a.Kernel*a.Kernel)}
}

func (p *averagePass[T]) Forward(y, x []T, rows int) {
	n := p.run
	for i := range rows {
		for _, origin := range p.origins {
			origin += i * p.size
			mean := y[:n]
			y = y[n:]
			clear(mean)
			for _, tap := range p.taps {
				kernel.AddRows(mean, x[origin+tap:], n, 1, n)
			}
			kernel.Scale(mean, p.share, mean)
		}
	}
}

func (p *averagePass[T]) Backward(dx, dy []T, rows int, _ [][]float64) {
	n := p.run
	clear(dx[:rows*p.size])
	for i := range rows {
		for _, origin := range p.origins {
			origin += i * p.size
			for _, tap := range p.taps {
				to := dx[origin+tap : origin+tap+n]
				for c, d := range dy[:n] {
					to[c] += p.share * d
				}
			}
			dy = dy[n:]
		}
	}
}

type window struct{ kernel, stride, padding int }

func (w window) output(in Shape, channels int) (Shape, error) {
	switch {
	case w.kernel < 1:
		return Shape{}, fmt.Errorf("field Kernel is %d, must be positive", w.kernel)
	case w.stride < 1:
		return Shape{}, fmt.Errorf("field Stride is %d, must be positive", w.stride)
	case w.padding < 0 || w.padding >= w.kernel:
		return Shape{}, fmt.Errorf("field Padding is %d, must be in [0, Kernel)", w.padding)
	case in.Rows+2*w.padding < w.kernel || in.Cols+2*w.padding < w.kernel:
		return Shape{}, fmt.Errorf("input %v with padding %d is smaller than the kernel of %d", in, w.padding, w.kernel)
	}
	return Image(w.count(in.Rows), w.count(in.Cols), channels), nil
}

func (w window) count(n int) int { return (n+2*w.padding-w.kernel)/w.stride + 1 }

func (w window) origins(in Shape) []int {
	var offsets []int
	for r := range w.count(in.Rows) {
		for c := range w.count(in.Cols) {
			offsets = append(offsets, (r*w.stride*in.Cols+c*w.stride)*in.Channels)
		}
	}
	return offsets
}

func (w window) runs(in Shape) (origins []int, n int) {
	if w.stride > 1 {
		return w.origins(in), in.Channels
	}
	for r := range w.count(in.Rows) {
		origins = append(origins, r*in.Cols*in.Channels)
	}
	return origins, w.count(in.Cols) * in.Channels
}

func (w window) taps(in Shape) []int {
	var offsets []int
	for r := range w.kernel {
		for c := range w.kernel {
			offsets = append(offsets, (r*in.Cols+c)*in.Channels)
		}
	}
	return offsets
}
