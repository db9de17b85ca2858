package trees

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/teachers"
)

// Forest is a random forest (Breiman 2001). Trees are grown by the Gini impurity until their leaves are pure.
// Each node tries a few random columns among those that vary in the node. The forest predicts the class with
// the largest mean frequency in the leaves. It never predicts a class that is missing from the training data.
type Forest struct {
	Trees      int        // 0 means 100
	Columns    int        // columns tried at a node; 0 means the square root of the number of columns, rounded up
	MinLeaf    int        // least weight of a leaf: an example counts once for each draw; 0 means 1
	Bins       int        // largest number of bins of a column, 2 to 256; 0 means 256
	Thresholds Thresholds // default [BestThresholds]
}

// Thresholds selects how a forest chooses the threshold of a column in a node.
type Thresholds int

const (
	// BestThresholds tries all thresholds, and grows each tree on a bootstrap sample (random forest). It
	// suits columns of categories better than RandomThresholds.
	BestThresholds Thresholds = iota
	// RandomThresholds draws one uniform threshold in the range of a column, and grows each tree on all data
	// (extremely randomised trees, Geurts et al. 2006). It suits numeric columns better.
	RandomThresholds
)

func (Forest) Reproducible() bool { return true }

func (l Forest) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	if l.Thresholds != BestThresholds && l.Thresholds != RandomThresholds {
		return nil, fmt.Errorf("trees: Forest.Thresholds is %d, want BestThresholds or RandomThresholds", l.Thresholds)
	}
	if l.Trees < 0 || l.Columns < 0 || l.MinLeaf < 0 {
		return nil, fmt.Errorf("trees: Forest has a negative field: Trees %d, Columns %d, MinLeaf %d", l.Trees, l.Columns, l.MinLeaf)
	}
	l.Trees, l.MinLeaf = cmp.Or(l.Trees, 100), max(1, l.MinLeaf)
	l.Columns = cmp.Or(l.Columns, int(math.Ceil(math.Sqrt(float64(data.X.Cols)))))
	var err error
	if l.Bins, err = binsOrDefault("Forest", l.Bins, maxBins); err != nil {
		return nil, err
	}
	m := &forest{}
	m.score = m.meanShares
	return fit(ctx, "forest", m, &m.ensemble, data, l.Bins, func(b *binned, class []int32) error {
		g := newGiniGrower(m, b, class, l)
		for range l.Trees {
			if err := g.tree(ctx, rnd); err != nil {
				return err
			}
		}
		return nil
	})
}

type forest struct {
	ensemble
	leaves []classShare // classes of all leaves, one leaf after the other
	ends   []int32      // end of each leaf's classes in leaves
}

type classShare struct {
	class int32 // index in present
	share float32
}

func (m *forest) addLeaf(weights []int32, total int32) int32 {
	for k, w := range weights {
		if w > 0 {
			m.leaves = append(m.leaves, classShare{int32(k), float32(w) / float32(total)})
		}
	}
	m.ends = append(m.ends, int32(len(m.leaves)))
	return int32(len(m.ends) - 1)
}

func (m *forest) meanShares(scores, x teachers.Matrix) {
	r := newRouter(x, func(leaf *node, rows []int32) {
		from := int32(0)
		if leaf.right > 0 {
			from = m.ends[leaf.right-1]
		}
		for _, l := range m.leaves[from:m.ends[leaf.right]] {
			for _, i := range rows {
				scores.Data[int(i)*scores.Stride+int(l.class)] += l.share
			}
		}
	})
	clear(scores.Data[:x.Rows*scores.Stride])
	for _, root := range m.roots {
		r.tree(m.nodes, root)
	}
	for i := range scores.Data[:x.Rows*scores.Stride] {
		scores.Data[i] /= float32(len(m.roots))
	}
}

// giniGrower computes impurities from exact sums of squared integers. So the best split does not depend on
// the order of rows.
type giniGrower struct {
	out     *forest
	data    *binned
	class   []int32 // of every row, as an index into the classes present
	try     int
	minLeaf int32
	random  bool // draw thresholds at random, without bootstrap

	weight  []int32 // number of times that the bootstrap drew each row
	rows    []int32 // drawn rows, ordered so that the rows of every node are contiguous
	spare   []int32
	columns []int32 // ordered so that a node's varying columns come first
	total   []int32 // weight of each class in the node
	left    []int32 // weight of each class in the left bins
	ordered []binnedRow
	buckets [maxBins + 1]int32
}

type binnedRow struct{ bin, class, weight int32 }

func newGiniGrower(out *forest, data *binned, class []int32, l Forest) *giniGrower {
	n, classes := data.rows, len(out.Present)
	return &giniGrower{
		out: out, data: data, class: class, try: l.Columns, minLeaf: int32(l.MinLeaf), random: l.Thresholds == RandomThresholds,
		weight: make([]int32, n), rows: make([]int32, 0, n), spare: make([]int32, n), ordered: make([]binnedRow, n),
		columns: make([]int32, len(data.columns)), total: make([]int32, classes), left: make([]int32, classes),
	}
}

func (g *giniGrower) tree(ctx context.Context, rnd *rand.Rand) error {
	clear(g.weight)
	for i := range g.weight {
		if !g.random {
			i = rnd.IntN(len(g.weight))
		}
		g.weight[i]++
	}
	g.rows = g.rows[:0]
	for i, w := range g.weight {
		if w > 0 {
			g.rows = append(g.rows, int32(i))
		}
	}
	for j := range g.columns {
		g.columns[j] = int32(j)
	}
	g.out.roots = append(g.out.roots, int32(len(g.out.nodes)))
	return g.grow(ctx, g.rows, len(g.columns), rnd)
}

