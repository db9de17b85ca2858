package trees

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers"
)

// drawTable draws a small share with few values in a column, so that ties, equal rows and constant columns
// are common.
func drawTable(t *rapid.T) teachers.Dataset {
	n, cols := rapid.IntRange(2, 12).Draw(t, "rows"), rapid.IntRange(1, 4).Draw(t, "columns")
	data := teachers.Dataset{
		X:       teachers.Matrix{Rows: n, Cols: cols, Stride: cols, Data: make([]float32, n*cols)},
		Y:       make([]int, n),
		Classes: rapid.IntRange(2, 4).Draw(t, "classes"),
	}
	values := rapid.SampledFrom([]float32{-3e38, -1, -0.5, 0, 0.25, 1, 3, 3e38})
	for i := range data.X.Data {
		data.X.Data[i] = values.Draw(t, "value")
	}
	for i := range data.Y {
		data.Y[i] = rapid.IntRange(0, data.Classes-1).Draw(t, "class")
	}
	return data
}

// thresholds returns one value between each two neighbouring values of a column.
func thresholds(x teachers.Matrix, column int) []float32 {
	var values []float32
	for i := range x.Rows {
		values = append(values, dense.Row(x, i)[column])
	}
	slices.Sort(values)
	values = slices.Compact(values)
	return values[:len(values)-1] // "not above the smaller one" is enough
}

// TestGiniSplitsAreTheBest compares a node that tries all columns with all splits, found by counting.
func TestGiniSplitsAreTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawTable(t)
		bins := testkit.Must(newBinned(context.Background(), data.X, maxBins))
		present, class := dense.Present[int32](data.Y, data.Classes)
		weight := make([]int32, data.X.Rows)
		var rows []int32
		var total int32
		for i := range weight {
			weight[i] = int32(rapid.IntRange(1, 3).Draw(t, "weight"))
			total += weight[i]
			rows = append(rows, int32(i))
		}
		minLeaf := rapid.IntRange(1, 3).Draw(t, "min leaf")
		g := newGiniGrower(&forest{ensemble: ensemble{ScoreModel: teachers.ScoreModel{Present: present}}}, bins, class, Forest{Columns: data.X.Cols, MinLeaf: minLeaf})
		copy(g.weight, weight)
		for j := range g.columns {
			g.columns[j] = int32(j)
		}
		for i, w := range weight {
			g.total[class[i]] += w
		}
		found, varying := g.best(rows, total, len(g.columns), rand.New(rand.NewPCG(1, 2)))

		impurity := func(column int, at float32) (float64, bool) {
			sum := 0.
			for _, right := range []bool{false, true} {
				count, n := make([]float64, data.Classes), 0.
				for i, y := range data.Y {
					if dense.Row(data.X, i)[column] > at == right {
						count[y] += float64(weight[i])
						n += float64(weight[i])
					}
				}
				if n < float64(minLeaf) {
					return 0, false
				}
				gini := 1.
				for _, c := range count {
					gini -= c / n * c / n
				}
				sum += n * gini
			}
			return sum, true
		}
		best := math.Inf(1)
		vary := 0
		for j := range data.X.Cols {
			cuts := thresholds(data.X, j)
			vary += min(1, len(cuts))
			for _, at := range cuts {
				if v, ok := impurity(j, at); ok {
					best = min(best, v)
				}
			}
		}
		if len(present) == 1 || math.IsInf(best, 1) {
			require.Equal(t, -1, found.column, "there is nothing to split")
			return
		}
		require.Equal(t, vary, varying)
		require.GreaterOrEqual(t, found.column, 0)
		v, ok := impurity(bins.columns[found.column].column, found.at)
		require.True(t, ok, "the split leaves too small a leaf")
		require.InDelta(t, best, v, 1e-9)
	})
}

// TestGradientSplitsAreTheBest does the same for the booster, whose sums come from histograms.
func TestGradientSplitsAreTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := drawTable(t)
		bins := testkit.Must(newBinned(context.Background(), data.X, maxBins))
		l := Booster{Rate: 1, L2: 0.5, Depth: 1, MinLeaf: rapid.IntRange(1, 3).Draw(t, "min leaf"), Columns: 1}
		gradients := make([]gradient, data.X.Rows)
		rows := make([]int32, data.X.Rows)
		for i := range rows {
			rows[i] = int32(i)
			gradients[i] = gradient{rapid.Float64Range(-1, 1).Draw(t, "slope"), rapid.Float64Range(0.01, 0.25).Draw(t, "curve")}
		}
		out := &ensemble{}
		require.NoError(t, newGradientGrower(out, bins, l).tree(t.Context(), slices.Clone(rows), gradients, 1, rand.New(rand.NewPCG(1, 2))))

		// gain returns what a split takes off the loss, and the values of its leaves.
		gain := func(column int, at float32) (taken float64, value [2]float64, ok bool) {
			var slope, curve [2]float64
			var n [2]int
			for i := range rows {
				side := 0
				if dense.Row(data.X, i)[column] > at {
					side = 1
				}
				slope[side] += gradients[i].slope
				curve[side] += gradients[i].curve
				n[side]++
			}
			for side := range n {
				value[side] = -slope[side] / (curve[side] + l.L2)
				taken += slope[side] * slope[side] / (curve[side] + l.L2)
			}
			s, c := slope[0]+slope[1], curve[0]+curve[1]
			return taken - s*s/(c+l.L2), value, min(n[0], n[1]) >= l.MinLeaf
		}
		best := 0.
		for j := range data.X.Cols {
			for _, at := range thresholds(data.X, j) {
				if v, _, ok := gain(j, at); ok {
					best = max(best, v)
				}
			}
		}
		if best < 1e-6 {
			return // rounding decides
		}
		require.Len(t, out.nodes, 3)
		root := out.nodes[0]
		v, value, ok := gain(int(root.column), root.at)
		require.True(t, ok, "the split leaves too small a leaf")
		require.InDelta(t, best, v, 1e-6)
		require.InDelta(t, value[0], out.nodes[1].at, 1e-6)
		require.InDelta(t, value[1], out.nodes[root.right].at, 1e-6)
	})
}

