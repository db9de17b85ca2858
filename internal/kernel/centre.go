package kernel

// Centre sets dst to (src - mean)·scale, with the difference rounded to float32 and multiplied in
// float64, but to far or -far where it is beyond them; far is not negative. NaN stays NaN. All three
// have one length, and dst and src may be the same. All paths have the same bits.
func Centre(dst, src, mean []float32, scale float64, far float32) {
	centre(pathOf[float32](), dst, src, mean, scale, far)
}

func centre(on path, dst, src, mean []float32, scale float64, far float32) {
	if len(src) != len(dst) || len(mean) != len(dst) {
		panic("kernel: dimension mismatch")
	}
	done := whole(on, len(dst), 8)
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
