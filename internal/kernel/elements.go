package kernel

import (
	"math"
	"unsafe"
)

// Rectify sets every dst[i] to max(src[i], 0). NaN stays NaN, and -0 becomes 0. The slices dst and src may
// coincide.
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

// Gate sets dst[i] to src[i] where y[i] is positive, and to 0 elsewhere. Gate is the backward pass of
// Rectify, where y is the result of Rectify. A NaN in y counts as positive if its sign bit is 0. All
// slices have equal length. The slices dst and src may coincide.
func Gate[T Float](dst, y, src []T) {
	match(len(y) == len(dst) && len(src) == len(dst))
	done := whole[T](len(dst), 8)
	if done > 0 {
		gate32(first(dst), first(y), first(src), done)
	}
	// Bit operations need no branch. For random values, a branch would be mispredicted half of the time.
	for i := done; i < len(dst); i++ {
		dst[i] = ofBits[T](bitsOf(src[i]) & allIf(bitsOf(y[i])))
	}
}

func bitsOf[T Float](v T) int64 {
	if unsafe.Sizeof(v) == 4 {
		return int64(*(*int32)(unsafe.Pointer(&v)))
	}
	return *(*int64)(unsafe.Pointer(&v))
}

func ofBits[T Float](b int64) (v T) {
	if unsafe.Sizeof(v) == 4 {
		*(*int32)(unsafe.Pointer(&v)) = int32(b)
	} else {
		*(*int64)(unsafe.Pointer(&v)) = b
	}
	return v
}

func allIf(b int64) int64 { return (-b &^ b) >> 63 }

// AddToRows adds the vector v to every row of dst, an m x n matrix.
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

// Centre sets dst to (src - mean)·scale, clamped to [-limit, limit]. The difference is rounded to float32 and
// multiplied in float64. NaN stays NaN. All slices have equal length. The slices dst and src may coincide.
// Assembly and Go give equal bits.
func Centre(dst, src, mean []float32, scale float64, limit float32) {
	match(len(src) == len(dst) && len(mean) == len(dst))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		centre32(&dst[0], &src[0], &mean[0], done, scale, limit)
	}
	for i := done; i < len(dst); i++ {
		d := float32(float64(src[i]-mean[i]) * scale)
		if d > limit {
			d = limit
		} else if d < -limit {
			d = -limit
		}
		dst[i] = d
	}
}

// NotBelow returns the first i where x[i] - y[i] is NaN or at least floor, or len(x) if there is none. The
// difference is rounded to float32. Both slices have equal length.
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

// SquareRoots sets dst[i] to the square root of src[i], or to 0 if src[i] is not positive. The slices dst and
// src may coincide.
func SquareRoots(dst, src []float32) {
	match(len(src) == len(dst))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		squareRoots32(&dst[0], &src[0], done)
	}
	for i := done; i < len(dst); i++ {
		dst[i] = 0
		if v := src[i]; v > 0 {
			dst[i] = float32(math.Sqrt(float64(v)))
		}
	}
}

// Polar computes the polar coordinates of the vectors (right - left, below - above). It sets length[i] to the
// length of vector i, and scaled[i] to perRadian times its angle. The angle is in [0, 2π], with an error
// below 1e-6 radians. The angle of a zero vector is arbitrary or NaN. All slices have equal length. The
// assembly and the Go code give the same bits.
func Polar(length, scaled, right, left, below, above []float32, perRadian float32) {
	for _, x := range [][]float32{scaled, right, left, below, above} {
		match(len(x) == len(length))
	}
	done := whole[float32](len(length), 8)
	if done > 0 {
		polar32(&length[0], &scaled[0], &right[0], &left[0], &below[0], &above[0], done, perRadian)
	}
	for i := done; i < len(length); i++ {
		length[i], scaled[i] = polarOf(right[i]-left[i], below[i]-above[i])
		scaled[i] *= perRadian
	}
}

func polarOf(x, y float32) (length, angle float32) {
	// It reflects the vector into the first eighth of the circle, where a polynomial computes the arctangent
	// (Cephes, atanf). The conversions prevent compilers from fusing operations.
	ax, ay := withoutSign(x), withoutSign(y)
	short, long := ax, ay
	if ay < ax {
		short, long = ay, ax
	}
	t := short
	if short > float32(0.41421357*long) {
		t, long, angle = short-long, short+long, math.Pi/4
	}
	t /= long
	z := float32(t * t)
	p := float32(8.05374449538e-2*z) - 1.38776856032e-1
	p = float32(p*z) + 1.99777106478e-1
	p = float32(p*z) - 3.33329491539e-1
	angle += t + float32(float32(t*z)*p)
	if ay > ax {
		angle = math.Pi/2 - angle
	}
	if x < 0 {
		angle = math.Pi - angle
	}
	if y < 0 {
		angle = 2*math.Pi - angle
	}
	return float32(math.Sqrt(float64(float32(x*x) + float32(y*y)))), angle
}

func withoutSign(v float32) float32 { return math.Float32frombits(math.Float32bits(v) &^ (1 << 31)) }

// Between sets dst[i], with w = weights, to w[0] upper[i] + w[1] upper[i+1] + w[2] lower[i] + w[3]
// lower[i+1]. The slices upper and lower have one element more than dst.
func Between(dst, upper, lower []float32, weights [4]float32) {
	match(len(upper) == len(dst)+1 && len(lower) == len(dst)+1)
	done := whole[float32](len(dst), 8)
	if done > 0 {
		between32(&dst[0], &upper[0], &lower[0], done, &weights[0])
	}
	for i := done; i < len(dst); i++ {
		dst[i] = float32(weights[0]*upper[i]) + float32(weights[1]*upper[i+1]) + float32(weights[2]*lower[i]) + float32(weights[3]*lower[i+1])
	}
}

// ScaleUpTo sets dst[i] to min(factor·src[i], most). The slices dst and src may coincide.
func ScaleUpTo(dst []float32, factor float32, src []float32, most float32) {
	match(len(src) == len(dst))
	done := whole[float32](len(dst), 8)
	if done > 0 {
		scaleUpTo32(&dst[0], &src[0], done, factor, most)
	}
	for i := done; i < len(dst); i++ {
		v := factor * src[i]
		if most < v {
			v = most
		}
		dst[i] = v
	}
}
