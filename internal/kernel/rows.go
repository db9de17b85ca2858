package kernel

// AddRows adds the sum of the rows of a, m by n, to dst, n long. The rows are
// summed in runs of 32, and then the runs, as in [AddATB].
func AddRows[T Float](dst []T, a []T, lda, m, n int) {
	check(dst, n, 1, n)
	check(a, lda, m, n)
	if n == 0 {
		return
	}
	const width = 64
	var sum [width]T
	for j := 0; j < n; j += width {
		sum := sum[:min(width, n-j)]
		for from := 0; from < m; from += addRun {
			clear(sum)
			for i := from; i < min(from+addRun, m); i++ {
				for c, v := range a[i*lda+j : i*lda+j+len(sum)] {
					sum[c] += v
				}
			}
			for c, v := range sum {
				dst[j+c] += v
			}
		}
	}
}

// Scale sets dst to factor times src, element by element. They may be the same.
func Scale[T Float](dst []T, factor T, src []T) {
	if len(dst) != len(src) {
		panic("kernel: dimension mismatch")
	}
	for i, v := range src {
		dst[i] = factor * v
	}
}

// SquaredNorm returns the sum of squares of x in double precision. The relative
// error is below 2^-53 (len(x)/8 + 8), and no float32 overflows or underflows
// on the way. It does not depend on where x lies.
func SquaredNorm[T Float](x []T) float64 {
	return squaredNorm(x)
}

// SquaredNorms sets dst[i] to the squared norm of row i of a, m by n.
func SquaredNorms[T Float](dst []float64, a []T, lda, m, n int) {
	check(dst, m, 1, m)
	check(a, lda, m, n)
	for i := range m {
		if n == 0 {
			dst[i] = 0
			continue
		}
		dst[i] = SquaredNorm(a[i*lda : i*lda+n])
	}
}

// normLanes is the number of partial sums of a squared norm.
const normLanes = 16

func squaredNorm[T Float](x []T) float64 {
	var s [normLanes]float64
	for ; len(x) >= normLanes; x = x[normLanes:] {
		for l, v := range x[:normLanes] {
			s[l] += float64(float64(v) * float64(v))
		}
	}
	for l, v := range x {
		s[l] += float64(float64(v) * float64(v))
	}
	for half := normLanes / 2; half > 0; half /= 2 {
		for l := range half {
			s[l] += s[l+half]
		}
	}
	return s[0]
}
