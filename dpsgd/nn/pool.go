package nn

import (
	"fmt"

	"github.com/pate-go/pate/internal/kernel"
)

// MaxPool takes the largest value of each channel in a square window, the first of equal ones by row, then
// column.
type MaxPool struct {
	plain
	Kernel, Stride int // positions; Kernel at most 16
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
	size, run     int // values of a row, and of a run of windows
	origins, taps []int
	winner        []uint8 // the tap each output came from
}

func newMaxPass[T Float](m MaxPool, in Shape, rows int) *maxPass[T] {
	w := window{kernel: m.Kernel, stride: m.Stride}
	p := &maxPass[T]{size: in.Size(), taps: w.taps(in)}
	p.origins, p.run = w.runs(in)
	p.winner = make([]uint8, rows*len(p.origins)*p.run)
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

// AveragePool takes the mean of each channel in a square window.
type AveragePool struct {
	plain
	Kernel, Stride int // positions
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
	size, run     int // values of a row, and of a run of windows
	origins, taps []int
	share         T // of one value in a mean
}

func newAveragePass[T Float](a AveragePool, in Shape) *averagePass[T] {
	w := window{kernel: a.Kernel, stride: a.Stride}
	p := &averagePass[T]{size: in.Size(), taps: w.taps(in), share: 1 / T(a.Kernel*a.Kernel)}
	p.origins, p.run = w.runs(in)
	return p
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
				for c, v := range x[origin+tap : origin+tap+n] {
					mean[c] += v
				}
			}
			for c := range mean {
				mean[c] *= p.share
			}
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
