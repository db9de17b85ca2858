package student

import (
	"context"
	"math"

	"github.com/pate-go/pate/internal/dense"
)

// clusters is the state of k-means by Lloyd's algorithm.
type clusters struct {
	z       Matrix
	centres Matrix
	cluster []int     // each row's centre
	least   []float32 // each row's squared distance from it, less the row's norm
	moved   []bool    // centres that are not where they were at the last assignment
}

// assign finds every row's nearest centre, the first of equal ones. Where a row's own centre did not move,
// only one that did can have become nearer. After a few rounds most centres rest.
func (k *clusters) assign(ctx context.Context) error {
	all := newCentroids(k.centres, nil)
	var places []int
	for c, moved := range k.moved {
		if moved {
			places = append(places, c)
		}
	}
	few := newCentroids(k.centres, places)
	return forBlocks(ctx, k.z.Rows, func(w *assignment, from, to int) {
		w.rows[0], w.rows[1] = w.rows[0][:0], w.rows[1][:0]
		for i := from; i < to; i++ {
			if k.moved[k.cluster[i]] {
				k.least[i] = float32(math.Inf(1))
				w.rows[0] = append(w.rows[0], i)
			} else {
				w.rows[1] = append(w.rows[1], i)
			}
		}
		w.nearest(k, w.rows[0], all)
		w.nearest(k, w.rows[1], few)
	})
}

// centroids are some of the centres, as a factor of products with rows.
type centroids struct {
	places []int     // among all centres; nil means all
	norms  []float32 // squared
	turned Matrix    // transposed
}

func newCentroids(centres Matrix, places []int) centroids {
	if places != nil {
		centres = dense.Pick(centres, places)
	}
	return centroids{places, dense.SquaredNorms(centres), transposed(centres)}
}

type assignment struct {
	rows         [2][]int // compared with all centres, and with the ones that moved
	picked, dots Matrix
}

func (w *assignment) nearest(k *clusters, rows []int, c centroids) {
	if len(rows) == 0 || c.turned.Cols == 0 {
		return
	}
	picked := resized(&w.picked, len(rows), k.z.Cols)
	for i, r := range rows {
		copy(dense.Row(picked, i), dense.Row(k.z, r))
	}
	dots := resized(&w.dots, len(rows), c.turned.Cols)
	dense.MulAB(dots, picked, c.turned)
	for i, r := range rows {
		least, at := k.least[r], k.cluster[r]
		for e, dot := range dense.Row(dots, i) {
			if d := c.norms[e] - 2*dot; d <= least {
				place := e
				if c.places != nil {
					place = c.places[e]
				}
				if d < least || place < at {
					least, at = d, place
				}
			}
		}
		k.least[r], k.cluster[r] = least, at
	}
}

// move moves every centre to the mean of its rows, and reports whether any moved. A centre without rows
// stays.
func (k *clusters) move() bool {
	cols := k.z.Cols
	sums, counts := make([]float64, k.centres.Rows*cols), make([]float64, k.centres.Rows)
	for i, c := range k.cluster {
		counts[c]++
		sum := sums[c*cols:][:cols]
		for j, v := range dense.Row(k.z, i) {
			sum[j] += float64(v)
		}
	}
	any := false
	for c, n := range counts {
		k.moved[c] = false
		if n == 0 {
			continue
		}
		for j, out := 0, dense.Row(k.centres, c); j < cols; j++ {
			if v := float32(sums[c*cols+j] / n); v != out[j] {
				out[j], k.moved[c], any = v, true, true
			}
		}
	}
	return any
}
