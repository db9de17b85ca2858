package neighbours

import (
	"math"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
)

const (
	// unitsAtOnce is how many units are processed together. Samples are drawn for multiples of eight units.
	unitsAtOnce = 192
	// rowsAtOnce is how many private rows are multiplied together.
	rowsAtOnce = 192
	// panelRows is how many questions are multiplied together: their products with rowsAtOnce rows fit into
	// the second-level cache, and the number of cache lines is odd.
	panelRows = 496
)

// panel is public rows, laid out as a factor of products.
type panel struct {
	packed  kernel.Packed[float32]
	first   int // index of the first row among all questions
	norms   []float64
	halves  []float32 // half of each norm, rounded down
	largest float64   // norm
}

func newPanel(x dense.Matrix, first int) *panel {
	p := &panel{first: first, norms: make([]float64, x.Rows)}
	p.packed.PackBT(x.Data, x.Stride, x.Rows, x.Cols)
	kernel.SquaredNorms(p.norms, x.Data, x.Stride, x.Rows, x.Cols)
	p.halves, p.largest = halvesOf(p.norms), largestOf(p.norms)
	return p
}

// halvesOf returns half of each norm, rounded down.
func halvesOf(norms []float64) []float32 {
	out := make([]float32, len(norms))
	for i, norm := range norms {
		out[i] = below(norm / 2)
	}
	return out
}

// largestOf returns the largest of norms, or NaN if one is NaN.
func largestOf(norms []float64) (largest float64) {
	for _, norm := range norms {
		largest = math.Max(largest, norm)
	}
	return largest
}

// newPanels returns all rows of x, in panels.
func newPanels(x dense.Matrix) (panels []*panel) {
	for from := 0; from < x.Rows; from += panelRows {
		panels = append(panels, newPanel(dense.Rows(x, from, min(from+panelRows, x.Rows)), from))
	}
	return panels
}

func (p *panel) rows() int { return len(p.norms) }

// squared returns the squared distance of two rows from their squared norms and their product. Overflow
// counts as infinitely far.
func squared(norm, other float64, product float32) float32 {
	d := float32(norm + other - 2*float64(product))
	if !(d <= math.MaxFloat32 && d >= -math.MaxFloat32) {
		return float32(math.Inf(1))
	}
	return d
}

// below returns x rounded down to a float32.
func below(x float64) float32 {
	f := float32(x)
	if float64(f) > x {
		return math.Nextafter32(f, float32(math.Inf(-1)))
	}
	return f
}

// offerRow offers the questions of a panel to a unit of one row, given the row's products with them. It
// computes a distance only if the product shows that the question may be kept.
func (n *nearest) offerRow(p *panel, products []float32, norm float64, label int32) {
	floor := n.floor(norm, p.largest)
	for j := range chances(products, p.halves[:len(products)], &floor) {
		n.offer(near{squared(norm, p.norms[j], products[j]), label, p.first + j})
		floor = n.floor(norm, p.largest)
	}
}

// offerSample offers rows from first on, each a unit of its own, to question q of a panel. It offers only
// rows in the sample: marks has one bit per row. It computes distances as offerRow does.
func (n *nearest) offerSample(p *panel, q int, products []float32, g grouped, first int, largest float64, marks []byte) {
	floor := n.floor(p.norms[q], largest)
	for i := range chances(products, g.halves[first:first+len(products)], &floor) {
		if marks[i/8]>>(i%8)&1 == 0 {
			continue
		}
		row := first + i
		if d := squared(g.norms[row], p.norms[q], products[i]); !n.beyond(d) {
			n.offer(near{d, int32(g.y[row]), row})
			floor = n.floor(p.norms[q], largest)
		}
	}
}

// chances yields the places where a product minus the half of a norm is not below floor. floor may rise
// during the iteration.
func chances(products, halves []float32, floor *float32) func(yield func(j int) bool) {
	return func(yield func(j int) bool) {
		for j := 0; ; j++ {
			if j += kernel.NotBelow(products[j:], halves[j:], *floor); j == len(products) || !yield(j) {
				return
			}
		}
	}
}

// floor returns a bound on products of a row with other rows, whose largest squared norm is given. If the
// product minus half of the other norm is below the bound, the distance is at least the distance from which
// on places are beyond. If no such bound exists, floor returns -Inf or NaN, and nothing is below it.
//
// Let D be that distance, N and T the norms of the row and of the other row, and P the product. If the
// rounded P - halves is below the bound, then so is the exact one, as rounding preserves order, and P - T/2
// is even lower. So N + T - 2P exceeds D by the amount subtracted here, which exceeds the rounding errors of
// this bound and of N + T in squared. squared's other roundings preserve order, D is a float32: squared >= D.
func (n *nearest) floor(norm, largest float64) float32 {
	if !n.full {
		return float32(math.Inf(-1))
	}
	last := float64(n.last)
	return below((norm-last)/2 - 0x1p-40*(norm+largest+math.Abs(last)))
}

// block is the memory of one goroutine for the distances of some units from a panel.
type block struct {
	products []float32 // of rows
	distance []float32 // of units
	label    []int32   // class of the nearest row
}

func newBlock(questions int) *block {
	return &block{make([]float32, rowsAtOnce*questions), make([]float32, unitsAtOnce*questions), make([]int32, unitsAtOnce*questions)}
}

// multiply sets products to the products of rows [from, to), at most rowsAtOnce, and a panel. A row of
// products depends on that row and on the panel alone.
func (b *block) multiply(p *panel, g grouped, from, to int) {
	p.packed.Mul(b.products, p.rows(), g.x.Data[from*g.x.Stride:], g.x.Stride, to-from)
}

// of returns the part of x for a unit, where x has one value per unit and question of a panel.
func of[T any](p *panel, x []T, unit int) []T { return x[unit*p.rows() : (unit+1)*p.rows()] }

// measure sets distance and label for units [from, to), at most unitsAtOnce, from the nearest row of each
// unit; of equal distances the earlier row counts.
func (b *block) measure(p *panel, g grouped, from, to int) {
	unit := from
	for first := g.starts[from]; first < g.starts[to]; first += rowsAtOnce {
		last := min(first+rowsAtOnce, g.starts[to])
		b.multiply(p, g, first, last)
		for i := first; i < last; i++ {
			for i >= g.starts[unit+1] {
				unit++
			}
			distance, label := of(p, b.distance, unit-from), of(p, b.label, unit-from)
			norm, class, starts := g.norms[i], int32(g.y[i]), i == g.starts[unit]
			for j, product := range of(p, b.products, i-first) {
				if d := squared(norm, p.norms[j], product); starts || d < distance[j] {
					distance[j], label[j] = d, class
				}
			}
		}
	}
}
