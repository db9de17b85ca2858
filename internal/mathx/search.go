package mathx

// Least returns the least integer >= 0 at which enough holds, which it must from
// there on: by doubling, then halving.
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
