package trees

import (
	"context"
	"math"
	"math/rand/v2"
)

// gradientGrower grows regression trees on slopes and curvatures that are summed up by bin. Sums of the
// larger child come from the parent's by subtraction.
type gradientGrower struct {
	out     *ensemble
	data    *binned
	l       Booster
	columns []int // drawn ones first
	start   []int // where each drawn column's bins begin in a histogram
	bins    int   // of all drawn columns together
	spare   []int32
	free    [][]sums // histograms not in use
}

// sums over the rows of a bin or a node.
type sums struct {
	slope, curve float64
	rows         int
}

func (s *sums) add(g gradient) {
	s.slope += g.slope
	s.curve += g.curve
	s.rows++
}

func (s sums) plus(o sums) sums  { return sums{s.slope + o.slope, s.curve + o.curve, s.rows + o.rows} }
func (s sums) minus(o sums) sums { return sums{s.slope - o.slope, s.curve - o.curve, s.rows - o.rows} }

// strength returns twice the decrease of the loss by the best leaf value for these rows.
func (s sums) strength(l2 float64) float64 { return s.slope * s.slope / (s.curve + l2) }

func newGradientGrower(out *ensemble, data *binned, l Booster) *gradientGrower {
	g := &gradientGrower{out: out, data: data, l: l, columns: make([]int, len(data.columns)), spare: make([]int32, data.rows)}
	for j := range g.columns {
		g.columns[j] = j
	}
	return g
}

// tree draws columns and adds one tree of these rows, whose order it changes. The gradient of row i is
// gradients[i*stride].
func (g *gradientGrower) tree(ctx context.Context, rows []int32, gradients []gradient, stride int, rnd *rand.Rand) error {
	drawn := 0
	if len(g.columns) > 0 {
		drawn = max(1, int(math.Round(g.l.Columns*float64(len(g.columns)))))
	}
	g.start, g.bins = g.start[:0], 0
	for i := range drawn {
		j := i + rnd.IntN(len(g.columns)-i)
		g.columns[i], g.columns[j] = g.columns[j], g.columns[i]
		g.start = append(g.start, g.bins)
		g.bins += g.data.columns[g.columns[i]].bins()
	}
	histogram := g.histogram()
	g.sum(histogram, rows, gradients, stride)
	var whole sums
	for _, r := range rows {
		whole.add(gradients[int(r)*stride])
	}
	err := g.node(ctx, rows, gradients, stride, histogram, whole, g.l.Depth)
	g.free = append(g.free, histogram)
	return err
}

// histogram returns one that is not in use, cleared.
func (g *gradientGrower) histogram() []sums {
	if len(g.free) > 0 {
		h := g.free[len(g.free)-1]
		g.free = g.free[:len(g.free)-1]
		if cap(h) >= g.bins {
			h = h[:g.bins]
			clear(h)
			return h
		}
	}
	return make([]sums, g.bins)
}

func (g *gradientGrower) sum(histogram []sums, rows []int32, gradients []gradient, stride int) {
	for i, start := range g.start {
		c := &g.data.columns[g.columns[i]]
		h, bin := histogram[start:start+c.bins()], c.bin
		for _, r := range rows {
			h[bin[r]].add(gradients[int(r)*stride])
		}
	}
}

// node adds the tree of these rows, whose sums by bin are in histogram and in all are whole. It overwrites
// the histogram.
func (g *gradientGrower) node(ctx context.Context, rows []int32, gradients []gradient, stride int,
	histogram []sums, whole sums, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at := len(g.out.nodes)
	best := gradientSplit{column: -1}
	if depth > 0 && len(rows) >= 2*g.l.MinLeaf {
		best = g.best(histogram, whole)
	}
	if best.column < 0 {
		value := -g.l.Rate * whole.slope / (whole.curve + g.l.L2)
		g.out.nodes = append(g.out.nodes, node{column: leaf, at: float32(value)})
		return nil
	}
	c := &g.data.columns[best.column]
	g.out.nodes = append(g.out.nodes, node{column: int32(c.column), at: c.threshold(best.below, best.above)})
	middle := part(rows, g.spare, c.bin, uint8(best.below))
	// The smaller child is summed anew, the larger one is the remainder.
	fresh := g.histogram()
	left, right, smaller := histogram, fresh, rows[middle:]
	if middle < len(smaller) {
		left, right, smaller = fresh, histogram, rows[:middle]
	}
	if depth > 1 { // else the children are leaves
		g.sum(fresh, smaller, gradients, stride)
		for i, s := range fresh {
			histogram[i] = histogram[i].minus(s)
		}
	}
	if err := g.node(ctx, rows[:middle], gradients, stride, left, best.left, depth-1); err != nil {
		return err
	}
	g.out.nodes[at].right = int32(len(g.out.nodes))
	err := g.node(ctx, rows[middle:], gradients, stride, right, whole.minus(best.left), depth-1)
	g.free = append(g.free, fresh)
	return err
}

// gradientSplit puts bins up to below on the left and bins from above on the right.
type gradientSplit struct {
	column       int // in binned; -1 for none
	below, above int
	left         sums
	gain         float64
}

// best returns the split that lowers the loss most, the first of equal ones.
func (g *gradientGrower) best(histogram []sums, whole sums) gradientSplit {
	best := gradientSplit{column: -1}
	none := whole.strength(g.l.L2)
	for i, start := range g.start {
		column := g.columns[i]
		h := histogram[start : start+g.data.columns[column].bins()]
		var left sums
		below := -1 // the last bin with rows
		for b := range h {
			if h[b].rows == 0 {
				continue
			}
			right := whole.minus(left)
			if right.rows < g.l.MinLeaf {
				break
			}
			if left.rows >= g.l.MinLeaf {
				gain := left.strength(g.l.L2) + right.strength(g.l.L2) - none
				if gain > best.gain+minGain {
					best = gradientSplit{column: column, below: below, above: b, left: left, gain: gain}
				}
			}
			left = left.plus(h[b])
			below = b
		}
	}
	return best
}

// minGain is the least decrease of the loss by a split beyond the best one so far, above rounding.
const minGain = 1e-9
