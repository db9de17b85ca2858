package neighbours

import (
	"math"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"github.com/pate-go/pate/internal/mathx"
)

const (
	unitsAtOnce = 192
	rowsAtOnce  = 192
	// panelRows is the number of questions in one matrix product. A product of this size fits into the L2
	// cache.
	panelRows = 496
)

type panel struct {
	packed  kernel.Packed[float32]
	first   int // index of the first row among all questions
	norms   []float64
	halves  []float32 // half of each norm, rounded down
	largest float64   // largest squared norm
}

func newPanel(x dense.Matrix, first int) *panel {
	p := &panel{first: first, norms: make([]float64, x.Rows)}
	p.packed.PackBT(x.Data, x.Stride, x.Rows, x.Cols)
	kernel.SquaredNorms(p.norms, x.Data, x.Stride, x.Rows, x.Cols)
	p.halves, p.largest = halvesOf(p.norms), largestOf(p.norms)
	return p
}

func halvesOf(norms []float64) []float32 {
	out := make([]float32, len(norms))
	for i, norm := range norms {
		out[i] = mathx.Below(norm / 2)
	}
	return out
}

func largestOf(norms []float64) (largest float64) {
	for _, norm := range norms {
		largest = math.Max(largest, norm)
	}
	return largest
}

func newPanels(x dense.Matrix) (panels []*panel) {
	for from := 0; from < x.Rows; from += panelRows {
		panels = append(panels, newPanel(dense.Rows(x, from, min(from+panelRows, x.Rows)), from))
	}
	return panels
}

func (p *panel) rows() int { return len(p.norms) }

func squared(norm, other float64, product float32) float32 {
	d := float32(norm + other - 2*float64(product))
	if !(d <= math.MaxFloat32 && d >= -math.MaxFloat32) {
		return float32(math.Inf(1))
	}
	return d
}

// offerRow offers all questions of a panel to n, the nearest questions of a unit. The unit must have only one
// row. The slice products holds this row's products with the questions.
func (n *nearest) offerRow(p *panel, products []float32, norm float64, label int32) {
	floor := n.floor(norm, p.largest)
	for j := range chances(products, p.halves[:len(products)], &floor) {
		n.offer(near{squared(norm, p.norms[j], products[j]), label, p.first + j})
		floor = n.floor(norm, p.largest)
	}
}

// offerSample offers to n, the nearest rows of question q, the sampled rows of g from index `first`. Each row
// must be the only row of its unit. Row first+i is in the sample if bit i of marks is 1.
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

func chances(products, halves []float32, floor *float32) func(yield func(j int) bool) {
	return func(yield func(j int) bool) {
		for j := 0; ; j++ {
			if j += kernel.NotBelow(products[j:], halves[j:], *floor); j == len(products) || !yield(j) {
				return
			}
		}
	}
}

// floor returns a limit for skipping rows. A row y is too far from the row x if x.y - |y|^2/2 is below the
// limit. The argument `norm` is |x|^2, and every |y|^2 must be at most `largest`.
func (n *nearest) floor(norm, largest float64) float32 {
	// Let D be the largest squared distance that n keeps. If a product minus half the squared norm of the
	// other row is below the limit, the squared distance is at least D. -Inf and NaN exclude no row.
	//
	// Proof. Let N and T be the squared norms of the row and of the other row, and P their product. Rounding
	// is monotone, and halves are rounded down. So if the rounded P - halves is below the limit, the exact P
	// - T/2 is also below it. Then N + T - 2P exceeds D by twice the amount that the limit subtracts. This
	// excess is larger than the rounding errors of the limit and of N + T in squared. The other roundings in
	// squared are monotone, and D is a float32. So the result of squared is at least D.
	if !n.full {
		return float32(math.Inf(-1))
	}
	last := float64(n.last)
	return mathx.Below((norm-last)/2 - 0x1p-40*(norm+largest+math.Abs(last)))
}

type block struct {
	products []float32 // of rows
	distance []float32 // of units
	label    []int32   // class of the nearest row of each unit
}

func newBlock(questions int) *block {
	return &block{make([]float32, rowsAtOnce*questions), make([]float32, unitsAtOnce*questions), make([]int32, unitsAtOnce*questions)}
}

func (b *block) multiply(p *panel, g grouped, from, to int) {
	p.packed.Mul(b.products, p.rows(), g.x.Data[from*g.x.Stride:], g.x.Stride, to-from)
}

func of[T any](p *panel, x []T, unit int) []T { return x[unit*p.rows() : (unit+1)*p.rows()] }

// measure finds each unit's nearest row to each question, for the units in [from, to). A tie goes to the
// earlier row. The caller must keep to - from <= unitsAtOnce.
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
