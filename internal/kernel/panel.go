package kernel

import (
	"sync"
	"unsafe"
)

// panelBuffer has room for panels that are used abreast, from an aligned address.
type panelBuffer [(broadest*(mulRun+1) + 1) * tileBytes / 8]uint64

var panelBuffers = sync.Pool{New: func() any { return new(panelBuffer) }}

// turnedBuffer has room for rows of a transposed factor, a quarter of a second-level cache, and for panels
// of the other factor.
type turnedBuffer struct {
	left  [1 << 14]uint64
	right [1<<17 + 1<<11]uint64
}

var turnedBuffers = sync.Pool{New: func() any { return new(turnedBuffer) }}

// panelIn returns the panel in a buffer.
func panelIn[T Float](buffer []uint64) []T {
	const words = tileBytes / 8
	skip := -int(uintptr(unsafe.Pointer(&buffer[0]))/8) & (words - 1)
	buffer = buffer[skip : skip+len(buffer)-words]
	return unsafe.Slice((*T)(unsafe.Pointer(&buffer[0])), len(buffer)*8/int(unsafe.Sizeof(T(0))))
}

// transpose sets depth rows of panel to the columns of b, cols by depth, and fills the rest of each row
// with zeros.
func transpose[T Float](panel, b []T, ldb, cols, depth int) {
	w := width[T]()
	panel = panel[:depth*w]
	turn(panel, w, b, ldb, cols, depth)
	if cols == w {
		return
	}
	for ; len(panel) > 0; panel = panel[w:] {
		clear(panel[cols:w])
	}
}

// Transpose sets dst, n by m, to the transpose of b, m by n.
func Transpose[T Float](dst []T, ldd int, b []T, ldb, m, n int) {
	check(dst, ldd, n, m)
	check(b, ldb, m, n)
	if m > 0 && n > 0 {
		turn(dst, ldd, b, ldb, m, n)
	}
}

// turn sets dst, n by m, to the transpose of b, m by n.
func turn[T Float](dst []T, ldd int, b []T, ldb, m, n int) {
	done := 0 // of eight rows of b
	for i := range m {
		if i%8 == 0 {
			done = 0
			if i+8 <= m {
				done = whole[T](n, 8)
			}
			if done > 0 {
				transpose32(first(dst[i:]), 4*ldd, first(b[i*ldb:]), 4*ldb, done)
			}
		}
		at := i + done*ldd
		for _, v := range b[i*ldb+done : i*ldb+n] {
			dst[at] = v
			at += ldd
		}
	}
}

// gather sets panels, stride elements apart, to depth rows of b, depth by cols. It fills the rest of the
// last one's rows with zeros.
func gather[T Float](panels []T, stride int, b []T, ldb, cols, depth int) {
	w := width[T]()
	for p := range depth {
		at, j := p*w, whole[T](cols, w)
		if j > 0 {
			spread32(first(panels[at:]), 4*stride, first(b[p*ldb:]), j)
			at += j / w * stride
		}
		for ; j < cols; j += w {
			clear(panels[at+copy(panels[at:at+w], b[p*ldb+j:p*ldb+cols]) : at+w])
			at += stride
		}
	}
}
