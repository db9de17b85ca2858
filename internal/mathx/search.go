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
