package mathx

// Least returns the least integer n >= 0 with enough(n), found by doubling, then halving.
// For every integer above n, enough must hold too.
func Least(enough func(int64) bool) int64 {
	low, high := int64(-1), int64(1)
	for !enough(high) {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// GoldenSection returns the best point met while shrinking [lo, hi] around a
// minimum of f, 40 evaluations at most.
func GoldenSection(f func(float64) float64, lo, hi float64) (x, fx float64) {
	const ratio = 0.6180339887498949
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := f(a), f(b)
	for i := 0; i < 38 && hi-lo > 1e-7*lo; i++ {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = f(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = f(b)
		}
	}
	if fa <= fb {
		return a, fa
	}
	return b, fb
}

// Bisect returns the smallest x with f(x), to the last bit, for an f that
// switches once from false at lo to true at hi.
func Bisect(f func(float64) bool, lo, hi float64) float64 {
	for range 200 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if f(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}
