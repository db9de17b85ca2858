package kernel

// NotBelow returns the first place where x - y, rounded, is not below floor, or is NaN, and their
// length if there is none. Both have one length.
func NotBelow(x, y []float32, floor float32) int { return notBelow(pathOf[float32](), x, y, floor) }

func notBelow(on path, x, y []float32, floor float32) int {
	if len(x) != len(y) {
		panic("kernel: dimension mismatch")
	}
	place := whole(on, len(x), 8)
	if place > 0 {
		place = search32(&x[0], &y[0], place, floor)
	}
	for place < len(x) && x[place]-y[place] < floor {
		place++
	}
	return place
}
