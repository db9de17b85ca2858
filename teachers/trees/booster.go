package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// Booster is gradient boosting on histograms. Each round adds one regression tree per class, or one tree if
// there are two classes. A tree fits the gradient and curvature of the multinomial loss on random rows and
// columns. A class that is missing from the training data is never predicted.
type Booster struct {
	Rounds  int     // 0 means 100
	Rate    float64 // learning rate: factor on the values of each tree; 0 means 0.1
	Depth   int     // largest depth of a tree; 0 means 4
	MinLeaf int     // least number of rows of a leaf; 0 means 5
	L2      float64 // penalty on leaf values, in units of curvature; 0 means 1
	Rows    float64 // fraction of the rows drawn for a round; 0 means 0.8
	Columns float64 // fraction of the columns drawn for a tree; 0 means 0.5
	Bins    int     // largest number of bins of a column, 2 to 256; 0 means 64
}

func (Booster) Reproducible() bool { return true }

func (l Booster) withDefaults() (Booster, error) {
	if l.Rounds < 0 || l.Depth < 0 || l.MinLeaf < 0 {
		return l, fmt.Errorf("trees: Booster has a negative field: Rounds %d, Depth %d, MinLeaf %d", l.Rounds, l.Depth, l.MinLeaf)
	}
	l.Rounds, l.Depth, l.MinLeaf = cmp.Or(l.Rounds, 100), cmp.Or(l.Depth, 4), cmp.Or(l.MinLeaf, 5)
	for _, f := range []struct {
		name           string
		value          *float64
		standard, most float64
	}{{"Rate", &l.Rate, 0.1, 1}, {"L2", &l.L2, 1, math.MaxFloat32}, {"Rows", &l.Rows, 0.8, 1}, {"Columns", &l.Columns, 0.5, 1}} {
		*f.value = cmp.Or(*f.value, f.standard)
		if !(*f.value > 0 && *f.value <= f.most) {
			return l, fmt.Errorf("trees: Booster.%s is %v, want a positive number up to %g", f.name, *f.value, f.most)
		}
	}
	var err error
	l.Bins, err = binsOrDefault("Booster", l.Bins, 64)
	return l, err
}

func (l Booster) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	l, err := l.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &booster{}
	m.score = m.probabilities
	return fit(ctx, "booster", m, &m.ensemble, data, l.Bins, func(b *binned, class []int32) error {
		return newBoosting(m, l, data.X, b, class).run(ctx, rnd)
	})
}

// booster is a fitted Booster. With two classes in the training data, booster has one logit: the log odds of
// the second class. With more classes, each class has a logit. Tree t adds its output to the logit with index
// t modulo the number of logits.
type booster struct {
	ensemble
	prior []float32 // one value for each logit
}

func (m *booster) probabilities(scores, x teachers.Matrix) {
	logit := 0
	r := newRouter(x, func(leaf *node, rows []int32) {
		for _, i := range rows {
			scores.Data[int(i)*scores.Stride+logit] += leaf.at
		}
	})
	for i := range x.Rows {
		copy(dense.Row(scores, i), m.prior)
	}
	for t, root := range m.roots {
		logit = t % len(m.prior)
		r.tree(m.nodes, root)
	}
	for i := range x.Rows {
		v := dense.Row(scores, i)
		if len(m.prior) == 1 {
			v[0], v[1] = 0, v[0]
		}
		probabilities(v)
	}
}

func probabilities(v []float32) {
	top := slices.Max(v)
	var sum float64
	for k, x := range v {
		e := math.Exp(float64(x - top))
		v[k] = float32(e)
		sum += e
	}
	for k := range v {
		v[k] = float32(float64(v[k]) / sum)
	}
}

type boosting struct {
	out    *booster
	l      Booster
	x      teachers.Matrix
	class  []int32   // of every row, as an index into the classes present
	logits []float32 // rows x logits
	grow   *gradientGrower
}

func newBoosting(out *booster, l Booster, x teachers.Matrix, data *binned, class []int32) *boosting {
	count := make([]float64, len(out.Present))
	for _, c := range class {
		count[c]++
	}
	if len(count) == 2 {
		out.prior = []float32{float32(math.Log(count[1] / count[0]))}
	} else {
		for _, n := range count {
			out.prior = append(out.prior, float32(math.Log(n/float64(len(class)))))
		}
	}
	b := &boosting{out: out, l: l, x: x, class: class, grow: newGradientGrower(&out.ensemble, data, l)}
	for range class {
		b.logits = append(b.logits, out.prior...)
	}
	return b
}

