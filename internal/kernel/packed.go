package kernel

// Packed is the right factor of products, laid out for speed. Its zero value
// is an empty one; packing again reuses the memory. A Packed may be read by many
// goroutines.
type Packed[T Float] struct {
	panels []T // the width of a tile in columns each, zeros behind column n
	n, k   int
}

// PackBT makes the factor the transpose of b, n by k.
func (p *Packed[T]) PackBT(b []T, ldb, n, k int) {
	check(b, ldb, n, k)
	p.grow(n, k)
	if k == 0 {
		return
	}
	w := width[T]()
	for j := 0; j < n; j += w {
		transpose(p.panels[j*k:], b[j*ldb:], ldb, min(w, n-j), k)
	}
}

// PackAB makes the factor b, k by n.
func (p *Packed[T]) PackAB(b []T, ldb, k, n int) {
	check(b, ldb, k, n)
	p.grow(n, k)
	if k == 0 {
		return
	}
	w := width[T]()
	for j := 0; j < n; j += w {
		gather(p.panels[j*k:], b[j:], ldb, min(w, n-j), k)
	}
}

func (p *Packed[T]) grow(n, k int) {
	w := width[T]()
	size := (n + w - 1) / w * w * k
	if cap(p.panels) < size {
		p.panels = Aligned[T](size)
	}
	p.panels, p.n, p.k = p.panels[:size], n, k
}

// Mul sets dst, m by n, to the product of a, m by k, and the factor. It is row
// exact.
func (p *Packed[T]) Mul(dst []T, ldd int, a []T, lda, m int) { p.mul(hasFMA, dst, ldd, a, lda, m) }

func (p *Packed[T]) mul(fma bool, dst []T, ldd int, a []T, lda, m int) {
	check(dst, ldd, m, p.n)
	check(a, lda, m, p.k)
	if m == 0 || p.n == 0 || p.k == 0 {
		zero(dst, ldd, m, p.n)
		return
	}
	w := width[T]()
	for j := 0; j < p.n; j += w {
		panel := p.panels[j*p.k:]
		for from := 0; from < p.k; from += mulRun {
			columns(fma, dst[j:], ldd, a[from:], lda, 1, panel[from*w:], w,
				m, min(w, p.n-j), min(mulRun, p.k-from), mulRun, from > 0)
		}
	}
}
