package nn

import "github.com/pate-go/pate/internal/kernel"

// ahead asks memory for the packed rows of the next group while a product of this one is computed. Rows of a
// batch come from all over the data, and either takes about as long.
type ahead struct {
	fetch func(i, from, to int) // columns of row i; nil if rows are not packed
	rows  []int                 // of the next group
	cols  int
	asked int // how many of their numbers memory was asked for
}

func (a *ahead) ask(numbers int) {
	for numbers > 0 && a.asked < len(a.rows)*a.cols {
		row, from := a.asked/a.cols, a.asked%a.cols
		to := min(from+numbers, a.cols)
		a.fetch(a.rows[row], from, to)
		a.asked += to - from
		numbers -= to - from
	}
}

// aheadCols is how many columns of a product are computed between requests for as many numbers of every row.
// Requests for more lines than a processor keeps track of would wait.
const aheadCols = 64

// addATB is [kernel.AddATB] for dense matrices, to the bit: the bits of an element do not depend on which
// columns are computed together. Products of many rows of dst take long enough without, and would be laid out
// again for every call.
func addATB[T Float](ahead *ahead, dst, a, b []T, m, n, k int) {
	if ahead == nil || ahead.fetch == nil || len(ahead.rows) == 0 || m > skinny {
		kernel.AddATB(dst, n, a, m, b, n, m, n, k)
		return
	}
	for j := 0; j < n; j += aheadCols {
		cols := min(aheadCols, n-j)
		kernel.AddATB(dst[j:], n, a, m, b[j:], n, m, cols, k)
		ahead.ask(cols * len(ahead.rows))
	}
}
