package neighbours

import (
	"math"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
)

// rowsAtOnce is how many private rows are multiplied together.
const rowsAtOnce = 192

// target is public rows, laid out to be multiplied by.
type target struct {
	packed kernel.Packed[float32]
	norms  []float64
	rows   int
}

func newTarget(x dense.Matrix) *target {
	t := &target{rows: x.Rows, norms: make([]float64, x.Rows)}
	t.packed.PackBT(x.Data, x.Stride, x.Rows, x.Cols)
	kernel.SquaredNorms(t.norms, x.Data, x.Stride, x.Rows, x.Cols)
	return t
}

// distances sets dst, of to-from rows and as many columns as the target has rows, to squared
// distances. Element (i, j) depends on row from+i and on the target alone. What overflows is
// infinitely far.
func (t *target) distances(dst []float32, g grouped, from, to int) {
	t.packed.Mul(dst, t.rows, g.x.Data[from*g.x.Stride:], g.x.Stride, to-from)
	for i := range to - from {
		out, norm := dst[i*t.rows:(i+1)*t.rows], g.norms[from+i]
		for j, dot := range out {
			d := float32(norm + t.norms[j] - 2*float64(dot))
			if !(d <= math.MaxFloat32 && d >= -math.MaxFloat32) {
				d = float32(math.Inf(1))
			}
			out[j] = d
		}
	}
}

// near is a place and how far it is.
type near struct {
	distance float32
	at       int
}

// nearest keeps the first k of what is offered in ascending order of at: a heap with the
// last of them on top.
type nearest struct {
	k    int
	kept []near
}

func (n *nearest) reset(k int) { n.k, n.kept = k, n.kept[:0] }

// after reports whether a comes later than b in the order of distances, and of places where
// these are equal.
func after(a, b near) bool {
	return a.distance > b.distance || a.distance == b.distance && a.at > b.at
}

// offer keeps a place if it is among the first k so far. A place as far as the last one kept
// comes after it, as places are offered in order.
func (n *nearest) offer(distance float32, at int) {
	h := n.kept
	if len(h) < n.k {
		h = append(h, near{distance, at})
		n.kept = h
		for i := len(h) - 1; i > 0; {
			up := (i - 1) / 2
			if !after(h[i], h[up]) {
				break
			}
			h[i], h[up] = h[up], h[i]
			i = up
		}
		return
	}
	if !(distance < h[0].distance) {
		return
	}
	h[0] = near{distance, at}
	for i := 0; ; {
		last := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if after(h[c], h[last]) {
				last = c
			}
		}
		if last == i {
			return
		}
		h[i], h[last] = h[last], h[i]
		i = last
	}
}
