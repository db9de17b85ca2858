package kernel

const (
	// tileRows is the height of the register tile: it holds that many rows of two
	// vectors, twelve accumulators.
	tileRows = 6
	// tileCols is its width, 16 float32 or, in two passes, 16 float64.
	tileCols = 16
	// mulRun is the number of products of a row with a column that are summed in
	// one chain, before the chains are: a panel of that height and of the width
	// of a tile takes half of the first-level cache.
	mulRun = 256
	// addRun is the same for sums over rows.
	addRun = 32
	// packFrom is the number of rows from which it pays to copy a panel of the
	// factor to where its rows follow each other.
	packFrom = 4 * tileRows
)

// MulBT sets dst, m by n, to the product of a, m by k, and the transpose of b,
// n by k.
func MulBT[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	check(dst, ldd, m, n)
	check(a, lda, m, k)
	check(b, ldb, n, k)
	if m == 0 || n == 0 || k == 0 {
		zero(dst, ldd, m, n)
		return
	}
	mulBT(dst, ldd, a, lda, b, ldb, m, n, k)
}

// MulAB sets dst, m by n, to the product of a, m by k, and b, k by n.
func MulAB[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	check(dst, ldd, m, n)
	check(a, lda, m, k)
	check(b, ldb, k, n)
	if m == 0 || n == 0 || k == 0 {
		zero(dst, ldd, m, n)
		return
	}
	for j := 0; j < n; j += tileCols {
		cols := min(tileCols, n-j)
		columns(dst[j:], ldd, a, lda, 1, b[j:], ldb, m, cols, k, mulRun, false)
	}
}

// AddATB adds the product of the transpose of a, k by m, and b, k by n, to dst,
// m by n. The rows, k, are summed in runs of 32, and then the runs: with |a| and
// |b| finite and dst zero before, the error of an element is at most gamma_d
// sum_p |a_pi b_pj|, d = 32 + k/32, gamma_d = d u/(1 - d u).
func AddATB[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	check(dst, ldd, m, n)
	check(a, lda, k, m)
	check(b, ldb, k, n)
	if m == 0 || n == 0 || k == 0 {
		return
	}
	for j := 0; j < n; j += tileCols {
		cols := min(tileCols, n-j)
		columns(dst[j:], ldd, a, 1, lda, b[j:], ldb, m, cols, k, addRun, true)
	}
}

// mulBT lays panels of b out as MulAB has them.
func mulBT[T Float](dst []T, ldd int, a []T, lda int, b []T, ldb int, m, n, k int) {
	var panel [mulRun * tileCols]T
	for j := 0; j < n; j += tileCols {
		cols := min(tileCols, n-j)
		for p := 0; p < k; p += mulRun {
			depth := min(mulRun, k-p)
			transpose(panel[:], b[j*ldb+p:], ldb, cols, depth)
			columns(dst[j:], ldd, a[p:], lda, 1, panel[:], tileCols, m, cols, depth, mulRun, p > 0)
		}
	}
}

// transpose sets rows of panel, tileCols apart, to the columns of b, cols by
// depth, and zeros.
func transpose[T Float](panel, b []T, ldb, cols, depth int) {
	for j := range tileCols {
		if j >= cols {
			for p := range depth {
				panel[p*tileCols+j] = 0
			}
			continue
		}
		for p, v := range b[j*ldb : j*ldb+depth] {
			panel[p*tileCols+j] = v
		}
	}
}

// columns computes at most tileCols columns of a product, from tiles. Element
// (i, p) of the left factor is a[i*rs+p*cs].
func columns[T Float](dst []T, ldd int, a []T, rs, cs int, b []T, ldb int, m, n, k, run int, add bool) {
	blocks := (m + tileRows - 1) / tileRows
	for i, left := 0, blocks; left > 0; left-- {
		rows := (m - i + left - 1) / left // near to even
		tile(dst[i*ldd:], ldd, a[i*rs:], rs, cs, b, ldb, rows, n, k, run, add)
		i += rows
	}
}
