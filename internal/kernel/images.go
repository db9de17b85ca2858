package kernel

import "math"

// SquareRoots sets dst to the square roots of src, and to 0 where src is not positive. Both have one length
// and may be the same.
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

// Polar sets length and turn to the polar coordinates of the vectors (right - left, below - above),
// directions in radians times perRadian, from 0 to a full turn up to rounding. The error of a direction is
// below 1e-6 radians; the direction of a zero vector is arbitrary or NaN. All have one length and, on all
// paths, the same bits.
func Polar(length, turn, right, left, below, above []float32, perRadian float32) {
	for _, x := range [][]float32{turn, right, left, below, above} {
		match(len(x) == len(length))
	}
	done := whole[float32](len(length), 8)
	if done > 0 {
		polar32(&length[0], &turn[0], &right[0], &left[0], &below[0], &above[0], done, perRadian)
	}
	for i := done; i < len(length); i++ {
		length[i], turn[i] = polarOf(right[i]-left[i], below[i]-above[i])
		turn[i] *= perRadian
	}
}

// polarOf returns length and direction of a vector. It brings the vector into the first eighth of the
// circle, or the same to the left of its bisector, and takes the arctangent there as a polynomial (Cephes,
// atanf). The conversions keep compilers from fusing.
func polarOf(x, y float32) (length, angle float32) {
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

// Between sets dst[i] to the mean of upper[i], upper[i+1], lower[i] and lower[i+1] with these weights,
// summed in this order. Upper and lower have one number more than dst.
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

// ScaleUpTo sets dst to factor times src where that is not above most, and to most elsewhere. Both have one
// length and may be the same.
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