// TestSubtractedSumsAreTheSums: the sums that a node gets by subtraction are those of its rows. Every leaf
// of a deep tree has the value that its rows give.
func TestSubtractedSumsAreTheSums(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	const n, cols = 400, 6
	x := teachers.Matrix{Rows: n, Cols: cols, Stride: cols, Data: make([]float32, n*cols)}
	for i := range x.Data {
		x.Data[i] = float32(rnd.IntN(40 * (1 + i%cols)))
	}
	bins := testkit.Must(newBinned(t.Context(), x, 64))
	gradients, rows := make([]gradient, n), make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
		gradients[i] = gradient{rnd.NormFloat64(), 0.1 + rnd.Float64()}
	}
	l := Booster{Rate: 0.3, L2: 1, Depth: 6, MinLeaf: 3, Columns: 0.7}
	out := &ensemble{}
	g := newGradientGrower(out, bins, l)
	for range 3 { // the second and third reuse memory
		root := int32(len(out.nodes))
		require.NoError(t, g.tree(t.Context(), slices.Clone(rows), gradients, 1, rnd))
		sum := map[*node]*sums{}
		newRouter(x, func(leaf *node, rows []int32) {
			sum[leaf] = &sums{}
			for _, i := range rows {
				require.Same(t, walk(out.nodes, root, dense.Row(x, int(i))), leaf)
				sum[leaf].add(gradients[i])
			}
		}).tree(out.nodes, root)
		require.Greater(t, len(sum), 20)
		for leaf, s := range sum {
			require.GreaterOrEqual(t, s.rows, l.MinLeaf)
			require.InDelta(t, -l.Rate*s.slope/(s.curve+l.L2), leaf.at, 1e-6)
		}
	}
}

func walk(nodes []node, at int32, x []float32) *node {
	for n := &nodes[at]; ; n = &nodes[at] {
		switch {
		case n.column == leaf:
			return n
		case x[n.column] <= n.at:
			at++
		default:
			at = n.right
		}
	}
}

// TestAHeavyLastValueHasABinOfItsOwn: a column with two values can be split.
func TestAHeavyLastValueHasABinOfItsOwn(t *testing.T) {
	low, high := cut([]float32{-1.5, -1, 1, 1, 1, 1}, 2)
	require.Equal(t, []float32{-1.5, 1}, low)
	require.Equal(t, []float32{-1, 1}, high)
}

// TestBinsKeepTheOrder: rows of a lower bin are below every threshold to a higher one, bins are as few as
// asked, and with few values each has its own.
func TestBinsKeepTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), 2, 60).Draw(t, "values")
		for range rapid.IntRange(0, 40).Draw(t, "copies") {
			values = append(values, values[rapid.IntRange(0, len(values)-1).Draw(t, "copy")])
		}
		most := rapid.IntRange(2, 20).Draw(t, "most")
		distinct := slices.Clone(values)
		slices.Sort(distinct)
		distinct = slices.Compact(distinct)
		b := testkit.Must(newBinned(context.Background(), teachers.Matrix{Rows: len(values), Cols: 1, Stride: 1, Data: values}, most))
		if len(distinct) == 1 {
			require.Empty(t, b.columns)
			return
		}
		c := &b.columns[0]
		require.LessOrEqual(t, c.bins(), max(2, most))
		require.GreaterOrEqual(t, c.bins(), 2)
		if len(distinct) <= most {
			require.Equal(t, len(distinct), c.bins())
		}
		rnd, last := rand.New(rand.NewPCG(1, 2)), c.bins()-1
		for below := range last {
			at := c.threshold(below, below+1)
			b, random := c.random(below, last, rnd)
			require.True(t, below <= b && b < last)
			for i, v := range values {
				require.Equal(t, int(c.bin[i]) <= b, v <= random)
				require.Equal(t, int(c.bin[i]) <= below, v <= at)
			}
		}
	})
}

// TestRandomThresholdsAreUniform has 2,000 draws between 0 and 1 in a column whose only values these are. A
// Kolmogorov distance of 1.95/√n has probability 0.001.
func TestRandomThresholdsAreUniform(t *testing.T) {
	c := binnedColumn{low: []float32{0, 1}, high: []float32{0, 1}}
	rnd := rand.New(rand.NewPCG(3, 4))
	draws := make([]float64, 2000)
	for i := range draws {
		below, at := c.random(0, 1, rnd)
		require.Zero(t, below)
		draws[i] = float64(at)
	}
	slices.Sort(draws)
	for i, v := range draws {
		require.InDelta(t, float64(i)/float64(len(draws)), v, 1.95/math.Sqrt(float64(len(draws))))
	}
}
