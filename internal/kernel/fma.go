//go:build amd64 && !noasm

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go -C gen run . -out ../fma_amd64.s -stubs ../fma_amd64.go -pkg kernel

// hasFMA reports whether the machine and the operating system support the instructions of
// the assembly.
var hasFMA = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotGroup is the largest number of columns that fmaDots computes.
const dotGroup = 6

// masks holds the masks of all lengths. From masks[16-n] on, n lanes are set and the others
// up to 16 are not.
var masks = [32]int32{
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
}

// mask returns a mask of n lanes.
func mask(n int) *int32 { return &masks[16-n] }

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The functions below, and those in fma_rows.go, are called with float32 alone: see
// assembly.

// first returns the address of the first element of x.
func first[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

// fmaTiles does what tile does, in assembly with fused multiplications and additions.
func fmaTiles[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb int, m, n, k, run int, add bool) {
	blocks := (m + tileRows - 1) / tileRows
	height := (m + blocks - 1) / blocks
	var edge *int32
	if n < width[T]() {
		edge = mask(n)
	}
	tiles32(first(dst), 4*ldd, first(a), 4*rs, 4*cs, first(b), 4*ldb, m, height, k, run, flag(add), edge)
}

// fmaRow computes the first columns of a product of one row, as tiles do. It returns how
// many columns it has done.
func fmaRow[T Float](dst []T, a []T, cs int, b []T, ldb, n, k, run int, add bool) int {
	n -= n % (4 * width[T]())
	if n > 0 {
		wide32(first(dst), first(a), 4*cs, first(b), 4*ldb, n, k, run, flag(add))
	}
	return n
}

// fmaDots sets m by n elements of dst to the inner products of rows of a and b, or adds the
// products to them. It needs n <= dotGroup.
func fmaDots[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int, add bool) {
	const lanes = 8
	dots32(first(dst), 4*ldd, first(a), 4*lda, first(b), 4*ldb, m, n, k, flag(add), mask(k%lanes))
}
