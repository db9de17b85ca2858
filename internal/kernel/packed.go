package kernel

// Packed is the right factor of products, laid out for speed. Its zero value
// is an empty one; packing again reuses the memory. A Packed may be read by many
// goroutines.
type Packed[T Float] struct {
	panels []T // tileCols columns each, k rows of tileCols, zeros behind column n
	n, k   int
}

// PackBT makes the factor the transpose of b, n by k.
func (p *Packed[T]) PackBT(b []T, ldb, n, k int) {
	check(b, ldb, n, k)
	p.grow(n, k)
	for j := 0; j < n && k > 0; j += tileCols {
		transpose(p.panels[j*k:], b[j*ldb:], ldb, min(tileCols, n-j), k)
	}
}

// PackAB makes the factor b, k by n.
func (p *Packed[T]) PackAB(b []T, ldb, k, n int) {
	check(b, ldb, k, n)
	p.grow(n, k)
	for j := 0; j < n; j += tileCols {
		cols := min(tileCols, n-j)
		panel := p.panels[j*k:]
		for i := range k {
			row := panel[i*tileCols : (i+1)*tileCols]
			clear(row[copy(row, b[i*ldb+j:i*ldb+j+cols]):])
		}
	}
}

func (p *Packed[T]) grow(n, k int) {
	size := (n + tileCols - 1) / tileCols * tileCols * k
	if cap(p.panels) < size {
		p.panels = make([]T, size)
	}
	p.panels, p.n, p.k = p.panels[:size], n, k
}

// Mul sets dst, m by n, to the product of a, m by k, and the factor. It is row
// exact.
func (p *Packed[T]) Mul(dst []T, ldd int, a []T, lda, m int) {
	check(dst, ldd, m, p.n)
	check(a, lda, m, p.k)
	if m == 0 || p.n == 0 || p.k == 0 {
		zero(dst, ldd, m, p.n)
		return
	}
	for j := 0; j < p.n; j += tileCols {
		panel := p.panels[j*p.k:]
		for from := 0; from < p.k; from += mulRun {
			columns(dst[j:], ldd, a[from:], lda, 1, panel[from*tileCols:], tileCols,
				m, min(tileCols, p.n-j), min(mulRun, p.k-from), mulRun, from > 0)
		}
	}
}
