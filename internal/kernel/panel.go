package kernel

import "unsafe"

// A panel lies on the stack. Small products have a buffer of their own, so that they do not
// clear the memory of large ones. Each buffer has room for its rows, of a tile's width,
// from an aligned address.
type (
	panelBuffer      [(mulRun + 1) * tileBytes / 8]uint64
	smallPanelBuffer [(smallRun + 1) * tileBytes / 8]uint64
)

// panelIn returns the panel in a buffer.
func panelIn[T Float](buffer []uint64) []T {
	const words = tileBytes / 8
	skip := -int(uintptr(unsafe.Pointer(&buffer[0]))/8) & (words - 1)
	buffer = buffer[skip : skip+len(buffer)-words]
	return unsafe.Slice((*T)(unsafe.Pointer(&buffer[0])), len(buffer)*8/int(unsafe.Sizeof(T(0))))
}

// transpose sets depth rows of panel to the columns of b, cols by depth, and fills the rest
// of each row with zeros.
func transpose[T Float](fma bool, panel, b []T, ldb, cols, depth int) {
	w := width[T]()
	panel = panel[:depth*w]
	done := 0 // of eight columns
	for j := range w {
		if j%8 == 0 {
			done = 0
			if fma && j+8 <= cols {
				done = fmaTranspose(panel[j:], b[j*ldb:], ldb, depth)
			}
		}
		at := j + done*w
		if j < cols {
			for _, v := range b[j*ldb+done : j*ldb+depth] {
				panel[at] = v
				at += w
			}
			continue
		}
		for ; at < len(panel); at += w {
			panel[at] = 0
		}
	}
}

// gather sets depth rows of panel to those of b, depth by cols, and fills the rest of each
// row with zeros.
func gather[T Float](panel, b []T, ldb, cols, depth int) {
	w := width[T]()
	for p := range depth {
		row, from := panel[p*w:(p+1)*w], b[p*ldb:p*ldb+cols]
		if cols == w { // a fixed size is moved in a few instructions
			*(*[tileBytes]byte)(unsafe.Pointer(&row[0])) = *(*[tileBytes]byte)(unsafe.Pointer(&from[0]))
			continue
		}
		clear(row[copy(row, from):])
	}
}
