package kernel

import "unsafe"

// Rectify sets dst to max(src, 0), element by element. NaN stays NaN, and -0 becomes 0. The
// two slices may be the same.
func Rectify[T Float](dst, src []T) { rectify(pathOf[T](), dst, src) }

func rectify[T Float](on path, dst, src []T) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 8)
	if done > 0 {
		rectify32(first(dst), first(src), done)
	}
	for i, v := range src[done:] {
		dst[done+i] = max(v, 0)
	}
}

// Gate sets dst to src where y is positive and to 0 elsewhere. That is the gradient of Rectify
// for results y. Where y is NaN, its sign decides. All three have one length. The slices dst
// and src may be the same.
func Gate[T Float](dst, y, src []T) { gate(pathOf[T](), dst, y, src) }

func gate[T Float](on path, dst, y, src []T) {
	if len(y) != len(dst) || len(src) != len(dst) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 8)
	if done > 0 {
		gate32(first(dst), first(y), first(src), done)
	}
	// Random values make the processor guess the branch of a comparison wrong half of the
	// time. Bits have no branch.
	for i := done; i < len(dst); i++ {
		dst[i] = ofBits[T](bitsOf(src[i]) & allIf(bitsOf(y[i])))
	}
}

// bitsOf returns the bits of v, extended by their sign.
func bitsOf[T Float](v T) int64 {
	if unsafe.Sizeof(v) == 4 {
		return int64(*(*int32)(unsafe.Pointer(&v)))
	}
	return *(*int64)(unsafe.Pointer(&v))
}

// ofBits inverts bitsOf. In single precision it ignores the upper half.
func ofBits[T Float](b int64) (v T) {
	if unsafe.Sizeof(v) == 4 {
		*(*int32)(unsafe.Pointer(&v)) = int32(b)
	} else {
		*(*int64)(unsafe.Pointer(&v)) = b
	}
	return v
}

// allIf returns all ones if b is positive, and 0 otherwise.
func allIf(b int64) int64 { return (-b &^ b) >> 63 }

// AddToRows adds v, n long, to every row of dst, m by n.
func AddToRows[T Float](dst []T, ldd int, v []T, m, n int) {
	addToRows(pathOf[T](), dst, ldd, v, m, n)
}

func addToRows[T Float](on path, dst []T, ldd int, v []T, m, n int) {
	check(dst, ldd, m, n)
	check(v, n, 1, n)
	if m == 0 || n == 0 {
		return
	}
	done := whole(on, n, 8)
	if done > 0 {
		addToRows32(first(dst), 4*ldd, first(v), m, done)
	}
	if done == n {
		return
	}
	v = v[done:n]
	for i := range m {
		for j, x := range v {
			dst[i*ldd+done+j] += x
		}
	}
}