func (b *boosting) run(ctx context.Context, rnd *rand.Rand) error {
	n, k := len(b.class), len(b.out.prior)
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	drawn := max(1, int(math.Round(b.l.Rows*float64(n))))
	p := make([]float32, max(2, k))
	gradients := make([]gradient, n*k)
	rows := make([]int32, drawn)
	logit := 0
	router := newRouter(b.x, func(leaf *node, rows []int32) {
		for _, i := range rows {
			b.logits[int(i)*k+logit] += leaf.at
		}
	})
	for range b.l.Rounds {
		for i := range n {
			b.gradients(gradients[i*k:(i+1)*k], p, i)
		}
		for i := range drawn { // draw rows into the front of order, which the next round shuffles further
			j := i + rnd.IntN(n-i)
			order[i], order[j] = order[j], order[i]
		}
		for logit = range k {
			copy(rows, order)
			slices.Sort(rows) // summing in memory order is faster
			root := int32(len(b.out.nodes))
			if err := b.grow.tree(ctx, rows, gradients[logit:], k, rnd); err != nil {
				return err
			}
			b.out.roots = append(b.out.roots, root)
			router.tree(b.out.nodes, root)
		}
	}
	return nil
}

type gradient struct{ slope, curve float64 }

func (b *boosting) gradients(dst []gradient, p []float32, i int) {
	k := len(dst)
	if k == 1 {
		p[0], p[1] = 0, b.logits[i]
		probabilities(p)
		q := float64(p[1])
		dst[0] = gradient{q - float64(b.class[i]), max(q*(1-q), minCurve)}
		return
	}
	copy(p, b.logits[i*k:(i+1)*k])
	probabilities(p)
	// The logits of k classes have k-1 degrees of freedom. Separate steps in each logit would overshoot by
	// k/(k-1) (Friedman 2001).
	overlap := float64(k) / float64(k-1)
	for c := range dst {
		q := float64(p[c])
		dst[c] = gradient{q, max(overlap*q*(1-q), minCurve)}
	}
	dst[b.class[i]].slope--
}

const minCurve = 1e-12

// gradientGrower grows regression trees from histograms. A histogram has the sums of the loss's slopes and
// curvatures in each bin.
type gradientGrower struct {
	out     *ensemble
	data    *binned
	l       Booster
	columns []int // drawn columns first
	start   []int // index of each drawn column's first bin in a histogram
	bins    int   // number of bins of all drawn columns together
	spare   []int32
	free    [][]sums // unused histograms
}

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

func (s sums) strength(l2 float64) float64 { return s.slope * s.slope / (s.curve + l2) }

func newGradientGrower(out *ensemble, data *binned, l Booster) *gradientGrower {
	g := &gradientGrower{out: out, data: data, l: l, columns: make([]int, len(data.columns)), spare: make([]int32, data.rows)}
	for j := range g.columns {
		g.columns[j] = j
	}
	return g
}

// tree adds one tree for the given rows, and reorders rows. The gradient of row i is gradients[i*stride].
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

// node adds the subtree for the given rows, and overwrites histogram. The rows' gradients have the sum
// `whole`.
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
	// Sum the smaller child. Subtract it from the parent to get the larger child.
	fresh := g.histogram()
	left, right, smaller := histogram, fresh, rows[middle:]
	if middle < len(smaller) {
		left, right, smaller = fresh, histogram, rows[:middle]
	}
	if depth > 1 { // otherwise the children are leaves
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

type gradientSplit struct {
	column       int // index in binned; -1 for none
	below, above int
	left         sums
	gain         float64
}

func (g *gradientGrower) best(histogram []sums, whole sums) gradientSplit {
	best := gradientSplit{column: -1}
	none := whole.strength(g.l.L2)
	for i, start := range g.start {
		column := g.columns[i]
		h := histogram[start : start+g.data.columns[column].bins()]
		var left sums
		below := -1 // the last nonempty bin before b
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

// minGain is the least margin by which a split must be better, because gains have rounding errors.
const minGain = 1e-9
