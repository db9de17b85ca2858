package kernel

// tile computes m by n elements of a product, in chains of run products each. It adds the first chain to
// dst, or stores it there unless add is set. It adds the other chains. Every element has that order of
// operations, wherever it lies in a tile.
//
// Products are rounded before they are added, so that the compiler cannot fuse one copy of the expression
// and not the other.
func tile[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb int, m, n, k, run int, add bool) {
	for from := 0; from < k; from += run {
		depth := min(run, k-from)
		left, right := a[from*cs:], b[from*ldb:]
		for i := range m {
			out, row := dst[i*ldd:i*ldd+n], left[i*rs:]
			j := 0
			for ; j+4 <= n; j += 4 {
				var s0, s1, s2, s3 T
				for p := range depth {
					v, w := row[p*cs], right[p*ldb+j:p*ldb+j+4]
					s0 += T(v * w[0])
					s1 += T(v * w[1])
					s2 += T(v * w[2])
					s3 += T(v * w[3])
				}
				o := out[j : j+4]
				if add || from > 0 {
					s0, s1, s2, s3 = o[0]+s0, o[1]+s1, o[2]+s2, o[3]+s3
				}
				o[0], o[1], o[2], o[3] = s0, s1, s2, s3
			}
			for ; j < n; j++ {
				var s T
				for p := range depth {
					s += T(row[p*cs] * right[p*ldb+j])
				}
				if add || from > 0 {
					s = out[j] + s
				}
				out[j] = s
			}
		}
	}
}
