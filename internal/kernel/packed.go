package kernel

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"
)

// Packed holds the right factor of a matrix product in a fast memory layout. The zero value is an empty
// matrix. If another matrix is packed, Packed reuses the memory. Concurrent calls of Mul are safe.
type Packed[T Float] struct {
	data []T // panels of the width of a tile, zero after column n; or columns
	n, k int
}

// PackBT sets p to bᵀ, where b is n x k.
func (p *Packed[T]) PackBT(b []T, ldb, n, k int) {
	check(b, ldb, n, k)
	p.shape(n, k)
	if n == 0 || k == 0 {
		return
	}
	if p.columnwise() {
		for j := range n {
			copy(p.data[j*k:(j+1)*k], b[j*ldb:])
		}
		return
	}
	w := width[T]()
	for j := 0; j < n; j += w {
		transpose(p.data[j*k:], b[j*ldb:], ldb, min(w, n-j), k)
	}
}

// PackAB sets p to b (k x n).
func (p *Packed[T]) PackAB(b []T, ldb, k, n int) {
	check(b, ldb, k, n)
	p.shape(n, k)
	if n == 0 || k == 0 {
		return
	}
	if p.columnwise() {
		for i := range k {
			for j, v := range b[i*ldb : i*ldb+n] {
				p.data[j*k+i] = v
			}
		}
		return
	}
	w := width[T]()
	gather(p.data, k*w, b, ldb, n, k)
}

func (p *Packed[T]) columnwise() bool {
	return pathOf[T]() > portable && p.n <= packedDotCols && p.k >= dotFrom
}

func (p *Packed[T]) shape(n, k int) {
	p.n, p.k = n, k
	w := width[T]()
	size := (n + w - 1) / w * w * k
	if cap(p.data) < size {
		p.data = Make[T](size)
	}
	p.data = p.data[:size]
}

// Mul sets dst (m x n) to a·p, where a is m x k.
func (p *Packed[T]) Mul(dst []T, ldd int, a []T, lda, m int) {
	check(dst, ldd, m, p.n)
	check(a, lda, m, p.k)
	if m == 0 || p.n == 0 || p.k == 0 {
		zero(dst, ldd, m, p.n)
		return
	}
	if p.columnwise() {
		dotProducts(dst, ldd, a, lda, p.data, p.k, m, p.n, p.k)
		return
	}
	w := width[T]()
	for j, cols := 0, 0; j < p.n; j += cols {
		cols = abreast[T](p.n - j)
		panels := p.data[j*p.k:]
		for from := 0; from < p.k; from += mulRun {
			columns(dst[j:], ldd, a[from:], lda, 1, panels[from*w:], w, p.k*w,
				m, cols, min(mulRun, p.k-from), mulRun, from > 0)
		}
	}
}

const alignment = 64

// Make returns n zeros, aligned to 64 bytes. It requests huge pages for 2 MB or more.
func Make[T float32 | float64 | int64](n int) []T {
	if n == 0 {
		return nil
	}
	size := int(unsafe.Sizeof(T(0)))
	boundary := alignment
	if n*size >= largePage {
		boundary = largePage
	}
	buffer := make([]T, n+boundary/size)
	skip := 0
	if past := int(uintptr(unsafe.Pointer(&buffer[0])) % uintptr(boundary)); past != 0 {
		skip = (boundary - past) / size
	}
	made := buffer[skip : skip+n : skip+n]
	if boundary == largePage {
		adviseLarge(wholePages(unsafe.Slice((*byte)(unsafe.Pointer(&made[0])), n*size)))
	}
	return made
}

const largePage = 1 << 21

func wholePages(b []byte) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % largePage)
	if len(b) < skip+largePage {
		return nil
	}
	b = b[skip:]
	return b[:len(b)/largePage*largePage]
}

// UnpackInt16 sets dst to src·unit, rounded once. Both slices have equal length.
func UnpackInt16(dst []float32, src []int16, unit float32) {
	match(len(dst) == len(src))
	done := whole[float32](len(dst), 16)
	if done > 0 {
		unpack16(&dst[0], &src[0], done, unit)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = float32(src[i]) * unit
	}
}

// Fetch starts loading x into caches and returns immediately.
func Fetch(x []int16) {
	if machine > portable && len(x) > 0 {
		fetch16(&x[0], len(x))
	}
}

// PackInt16 sets dst to src·perUnit, rounded to integers (ties to even). The products must be in the range of
// int16. Both slices have equal length.
func PackInt16(dst []int16, src []float32, perUnit float32) {
	match(len(dst) == len(src))
	done := whole[float32](len(dst), 16)
	if done > 0 {
		pack16(&dst[0], &src[0], done, perUnit)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = int16(math.RoundToEven(float64(src[i] * perUnit)))
	}
}

// Largest returns the largest absolute value in x, or 0 if x is empty. It returns infinity or NaN if a value
// is not finite.
func Largest(x []float32) float32 {
	const sign = 1 << 31
	var most uint32
	done := whole[float32](len(x), 16)
	if done > 0 {
		var lanes [8]uint32
		largest32(&lanes[0], &x[0], done)
		most = slices.Max(lanes[:])
	}
	for _, v := range x[done:] {
		most = max(most, math.Float32bits(v)&^sign)
	}
	return math.Float32frombits(most)
}

// LoadInt16 sets dst to the little-endian 16-bit integers in src.
func LoadInt16(dst []int16, src []byte) {
	match(len(src) == 2*len(dst))
	copy(bytesOf(dst), src)
	if !littleEndian() {
		for i := range dst {
			dst[i] = int16(binary.LittleEndian.Uint16(src[2*i:]))
		}
	}
}

// AppendInt16 appends the integers in src to dst, in the format of [LoadInt16].
func AppendInt16(dst []byte, src []int16) []byte {
	from := len(dst)
	dst = append(dst, bytesOf(src)...)
	if !littleEndian() {
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[from+2*i:], uint16(v))
		}
	}
	return dst
}

func bytesOf(x []int16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }
