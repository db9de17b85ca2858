package kernel

// AddRows adds the sum of the rows of a, m by n, to dst, n long. It sums the rows in runs of 48, and then
// sums the runs, as [AddATB] does.
func AddRows[T Float](dst []T, a []T, lda, m, n int) {
	check(dst, n, 1, n)
	check(a, lda, m, n)
	if n == 0 || m == 0 {
		return
	}
	done := whole[T](n, 8)
	if done > 0 {
		addRows32(first(dst), first(a), 4*lda, m, done, addRun)
	}
	const width = 16
	var sum [width]T
	for j := done; j < n; j += width {
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

// CopyRow copies src to dst and prefetches next, the row to be copied after it: rows in a random order come
// from far away. All three have one length.
func CopyRow[T Float](dst, src, next []T) {
	match(len(src) == len(dst) && len(next) == len(dst))
	done := whole[T](len(dst), 16)
	if done > 0 {
		copyRow32(first(dst), first(src), first(next), done)
	}
	copy(dst[done:], src[done:])
}

// Scale sets dst to factor times src, element by element. The two slices may be the same.
func Scale[T Float](dst []T, factor T, src []T) {
	match(len(dst) == len(src))
	done := whole[T](len(src), 8)
	if done > 0 {
		scale32(first(dst), first(src), done, float32(factor))
	}
	for i := done; i < len(src); i++ {
		dst[i] = factor * src[i]
	}
}
