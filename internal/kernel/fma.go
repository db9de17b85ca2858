//go:build amd64 && !noasm

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

//go:generate go -C gen run . -out ../fma_amd64.s -stubs ../fma_amd64.go -pkg kernel

// hasFMA says that the machine, and the system, know the instructions of the
// assembly.
var hasFMA = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotGroup is the most columns that fmaDots computes.
const dotGroup = 6

// masks holds the masks of all lengths: from masks[16-n] on, n lanes of 32 bits
// are set and the others up to 16 are not.
var masks = [32]int32{
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
}

// mask returns a mask of n lanes of T.
func mask[T Float](n int) *int32 {
	return &masks[16-n*int(unsafe.Sizeof(T(0))/4)]
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fmaTiles is tile in assembly, with fused multiplications and additions.
func fmaTiles[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb int, m, n, k, run int, add bool) {
	blocks := (m + tileRows - 1) / tileRows
	height := (m + blocks - 1) / blocks
	var edge *int32
	if n < width[T]() {
		edge = mask[T](n)
	}
	c, x, y := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b))
	if unsafe.Sizeof(T(0)) == 4 {
		tiles32((*float32)(c), 4*ldd, (*float32)(x), 4*rs, 4*cs, (*float32)(y), 4*ldb, m, height, k, run, flag(add), edge)
	} else {
		tiles64((*float64)(c), 8*ldd, (*float64)(x), 8*rs, 8*cs, (*float64)(y), 8*ldb, m, height, k, run, flag(add), edge)
	}
}

// fmaRow computes the first columns of a product of one row, as tiles do, and
// returns how many.
func fmaRow[T Float](dst []T, a []T, cs int, b []T, ldb, n, k, run int, add bool) int {
	n -= n % (4 * width[T]())
	if n == 0 {
		return 0
	}
	c, x, y := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b))
	if unsafe.Sizeof(T(0)) == 4 {
		wide32((*float32)(c), (*float32)(x), 4*cs, (*float32)(y), 4*ldb, n, k, run, flag(add))
	} else {
		wide64((*float64)(c), (*float64)(x), 8*cs, (*float64)(y), 8*ldb, n, k, run, flag(add))
	}
	return n
}

// fmaDots sets, or adds to, m by n elements of dst the inner products of rows of
// a and b, n at most dotGroup.
func fmaDots[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int, add bool) {
	lanes := width[T]() / 2
	edge := mask[T](k % lanes)
	c, x, y := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(a)), unsafe.Pointer(unsafe.SliceData(b))
	if unsafe.Sizeof(T(0)) == 4 {
		dots32((*float32)(c), 4*ldd, (*float32)(x), 4*lda, (*float32)(y), 4*ldb, m, n, k, flag(add), edge)
	} else {
		dots64((*float64)(c), 8*ldd, (*float64)(x), 8*lda, (*float64)(y), 8*ldb, m, n, k, flag(add), edge)
	}
}
