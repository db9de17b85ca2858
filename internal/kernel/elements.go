package kernel

import "unsafe"

// Rectify sets dst to max(src, 0), element by element. NaN stays NaN, and -0 becomes 0. The two slices may
// be the same.
func Rectify[T Float](dst, src []T) {
	match(len(dst) == len(src))
	done := whole[T](len(dst), 8)
	if done > 0 {
		rectify32(first(dst), first(src), done)
	}
	for i, v := range src[done:] {
		dst[done+i] = max(v, 0)
	}
}

// Gate sets dst to src where y is positive and to 0 elsewhere. That is the gradient of Rectify for results
// y. Where y is NaN, its sign decides. All three have one length. The slices dst and src may be the same.
func Gate[T Float](dst, y, src []T) {
	match(len(y) == len(dst) && len(src) == len(dst))
	done := whole[T](len(dst), 8)
	if done > 0 {
		gate32(first(dst), first(y), first(src), done)
	}
	// Random values make the processor guess the branch of a comparison wrong half of the time. Bits have
	// no branch.
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
	check(dst, ldd, m, n)
	check(v, n, 1, n)
	if m == 0 || n == 0 {
		return
	}
	done := whole[T](n, 8)
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

// Centre sets dst to (src - mean)·scale, with the difference rounded to float32 and multiplied in float64,
// but to far or -far where it is beyond them; far is not negative. NaN stays NaN. All three have one
// length, and dst and src may be the same. All paths have the same bits.
func Centre(dst, src, mean []float32, scale float64, far float32) {
	match(len(src) == len(dst) && len(mean) == len(dst))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		centre32(&dst[0], &src[0], &mean[0], done, scale, far)
	}
	for i := done; i < len(dst); i++ {
		d := float32(float64(src[i]-mean[i]) * scale)
		if d > far {
			d = far
		} else if d < -far {
			d = -far
		}
		dst[i] = d
	}
}

// NotBelow returns the first place where x - y, rounded, is not below floor, or is NaN, and their length if
// there is none. Both have one length.
func NotBelow(x, y []float32, floor float32) int {
	match(len(x) == len(y))
	place := whole[float32](len(x), 8)
	if place > 0 {
		place = search32(&x[0], &y[0], place, floor)
	}
	for place < len(x) && x[place]-y[place] < floor {
		place++
	}
	return place
}
