package kernel

import "unsafe"

//go:generate go -C gen run . -out ../fma_amd64.s -stubs ../fma_amd64.go -other ../fma_other.go -pkg kernel

var masks = [32]int32{
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
}

func mask(n int) *int32 { return &masks[16-n] }

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func whole[T Float](n, lanes int) int {
	if pathOf[T]() == portable {
		return 0
	}
	return n - n%lanes
}

func first[T Float](x []T) *float32 { return (*float32)(unsafe.Pointer(unsafe.SliceData(x))) }

func fmaTiles[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb, apart int, m, n, k, run int, add bool) {
	most := evenly(m, height[T]())
	if pathOf[T]() == avx512 {
		tiles512(first(dst), 4*ldd, first(a), 4*rs, 4*cs, first(b), 4*ldb, 4*apart, m, most, k, run, bit(add), n)
		return
	}
	var edge *int32
	if n < width[T]() {
		edge = mask(n)
	}
	tiles32(first(dst), 4*ldd, first(a), 4*rs, 4*cs, first(b), 4*ldb, m, most, k, run, bit(add), edge)
}

func evenly(n, most int) int {
	parts := (n + most - 1) / most
	return (n + parts - 1) / parts
}

func fmaDots[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int, add bool) {
	const lanes, group = 8, 6 // group is the largest number of columns of a tile, except ten for dots512
	rows, cols := 0, evenly(n, group)
	if pathOf[T]() == avx512 {
		if rows = m - m%6; n == 10 {
			rows, cols = m-m%4, n
		}
		for j := 0; rows > 0 && j < n; j += cols {
			dots512(first(dst[j:]), 4*ldd, first(a), 4*lda, first(b[j*ldb:]), 4*ldb, rows, min(cols, n-j), k, bit(add))
		}
		cols = evenly(n, group)
	}
	for j := 0; rows < m && j < n; j += cols {
		dots32(first(dst[rows*ldd+j:]), 4*ldd, first(a[rows*lda:]), 4*lda, first(b[j*ldb:]), 4*ldb,
			m-rows, min(cols, n-j), k, bit(add), mask(k%lanes))
	}
}
