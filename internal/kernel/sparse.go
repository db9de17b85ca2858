package kernel

// Sparse is a matrix in compressed rows: those elements of row i that are not zero are
// weights[start[i]:start[i+1]], in the columns of the same places. Its zero value has no rows. Many
// goroutines may multiply by one.
type Sparse struct {
	columns       int
	start, places []int32
	weights       []float32
}

// NewSparse returns a matrix of as many rows as start has elements, less one. It keeps the slices.
func NewSparse(columns int, start, places []int32, weights []float32) Sparse {
	match(len(places) == len(weights) && len(start) != 0 && start[0] == 0 && int(start[len(start)-1]) == len(places))
	for i, from := range start[1:] {
		if from < start[i] {
			panic("kernel: rows out of order")
		}
	}
	for _, p := range places {
		if p < 0 || int(p) >= columns {
			panic("kernel: place out of range")
		}
	}
	return Sparse{columns, start, places, weights}
}

// MulRows sets dst to the product of rows [from, to) and b, which has n columns. It adds up one row of b
// after the other, and rounds products before it adds them, on all paths.
func (s Sparse) MulRows(dst []float32, ldd, from, to int, b []float32, ldb, n int) {
	if from < 0 || from > to || to >= max(1, len(s.start)) {
		panic("kernel: rows out of range")
	}
	check(dst, ldd, to-from, n)
	check(b, ldb, s.columns, n)
	if n == 0 || from == to {
		return
	}
	if pathOf[float32]() > portable && len(s.places) > 0 {
		sparse32(&dst[0], 4*ldd, &s.start[from], to-from, &s.places[0], &s.weights[0], &b[0], 4*ldb, n, mask((n-1)%8+1))
		return
	}
	for i := from; i < to; i++ {
		out := dst[(i-from)*ldd:][:n]
		clear(out)
		for e := s.start[i]; e < s.start[i+1]; e++ {
			w := s.weights[e]
			for j, v := range b[int(s.places[e])*ldb:][:n] {
				out[j] += float32(w * v)
			}
		}
	}
}
