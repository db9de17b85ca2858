package marginals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

// released is what a tree releases of fixed noisy columns.
func (t *Tree) released(test require.TestingT, key rng.Key, columns [][]int64, cells [][]int) []Pair {
	r := testledger.Reserve(test, t.cfg.Relation, t.Events()[0])
	s := testledger.Reserve(test, t.cfg.Relation, t.Events()[1])
	return testkit.Must(t.Release(r, s, key, columns, cells))
}

// best returns the edges of the spanning tree of highest scores in the order of choice, by the formula and for
// any number of units in place of the noisy one.
func (l layout) best(total float64, cells [][]int) (chosen [][2]int) {
	scores := map[[2]int]float64{}
	for _, e := range edges(len(l.sizes)) {
		for i, n := range l.exact(e, cells) {
			expected := l.masses[e[0]][i/l.sizes[e[1]]] / l.total * l.masses[e[1]][i%l.sizes[e[1]]] / l.total * total
			scores[e] += math.Abs(n-expected) - math.Sqrt(expected*2/math.Pi)
		}
	}
	part := make([]int, len(l.sizes))
	for i := range part {
		part[i] = i
	}
	for len(chosen) < len(part)-1 {
		var best [2]int
		high := math.Inf(-1)
		for e, s := range scores {
			if part[e[0]] != part[e[1]] && s > high {
				best, high = e, s
			}
		}
		chosen = append(chosen, best)
		joined, gone := part[best[0]], part[best[1]]
		for i, p := range part {
			if p == gone {
				part[i] = joined
			}
		}
	}
	return chosen
}

// exact returns the counts of two columns. A unit that is in no bin of one of them is not counted.
func (l layout) exact(e [2]int, cells [][]int) []float64 {
	table := make([]float64, l.sizes[e[0]]*l.sizes[e[1]])
	for _, unit := range cells {
		if a, b := unit[e[0]], unit[e[1]]; a != None && b != None {
			table[l.groups[e[0]][a]*l.sizes[e[1]]+l.groups[e[1]][b]]++
		}
	}
	return table
}

// Without noise, edges and tables of a release are those of the formula: the noisy columns and their total
// scale the product, units without a bin are in no cell. Control: the true number of units would choose others.
func TestReleaseIsTheFormula(t *testing.T) {
	tree := testkit.Must(NewTree(TreeConfig{Bins: []int{2, 3, 2, 4}, Ordered: []int{0, 3, 0, 4}, Scale: 0x1p-12, Sigma: 0x1p-9, Relation: accountant.AddRemove}))
	rnd, differ := rand.New(rand.NewPCG(5, 5)), 0
	for world := range 40 {
		var cells [][]int
		for range 30 + rnd.IntN(60) {
			a, b := rnd.IntN(2), rnd.IntN(3)
			unit := []int{a, b, (a + rnd.IntN(5)/4) % 2, (a + b + rnd.IntN(3)/2) % 4}
			if rnd.IntN(4) == 0 {
				unit[rnd.IntN(4)] = None
			}
			cells = append(cells, unit)
		}
		var columns [][]int64
		for _, n := range tree.cfg.Bins {
			column := make([]int64, n)
			for b := range column {
				column[b] = int64(rnd.IntN(80) - 10)
			}
			columns = append(columns, column)
		}
		l := tree.layout(columns)
		var chosen [][2]int
		for _, p := range tree.released(t, rng.SeedKey(uint64(world)), columns, cells) {
			chosen = append(chosen, p.Columns)
			for i, n := range l.exact(p.Columns, cells) {
				require.EqualValues(t, n, p.Counts[i], "%v", p)
			}
		}
		require.Equal(t, l.best(l.total, cells), chosen, world)
		if !slices.Equal(chosen, l.best(float64(len(cells)), cells)) {
			differ++
		}
	}
	require.Greater(t, differ, 5)
}

// Every cell of every table has the noise that is charged, the first and the last as well: mean squares of 400
// releases. False-alarm rate 1e-6.
func TestEveryCellHasNoise(t *testing.T) {
	const releases, sigma = 400, 3.
	tree := planted(accountant.AddRemove, 0x1p-12, sigma)
	cells := slices.Repeat([][]int{{0, 0, 0}, {None, 0, 0}}, 5)
	squares := map[string]float64{}
	for i := range releases {
		for _, p := range tree.released(t, rng.SeedKey(uint64(i)), [][]int64{{300, 300}, {200, 200, 200}, {300, 300}}, cells) {
			for cell, n := range p.Counts {
				if cell == 0 {
					n -= 5
				}
				squares[fmt.Sprint(p.Columns, cell)] += float64(n*n) / (sigma * sigma)
			}
		}
	}
	require.Len(t, squares, 10)
	for cell, square := range squares {
		require.InEpsilon(t, releases, square, 5.5*math.Sqrt(2./releases), cell)
	}
}

// Two releases of one ledger with one key have different noise. A ledger of another relation is refused, and so
// is a seed where noise is secret.
func TestTreeOfAnEntry(t *testing.T) {
	tree := planted(accountant.AddRemove, 2, 30)
	for _, c := range []struct {
		relation accountant.Relation
		noise    ledger.Noise
	}{{relation: accountant.AddRemove}, {relation: accountant.ReplaceOne}, {accountant.AddRemove, ledger.SecretNoise}} {
		book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: c.relation, Noise: c.noise, Epsilon: 1e9, Delta: 1 - 1e-9}))
		r := testkit.Must(book.ReserveBatch(slices.Repeat(tree.Events(), 2)))
		first, err := tree.Release(r[0], r[1], rng.SeedKey(1), noisyColumns, nil)
		if c.relation != accountant.AddRemove || c.noise != "" {
			require.ErrorIs(t, err, ledger.ErrUnfit)
			continue
		}
		require.NoError(t, err)
		require.NotEqual(t, first, testkit.Must(tree.Release(r[2], r[3], rng.SeedKey(1), noisyColumns, nil)))
	}
}