func (g *giniGrower) grow(ctx context.Context, rows []int32, varying int, rnd *rand.Rand) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	clear(g.total)
	var weight int32
	for _, r := range rows {
		g.total[g.class[r]] += g.weight[r]
		weight += g.weight[r]
	}
	at := len(g.out.nodes)
	g.out.nodes = append(g.out.nodes, node{column: leaf})
	split, varying := g.best(rows, weight, varying, rnd)
	if split.column < 0 {
		g.out.nodes[at].right = g.out.addLeaf(g.total, weight)
		return nil
	}
	c := &g.data.columns[split.column]
	g.out.nodes[at] = node{column: int32(c.column), at: split.at}
	middle := part(rows, g.spare, c.bin, uint8(split.below))
	if err := g.grow(ctx, rows[:middle], varying, rnd); err != nil {
		return err
	}
	g.out.nodes[at].right = int32(len(g.out.nodes))
	return g.grow(ctx, rows[middle:], varying, rnd)
}

type split struct {
	column  int // index in binned; -1 for none
	below   int
	at      float32
	quality float64 // larger is purer
}

func (g *giniGrower) best(rows []int32, weight int32, varying int, rnd *rand.Rand) (split, int) {
	var squares int64
	for _, w := range g.total {
		squares += int64(w) * int64(w)
	}
	found := split{column: -1, quality: -1}
	if squares == int64(weight)*int64(weight) || weight < 2*g.minLeaf {
		return found, varying
	}
	// The tried columns are in front, and the columns known to be constant are at the end, from index varying
	// on. After g.try columns, continue only if no split was found.
	for tried := 0; tried < varying && (tried < g.try || found.column < 0); {
		pick := tried + rnd.IntN(varying-tried)
		g.columns[tried], g.columns[pick] = g.columns[pick], g.columns[tried]
		j := g.columns[tried]
		first, last := g.span(rows, g.data.columns[j].bin)
		if first == last {
			varying--
			g.columns[tried], g.columns[varying] = g.columns[varying], g.columns[tried]
			continue
		}
		tried++
		side := halves{rightSquares: squares, rightWeight: int64(weight)}
		clear(g.left)
		if g.random {
			g.once(int(j), rows, first, last, side, &found, rnd)
		} else {
			g.order(rows, &g.data.columns[j])
			g.scan(int(j), len(rows), side, &found)
		}
	}
	return found, varying
}

const fewRows = 24

func (g *giniGrower) span(rows []int32, bin []uint8) (first, last uint8) {
	first, last = bin[rows[0]], bin[rows[0]]
	for _, r := range rows[1:] {
		b := bin[r]
		first, last = min(first, b), max(last, b)
	}
	return first, last
}

func (g *giniGrower) order(rows []int32, c *binnedColumn) {
	bin := c.bin
	out := g.ordered[:len(rows)]
	if len(rows) <= fewRows {
		for i, r := range rows {
			x := binnedRow{int32(bin[r]), g.class[r], g.weight[r]}
			for ; i > 0 && out[i-1].bin > x.bin; i-- {
				out[i] = out[i-1]
			}
			out[i] = x
		}
		return
	}
	buckets := g.buckets[:c.bins()+1]
	clear(buckets)
	for _, r := range rows {
		buckets[int(bin[r])+1]++
	}
	for b := 1; b < len(buckets); b++ {
		buckets[b] += buckets[b-1]
	}
	for _, r := range rows {
		b := bin[r]
		out[buckets[b]] = binnedRow{int32(b), g.class[r], g.weight[r]}
		buckets[b]++
	}
}

type halves struct {
	leftSquares, rightSquares int64
	leftWeight, rightWeight   int64
}

func (g *giniGrower) move(h *halves, class, weight int32) {
	w, left := int64(weight), int64(g.left[class])
	right := int64(g.total[class]) - left
	h.leftSquares += w * (2*left + w)
	h.rightSquares -= w * (2*right - w)
	h.leftWeight += w
	h.rightWeight -= w
	g.left[class] += weight
}

// quality returns a value that is larger for a smaller weighted Gini impurity of the two halves. The value is
// -1 if a half is smaller than the smallest leaf.
func (g *giniGrower) quality(h halves) float64 {
	if min(h.leftWeight, h.rightWeight) < int64(g.minLeaf) {
		return -1
	}
	return float64(h.leftSquares)/float64(h.leftWeight) + float64(h.rightSquares)/float64(h.rightWeight)
}

func (g *giniGrower) scan(column, n int, side halves, found *split) {
	ordered := g.ordered[:n]
	for i := 0; ; {
		bin := ordered[i].bin
		for ; i < n && ordered[i].bin == bin; i++ {
			g.move(&side, ordered[i].class, ordered[i].weight)
		}
		if i == n {
			return
		}
		if q := g.quality(side); q > found.quality {
			at := g.data.columns[column].threshold(int(bin), int(ordered[i].bin))
			*found = split{column: column, below: int(bin), at: at, quality: q}
		}
	}
}

func (g *giniGrower) once(column int, rows []int32, first, last uint8, side halves, found *split, rnd *rand.Rand) {
	c := &g.data.columns[column]
	below, at := c.random(int(first), int(last), rnd)
	for _, r := range rows {
		if int(c.bin[r]) <= below {
			g.move(&side, g.class[r], g.weight[r])
		}
	}
	if q := g.quality(side); q > found.quality {
		*found = split{column: column, below: below, at: at, quality: q}
	}
}
