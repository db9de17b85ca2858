package kernel

// AddInts adds noise to total, and sets scaled to the sums times scale: each is rounded to a double, and
// then the product is. All three have one length.
func AddInts(scaled []float64, total, noise []int64, scale float64) {
	match(len(total) == len(scaled) && len(noise) == len(scaled))
	done := whole[float32](len(scaled), 4)
	if done > 0 {
		addInts64(&scaled[0], &total[0], &noise[0], done, scale)
	}
	for i := done; i < len(total); i++ {
		total[i] += noise[i]
		scaled[i] = float64(total[i]) * scale
	}
}

// Descend subtracts rate times (gradient + decay x) from every parameter x, in double precision and without
// fusing, and rounds once more to T. It reports whether all are finite then. Both slices have one length.
func Descend[T Float](parameters []T, gradient []float64, decay, rate float64) (finite bool) {
	match(len(parameters) == len(gradient))
	done := whole[T](len(parameters), 4)
	finite = done == 0 || descend32(first(parameters), &gradient[0], done, decay, rate) == 0
	for i := done; i < len(parameters); i++ {
		x := float64(parameters[i])
		next := T(x - float64(rate*float64(gradient[i]+float64(decay*x))))
		parameters[i] = next
		finite = finite && next-next == 0
	}
	return finite
}
