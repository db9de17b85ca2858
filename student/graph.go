package student

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/dense"
)

// graph is a symmetric weighted neighbour graph in compressed rows: the neighbours of row i
// are to[start[i]:start[i+1]]. Weights are divided by the square roots of both ends'
// degrees, so the largest eigenvalue is 1.
type graph struct {
	start  []int32
	to     []int32
	weight []float32
	width  float64 // mean squared distance to the farthest of the neighbours
}

// localScale says which neighbour's distance is the unit of length around a row
// (Zelnik-Manor and Perona 2004, who use the 7th).
const localScale = 7

// candidates times k rows are kept for each row. When the metric changes, the row chooses
// its k nearest among them. On MNIST students are no worse than after a search among all
// rows.
const candidates = 4

// neighbours holds each row's nearest rows, ascending by distance.
type neighbours struct {
	k    int // per row
	near []int32
	dist []float32 // squared
}

// findNeighbours returns the nearest rows of every row. It compares all pairs of rows.
func findNeighbours(ctx context.Context, z Matrix, k int) (neighbours, error) {
	n := z.Rows
	k = min(k, n-1)
	found := neighbours{k: k, near: make([]int32, n*k), dist: make([]float32, n*k)}
	norms := dense.SquaredNorms(z)
	zt := transposed(z)
	err := forBlocks(ctx, n, func(from, to int) {
		dots := dense.New(to-from, n)
		dense.MulAB(dots, dense.Rows(z, from, to), zt)
		for i := from; i < to; i++ {
			nearest(found.near[i*k:(i+1)*k], found.dist[i*k:(i+1)*k], dense.Row(dots, i-from), norms, i)
		}
	})
	return found, err
}

// rank orders the neighbours anew by their distance in z.
func (f neighbours) rank(ctx context.Context, z Matrix) (neighbours, error) {
	out := neighbours{k: f.k, near: make([]int32, len(f.near)), dist: make([]float32, len(f.dist))}
	err := forBlocks(ctx, z.Rows, func(from, to int) {
		type entry struct {
			dist float32
			row  int32
		}
		list := make([]entry, f.k)
		for i := from; i < to; i++ {
			for e, j := range f.near[i*f.k : (i+1)*f.k] {
				list[e] = entry{squaredDistance(dense.Row(z, i), dense.Row(z, int(j))), j}
			}
			slices.SortFunc(list, func(a, b entry) int {
				return cmp.Or(cmp.Compare(a.dist, b.dist), cmp.Compare(a.row, b.row))
			})
			for e, x := range list {
				out.near[i*f.k+e], out.dist[i*f.k+e] = x.row, x.dist
			}
		}
	})
	return out, err
}

// graph joins every row with the first k of its neighbours. The weight is
// exp(-|a-b|²/(s_a s_b)), where s is the distance to the localScale-th neighbour.
func (f neighbours) graph(k int) *graph {
	if f.k == 0 { // a single row
		return &graph{start: make([]int32, 2)}
	}
	k = min(k, f.k)
	n := len(f.near) / f.k
	g := &graph{}
	scale := make([]float64, n)
	for i := range n {
		scale[i] = math.Sqrt(float64(f.dist[i*f.k+min(localScale, k)-1]))
		g.width += float64(f.dist[i*f.k+k-1]) / float64(n)
	}
	g.join(f, k, func(i, e int) float32 {
		unit := scale[i] * scale[f.near[e]]
		if unit > 0 {
			return float32(math.Exp(-float64(f.dist[e]) / unit))
		}
		if f.dist[e] > 0 {
			return 0 // many copies of one row, and a row apart from them
		}
		return 1
	})
	return g
}

// nearest fills near and dist with the closest rows to row self, ascending, ties by index.
// The slice dots holds the products of row self with all rows.
func nearest(near []int32, dist []float32, dots, norms []float32, self int) {
	k, have := len(near), 0
	for j, dot := range dots {
		d := norms[self] + norms[j] - 2*dot
		if j == self || have == k && !(d < dist[k-1]) {
			continue
		}
		if have < k {
			have++
		}
		at := have - 1
		for ; at > 0 && d < dist[at-1]; at-- {
			near[at], dist[at] = near[at-1], dist[at-1]
		}
		near[at], dist[at] = int32(j), d
	}
	for e, d := range dist {
		dist[e] = max(0, d) // rounding
	}
}

// join keeps an edge if at least one of its ends named the other.
func (g *graph) join(f neighbours, k int, weight func(i, e int) float32) {
	n := len(f.near) / f.k
	type edge struct {
		to     int32
		weight float32
	}
	edges := make([][]edge, n)
	for i := range n {
		for e := i * f.k; e < i*f.k+k; e++ {
			w := weight(i, e)
			edges[i] = append(edges[i], edge{f.near[e], w})
			edges[f.near[e]] = append(edges[f.near[e]], edge{int32(i), w})
		}
	}
	g.start = make([]int32, n+1)
	root := make([]float64, n)
	for i, list := range edges {
		// Both ends may have named each other. The two copies have the same weight.
		slices.SortFunc(list, func(a, b edge) int { return cmp.Compare(a.to, b.to) })
		for e, x := range list {
			if e > 0 && x.to == list[e-1].to {
				continue
			}
			g.to = append(g.to, x.to)
			g.weight = append(g.weight, x.weight)
			root[i] += float64(x.weight)
		}
		root[i] = math.Sqrt(root[i])
		g.start[i+1] = int32(len(g.to))
	}
	for i := range n {
		for e := g.start[i]; e < g.start[i+1]; e++ {
			if d := root[i] * root[g.to[e]]; d > 0 {
				g.weight[e] = float32(float64(g.weight[e]) / d)
			}
		}
	}
}

// squaredDistance sums in four places: one sum waits for itself most of the time.
func squaredDistance(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	for ; len(a) >= 4; a, b = a[4:], b[4:] {
		d0, d1, d2, d3 := a[0]-b[0], a[1]-b[1], a[2]-b[2], a[3]-b[3]
		s0, s1, s2, s3 = s0+d0*d0, s1+d1*d1, s2+d2*d2, s3+d3*d3
	}
	for j, v := range a {
		d := v - b[j]
		s0 += d * d
	}
	return s0 + s1 + (s2 + s3)
}
