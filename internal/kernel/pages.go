package kernel

import "unsafe"

// largePage is the size of a large page of memory on most machines.
const largePage = 1 << 21

// wholePages returns the large pages that have nothing but b in them.
func wholePages(b []byte) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % largePage)
	if len(b) < skip+largePage {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/largePage*largePage]
}
