package nn

import (
	"fmt"
	"math"
	"unsafe"
)

// MaxPool takes the largest value of each channel in a square window. If several values are
// equal, it takes the first of them by row, then column.
type MaxPool struct {
	plain
	Kernel, Stride int // positions; Kernel at most 16
}

// String implements [Layer].
func (m MaxPool) String() string { return fmt.Sprintf("maxpool %d stride %d", m.Kernel, m.Stride) }

// Output implements [Layer].
func (m MaxPool) Output(in Shape) (Shape, error) {
	if m.Kernel > 16 {
		return Shape{}, fmt.Errorf("field Kernel is %d, must be at most 16", m.Kernel)
	}
	return window{kernel: m.Kernel, stride: m.Stride}.output(in, in.Channels)
}

// Workspace implements [Layer].
func (m MaxPool) Workspace(in Shape) int {
	out, _ := m.Output(in)
	return out.Size()/4 + 1
}

// Float32 implements [Layer].
func (m MaxPool) Float32(in Shape, rows int) Pass[float32] { return newMaxPass[float32](m, in, rows) }

// Float64 implements [Layer].
func (m MaxPool) Float64(in Shape, rows int) Pass[float64] { return newMaxPass[float64](m, in, rows) }

type maxPass[T Float] struct {
	plainPass[T]
	size, run     int // values of a row, and of a run of windows
	origins, taps []int
	winner        []uint8 // the tap each output came from
	orders, top   []int64 // of the values of one row, and the largest of a window
}

func newMaxPass[T Float](m MaxPool, in Shape, rows int) *maxPass[T] {
	w := window{kernel: m.Kernel, stride: m.Stride}
	p := &maxPass[T]{size: in.Size(), taps: w.taps(in)}
	p.origins, p.run = w.runs(in)
	p.winner = make([]uint8, rows*len(p.origins)*p.run)
	p.orders, p.top = make([]int64, in.Size()), make([]int64, p.run)
	return p
}

func (p *maxPass[T]) Forward(y, x []T, rows int) {
	n := p.run
	at := 0
	single := unsafe.Sizeof(T(0)) == 4
	for i := range rows {
		for j, v := range x[i*p.size : (i+1)*p.size] {
			o := order(v)
			if single {
				o <<= 8 // room for a code
			}
			p.orders[j] = o
		}
		for _, origin := range p.origins {
			if single {
				p.coded(y[at:at+n], p.winner[at:at+n], p.orders[origin:])
			} else {
				p.plain(y[at:at+n], p.winner[at:at+n], p.orders[origin:])
			}
			at += n
		}
	}
}

// coded sets best and winner for a run of windows in single precision. The code of a tap
// stands below the 32 bits of a value's order and is higher for earlier taps. So one
// comparison finds both.
func (p *maxPass[T]) coded(best []T, winner []uint8, orders []int64) {
	const first = math.MaxUint8
	top, last := p.top[:len(best)], len(p.taps)-1
	for t := 0; t <= last; t += 2 {
		a, b := orders[p.taps[t]:], orders[p.taps[min(t+1, last)]:]
		if t == 0 {
			duel(top, a, b)
		} else {
			challenge(top, a, b, int64(first-t))
		}
	}
	for c, o := range top {
		winner[c] = first - uint8(o)
		best[c] = ofOrder[T](o >> 8)
	}
}

// duel sets top to the larger of two values, coded as the first taps.
//
//go:noinline
func duel(top, a, b []int64) {
	a, b = a[:len(top)], b[:len(top)]
	for c := range top {
		top[c] = max(a[c]|math.MaxUint8, b[c]|(math.MaxUint8-1))
	}
}

// challenge replaces every value of top that is below one of two rivals, coded by code and
// the next code. Like duel it is a separate function, to have all registers for itself.
//
//go:noinline
func challenge(top, a, b []int64, code int64) {
	a, b = a[:len(top)], b[:len(top)]
	for c, o := range top {
		top[c] = max(o, a[c]|code, b[c]|(code-1))
	}
}

// plain does what coded does in double precision, where there is no room for codes.
func (p *maxPass[T]) plain(best []T, winner []uint8, orders []int64) {
	for c := range best {
		top, code := orders[c], 0
		for t, tap := range p.taps {
			if o := orders[tap+c]; o > top {
				top, code = o, t
			}
		}
		best[c], winner[c] = ofOrder[T](top), uint8(code)
	}
}

func (p *maxPass[T]) Backward(dx, dy []T, rows int, _ [][]float64) {
	n := p.run
	clear(dx[:rows*p.size])
	at := 0
	for i := range rows {
		for _, origin := range p.origins {
			origin += i * p.size
			for c, t := range p.winner[at : at+n] {
				dx[origin+p.taps[t]+c] += dy[at+c]
			}
			at += n
		}
	}
}

// AveragePool takes the mean of each channel in a square window.
type AveragePool struct {
	plain
	Kernel, Stride int // positions
}

// String implements [Layer].
func (a AveragePool) String() string {
	return fmt.Sprintf("averagepool %d stride %d", a.Kernel, a.Stride)
}

// Output implements [Layer].
func (a AveragePool) Output(in Shape) (Shape, error) {
	return window{kernel: a.Kernel, stride: a.Stride}.output(in, in.Channels)
}

// Workspace implements [Layer]. It needs none.
func (AveragePool) Workspace(Shape) int { return 0 }

// Float32 implements [Layer].
func (a AveragePool) Float32(in Shape, _ int) Pass[float32] { return newAveragePass[float32](a, in) }

// Float64 implements [Layer].
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
