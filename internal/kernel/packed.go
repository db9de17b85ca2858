package kernel

// Packed is the right factor of products, laid out for speed. Its zero value is an empty factor. Packing
// again reuses the memory. Many goroutines may read a Packed at once.
type Packed[T Float] struct {
	data []T // panels of the width of a tile, zeros behind column n; or columns
	n, k int
}

// PackBT makes the factor the transpose of b, n by k.
func (p *Packed[T]) PackBT(b []T, ldb, n, k int) {
	check(b, ldb, n, k)
	p.shape(n, k)
	if n == 0 || k == 0 {
		return
	}
	if p.columnwise() {
		for j := range n {
			copy(p.data[j*k:(j+1)*k], b[j*ldb:])
		}
		return
	}
	w := width[T]()
	for j := 0; j < n; j += w {
		transpose(p.data[j*k:], b[j*ldb:], ldb, min(w, n-j), k)
	}
}

// PackAB makes the factor b, k by n.
func (p *Packed[T]) PackAB(b []T, ldb, k, n int) {
	check(b, ldb, k, n)
	p.shape(n, k)
	if n == 0 || k == 0 {
		return
	}
	if p.columnwise() {
		for i := range k {
			for j, v := range b[i*ldb : i*ldb+n] {
				p.data[j*k+i] = v
			}
		}
		return
	}
	w := width[T]()
	gather(p.data, k*w, b, ldb, n, k)
}

// columnwise reports whether the columns are too few for tiles and long enough for inner products.
func (p *Packed[T]) columnwise() bool {
	return pathOf[T]() > portable && p.n <= packedDotCols && p.k >= dotFrom
}

func (p *Packed[T]) shape(n, k int) {
	p.n, p.k = n, k
	w := width[T]()
	size := (n + w - 1) / w * w * k
	if cap(p.data) < size {
		p.data = Make[T](size)
	}
	p.data = p.data[:size]
}

// Mul sets dst, m by n, to the product of a, m by k, and the factor.
func (p *Packed[T]) Mul(dst []T, ldd int, a []T, lda, m int) {
	check(dst, ldd, m, p.n)
	check(a, lda, m, p.k)
	if m == 0 || p.n == 0 || p.k == 0 {
		zero(dst, ldd, m, p.n)
		return
	}
	if p.columnwise() {
		dotProducts(dst, ldd, a, lda, p.data, p.k, m, p.n, p.k)
		return
	}
	w := width[T]()
	for j, cols := 0, 0; j < p.n; j += cols {
		cols = abreast[T](p.n - j)
		panels := p.data[j*p.k:]
		for from := 0; from < p.k; from += mulRun {
			columns(dst[j:], ldd, a[from:], lda, 1, panels[from*w:], w, p.k*w,
				m, cols, min(mulRun, p.k-from), mulRun, from > 0)
		}
	}
}
