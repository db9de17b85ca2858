package kernel

import "unsafe"

// largePage is the size of a large page of memory on most machines.
const largePage = 1 << 21

// LargePages asks the operating system to keep x, which is not in use yet, in large pages of
// memory. Rows at random places of a large matrix are then found, and fetched, in half the time.
func LargePages(x []int16) {
	if b := wholePages(bytesOf(x)); len(b) > 0 {
		adviseLarge(b)
	}
}

// wholePages returns the large pages that have nothing but b in them.
func wholePages(b []byte) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % largePage)
	if len(b) < skip+largePage {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/largePage*largePage]
}
