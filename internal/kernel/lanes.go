package kernel

// FoldFloat64 adds src to dst, and clears src. Both have one length.
func FoldFloat64(dst []float64, src []float32) { foldFloats(machine, dst, src) }

func foldFloats(on path, dst []float64, src []float32) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 8)
	if done > 0 {
		foldFloats32(&dst[0], &src[0], done)
	}
	for j, v := range src[done:] {
		dst[done+j] += float64(v)
	}
	clear(src[done:])
}

// AddFloat64 adds src to dst. Both have one length.
func AddFloat64(dst, src []float64) { addFloats(machine, dst, src) }

func addFloats(on path, dst, src []float64) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 8)
	if done > 0 {
		addFloats64(&dst[0], &src[0], done)
	}
	for j, v := range src[done:] {
		dst[done+j] += v
	}
}
