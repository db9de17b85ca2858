package kernel

import "math"

// MaxTaps sets best[c] to the largest of the values x[c+taps[t]], and winner[c] to the first t it comes
// from. There are at most 256 taps. Values compare as their bits do, so -0 is below 0, and NaN without a
// sign is above infinity.
func MaxTaps[T Float](best []T, winner []uint8, x []T, taps []int) {
	checkTaps(len(best), winner, x, taps)
	done := whole[T](len(best), 8)
	if done > 0 {
		maxTaps32(first(best), &winner[0], first(x), &taps[0], len(taps), done)
	}
	for c := done; c < len(best); c++ {
		top, won := order(x[c+taps[0]]), 0
		for t, tap := range taps {
			if o := order(x[c+tap]); o > top {
				top, won = o, t
			}
		}
		best[c], winner[c] = ofBits[T](orderOf(top)), uint8(won)
	}
}

// AddToTaps adds src[c] to dst[c+taps[winner[c]]] for every c, in ascending order. That is the gradient of
// MaxTaps. The taps must ascend.
func AddToTaps[T Float](dst []T, winner []uint8, src []T, taps []int) {
	checkTaps(len(src), winner, dst, taps)
	done := whole[T](len(src), 8)
	if done > 0 {
		addToTaps32(first(dst), &winner[0], first(src), &taps[0], len(taps), done)
	}
	for c := done; c < len(src); c++ {
		dst[c+taps[winner[c]]] += src[c]
	}
}

// checkTaps panics unless n windows fit.
func checkTaps[T Float](n int, winner []uint8, x []T, taps []int) {
	match(len(winner) == n && len(taps) != 0 && len(taps) <= math.MaxUint8+1)
	for t, tap := range taps {
		if tap < 0 || n > 0 && tap > len(x)-n || t > 0 && tap <= taps[t-1] {
			panic("kernel: slice too short for its dimensions")
		}
	}
}

// order maps v to an integer that sorts like v, with -0 below +0.
func order[T Float](v T) int64 { return orderOf(bitsOf(v)) }

// orderOf maps the bits of a number to its order, and its order to its bits.
func orderOf(b int64) int64 { return b ^ int64(uint64(b>>63)>>1) }
