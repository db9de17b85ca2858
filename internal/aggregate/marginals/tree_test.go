package marginals

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// noisyColumns are released counts of three columns. Worlds of tests hold them fixed.
var noisyColumns = [][]int64{{3, 1}, {2, -1, 1}, {0, 5}}

func planted(relation accountant.Relation, scale, sigma float64) *Tree {
	return testkit.Must(NewTree(TreeConfig{Bins: []int{2, 3, 2}, Ordered: []int{0, 3, 0}, Scale: scale, Sigma: sigma, Relation: relation}))
}

// law returns the log probabilities of all sequences of edges of three columns, in a fixed order.
func (t *Tree) law(scores []int64) (logs []float64) {
	softmax := func(of ...int64) []float64 {
		sum, logs := 0.0, make([]float64, len(of))
		for _, s := range of {
			sum += math.Exp(float64(s-of[0]) / scoreUnit / t.cfg.Scale)
		}
		for i, s := range of {
			logs[i] = float64(s-of[0])/scoreUnit/t.cfg.Scale - math.Log(sum)
		}
		return logs
	}
	first := softmax(scores...)
	for e, p := range first { // any second edge joins the third column
		var left []int64
		for f, s := range scores {
			if f != e {
				left = append(left, s)
			}
		}
		for _, q := range softmax(left...) {
			logs = append(logs, p+q)
		}
	}
	return logs
}

// worlds returns all multisets of up to n units, as ascending indices.
func worlds(kinds, n int) [][]int {
	all := [][]int{nil}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, w := range all[from:to] {
			first := 0
			if len(w) > 0 {
				first = w[len(w)-1]
			}
			for k := first; k < kinds; k++ {
				all = append(all, append(slices.Clone(w), k))
			}
		}
		from = to
	}
	return all
}

// Every table of up to four rows, of three columns with two or three values or none, and every neighbour: the
// divergence of the edges is within the claim. Controls, which the same enumeration refutes: half of the
// range, which would do if scores were monotone; one round charged for two, as with a label in the tree that
// is not charged; add/remove's event where a unit is replaced; scores with the true number of rows.
func TestEdgesOfAllWorlds(t *testing.T) {
	kinds := units([]int{2, 3, 2})
	for relation, rows := range map[accountant.Relation]int{accountant.AddRemove: 4, accountant.ReplaceOne: 3} {
		if !*long {
			rows--
		}
		for _, columns := range [][][]int64{noisyColumns, {{-3, 9}, {4, 0, -1}, {1, 1}}} { // without merged bins, and with
			tree := planted(relation, 1.3, 1)
			l, one := tree.layout(columns), tree.Events()[0].(accountant.Repeated)
			for name, c := range map[string]struct {
				event  accountant.Event
				scores func(cells [][]int) []int64
				wrong  bool
			}{
				"as charged":   {event: one},
				"half range":   {event: accountant.Repeated{Event: accountant.ExponentialMechanism{Epsilon: one.Event.(accountant.ExponentialMechanism).Epsilon / 2}, Count: 2}, wrong: true},
				"one round":    {event: one.Event, wrong: true},
				"not replaced": {event: planted(accountant.AddRemove, 1.3, 1).Events()[0], wrong: relation == accountant.ReplaceOne},
				"true rows": {event: one, wrong: relation == accountant.AddRemove, scores: func(cells [][]int) []int64 {
					of, scale := l, (float64(len(cells))+1e-9)/l.total
					of.total, of.masses = of.total*scale, nil
					for _, masses := range l.masses {
						scaled := slices.Clone(masses)
						for i := range scaled {
							scaled[i] *= scale
						}
						of.masses = append(of.masses, scaled)
					}
					return of.scores(of.group(cells))
				}},
			} {
				if c.scores == nil {
					c.scores = func(cells [][]int) []int64 { return l.scores(l.group(cells)) }
				}
				pure, renyi := tree.excess(t, relation, c.event, c.scores, kinds, rows)
				t.Logf("%v, groups %v, %s: of the claim %.4f, of its divergence %.4f", relation, l.sizes, name, pure, renyi)
				require.Equal(t, c.wrong, math.Max(pure, renyi) > 1+1e-9, name)
				require.True(t, name != "as charged" || pure > 0.4, "not far more is charged than needed")
			}
		}
	}
}

// excess returns the largest log-ratio of neighbours as a part of the claim, and the largest divergence of
// orders 2 and 8.
func (t *Tree) excess(test *testing.T, relation accountant.Relation, event accountant.Event, scores func([][]int) []int64, kinds [][]int, rows int) (pure, renyi float64) {
	claim := divergence(test, relation, math.Inf(1), event)
	orders := map[float64]float64{2: divergence(test, relation, 2, event), 8: divergence(test, relation, 8, event)}
	laws := map[string][]float64{}
	name := func(w []int) string { return fmt.Sprint(w) }
	all := worlds(len(kinds), rows)
	for _, w := range all {
		var cells [][]int
		for _, k := range w {
			cells = append(cells, kinds[k])
		}
		laws[name(w)] = t.law(scores(cells))
	}
	compare := func(p, q []float64) {
		for i := range p {
			pure = math.Max(pure, math.Abs(p[i]-q[i])/claim)
		}
		for order, most := range orders {
			for _, pair := range [][2][]float64{{p, q}, {q, p}} {
				sum := 0.0
				for i := range p {
					sum += math.Exp(order*pair[0][i] + (1-order)*pair[1][i])
				}
				renyi = math.Max(renyi, math.Log(sum)/(order-1)/most)
			}
		}
	}
	for _, w := range all {
		if len(w) == rows {
			continue
		}
		var with [][]float64
		for k := range kinds {
			more := append(slices.Clone(w), k)
			slices.Sort(more)
			with = append(with, laws[name(more)])
		}
		for k, p := range with {
			if relation == accountant.AddRemove {
				compare(laws[name(w)], p)
				continue
			}
			for _, q := range with[:k] {
				compare(p, q)
			}
		}
	}
	return pure, renyi
}

// Edges are chosen with the probabilities of the exponential mechanism. False-alarm rate 1e-6: chi-square of
// 5 degrees.
func TestEdgesHaveTheirLaw(t *testing.T) {
	const n = 20_000
	tree := planted(accountant.AddRemove, 2, 1)
	scores := []int64{-1 * scoreUnit, 0, 2 * scoreUnit}
	seen := map[string]float64{}
	for i := range n {
		pairs := tree.choose(scores, rng.SeedKey(uint64(i)))
		seen[fmt.Sprint(pairs[0].Columns, pairs[1].Columns)]++
	}
	all, law, i, square := edges(3), tree.law(scores), 0, 0.0
	for _, e := range all {
		for _, f := range all {
			if e != f {
				expected := n * math.Exp(law[i])
				square += math.Pow(seen[fmt.Sprint(e, f)]-expected, 2) / expected
				i++
			}
		}
	}
	require.Less(t, square, 36.)
}

// Nothing is drawn that is not charged, and the same key repeats a release.
func TestTreeNeedsItsReservations(t *testing.T) {
	tree, other := planted(accountant.AddRemove, 2, 1), planted(accountant.AddRemove, 3, 2)
	cells, key := [][]int{{1, 2, 0}, {0, None, 1}}, rng.SeedKey(1)
	reserve := func(e, p *Tree) [2]*ledger.Reservation {
		return [2]*ledger.Reservation{testledger.Reserve(t, accountant.AddRemove, e.Events()[0]), testledger.Reserve(t, accountant.AddRemove, p.Events()[1])}
	}
	for _, r := range [][2]*ledger.Reservation{reserve(other, tree), reserve(tree, other)} {
		require.ErrorIs(t, testkit.Err(tree.Release(r[0], r[1], key, noisyColumns, cells)), ledger.ErrNotReserved)
	}
	release := func(key rng.Key) []Pair {
		r := reserve(tree, tree)
		pairs := testkit.Must(tree.Release(r[0], r[1], key, noisyColumns, cells))
		require.ErrorIs(t, testkit.Err(tree.Release(r[0], r[1], key, noisyColumns, cells)), ledger.ErrNotReserved, "once")
		return pairs
	}
	require.Equal(t, release(key), release(key))
	require.NotEqual(t, release(key), release(rng.SeedKey(2)))
	r := reserve(tree, tree)
	require.ErrorContains(t, testkit.Err(tree.Release(r[0], r[1], rng.Key{}, noisyColumns, cells)), "zero Key")
	require.ErrorContains(t, testkit.Err(tree.Release(r[0], r[1], key, noisyColumns, [][]int{{3, 0, 0}})), "no bin")
	for want, cfg := range map[string]TreeConfig{
		"a tree of 1": {Bins: []int{2}, Scale: 1, Sigma: 1, Relation: accountant.AddRemove},
		"Scale":       {Bins: []int{2, 2}, Sigma: 1, Relation: accountant.AddRemove},
		"Sigma":       {Bins: []int{2, 2}, Scale: 1, Relation: accountant.AddRemove},
	} {
		require.ErrorContains(t, testkit.Err(NewTree(cfg)), want)
	}
}

// The tables are those of the cells, plus noise of the law that is charged, of its own for every count: the
// mean square of 2,500 counts, and their products between tables. False-alarm rate 1e-6.
func TestTablesHaveTheNoiseThatIsCharged(t *testing.T) {
	const bins, sigma = 50, 3.
	tree := testkit.Must(NewTree(TreeConfig{Bins: []int{bins, bins, bins}, Scale: 1, Sigma: sigma, Relation: accountant.AddRemove}))
	columns := slices.Repeat([][]int64{slices.Repeat([]int64{1 << 20}, bins)}, 3)
	r := testledger.Reserve(t, accountant.AddRemove, tree.Events()[0])
	s := testledger.Reserve(t, accountant.AddRemove, tree.Events()[1])
	pairs := testkit.Must(tree.Release(r, s, rng.SeedKey(4), columns, slices.Repeat([][]int{{0, 0, 0}}, 1000)))
	square, products, n := 0.0, 0.0, float64(len(pairs[0].Counts))
	require.Greater(t, n, 100.)
	for _, p := range pairs {
		require.InDelta(t, 1000, p.Counts[0], 9*sigma)
		p.Counts[0] -= 1000
	}
	for i := range pairs[0].Counts {
		a, b := float64(pairs[0].Counts[i]), float64(pairs[1].Counts[i])
		square, products = square+a*a+b*b, products+a*b
	}
	require.InEpsilon(t, sigma*sigma, square/(2*n), 4.9*math.Sqrt(1/n))
	require.InDelta(t, 0, products/n, 4.9*sigma*sigma/math.Sqrt(n))
}

// The parts of a tree take their shares of the budget, and a pool takes its share. Edges of bins identify it.
func TestForPool(t *testing.T) {
	budget := accountant.Target{Epsilon: 2, Delta: 1e-5}
	for _, relation := range []accountant.Relation{accountant.AddRemove, accountant.ReplaceOne} {
		name := "narrow"
		cfg := PoolConfig{Bins: slices.Repeat([]int{32}, 9), Relation: relation, Tree: true,
			Describe: func(int) (string, []string) { return "weight", []string{name} }}
		p := testkit.Must(ForPool(t.Context(), cfg, budget))
		whole := testkit.Must(ofShare(t.Context(), Config{Bins: cfg.Bins, Relation: relation}, budget, 1)).Event()
		parts := slices.Concat(p.Events()...)
		for i, part := range []float64{partOfColumns, partOfEdges, partOfTables} {
			require.InEpsilon(t, part*PoolShare, divergence(t, relation, 8, parts[i])/divergence(t, relation, 8, whole), 0.02)
		}
		require.Equal(t, accountant.Composed{Events: parts}, p.Event())
		narrow := p.String()
		name = "wide"
		require.NotEqual(t, narrow, p.String())
		cfg.Tree = false
		require.Len(t, testkit.Must(ForPool(t.Context(), cfg, budget)).Events(), 1)
	}
	require.ErrorContains(t, testkit.Err(ForPool(t.Context(), PoolConfig{Bins: []int{2}, Relation: accountant.AddRemove, Tree: true}, budget)), "a tree of 1")
}

// Bins merge by noisy counts alone, to few groups; noise adds no mass; and rows are drawn from what is left.
func TestLayoutAndDraws(t *testing.T) {
	require.Equal(t, []float64{6, 0, 4, 0}, project([]int64{8, -3, 6, 1}, 10))
	require.Equal(t, []float64{5, 5}, project([]int64{-3, -3}, 10))
	for _, c := range []struct {
		masses  []float64
		ordered int
		want    []int
	}{
		{[]float64{1, 1, 5, 1, 1, 1, 1}, 7, []int{0, 0, 1, 2, 2, 2, 2}},
		{[]float64{1, 9, 2, 1, 7}, 0, []int{0, 1, 2, 0, 3}},
		{[]float64{0, 9, 9, 5, 0}, 3, []int{0, 0, 1, 2, 3}},
	} {
		of, groups := merge(c.masses, c.ordered, 4)
		require.Equal(t, c.want, of)
		require.Equal(t, slices.Max(of)+1, groups)
	}
	tree := testkit.Must(NewTree(TreeConfig{Bins: []int{1000, 1000}, Ordered: []int{1000, 0}, Scale: 1, Sigma: 1e-3, Relation: accountant.AddRemove}))
	big := tree.layout([][]int64{slices.Repeat([]int64{5}, 1000), slices.Repeat([]int64{5}, 1000)})
	require.LessOrEqual(t, max(big.sizes[0], big.sizes[1]), 2*mostGroups+2)

	c := drawnOf(planted(accountant.AddRemove, 1, 1e-3))
	const rows = 3000
	drawn, again := c.Draw(rows), c.Draw(rows)
	require.Equal(t, drawn, again)
	same, ones := 0, 0
	for _, row := range drawn {
		if row[0] == row[2] {
			same++
		}
		ones += row[0]
		require.NotEqual(t, 1, row[1], "no mass")
	}
	require.Equal(t, rows, same, "the pair table puts all mass on equal bins")
	require.InDelta(t, rows/4, ones, 150)
	require.Nil(t, (*Counts)(nil).Draw(1))
	require.Nil(t, (&Counts{Columns: noisyColumns}).Draw(1))
}

// drawnOf returns counts of a tree 0-2, 2-1. The table of 2 and 1 has no mass in one row.
func drawnOf(tree *Tree) *Counts {
	c := &Counts{Columns: [][]int64{{300, 100}, {200, -90, 200}, {200, 200}}}
	c.layout = tree.layout(c.Columns)
	c.Pairs = []Pair{{[2]int{0, 2}, []int64{300, -5, -7, 100}}, {[2]int{1, 2}, []int64{0, 200, 0, 0, 0, 200}}}
	if c.sizes[1] == 2 {
		c.Pairs[1].Counts = []int64{0, 200, 0, 200}
	}
	return c
}

// Pairs are read as they were written; a file of other tables is refused.
func TestPairsInAFile(t *testing.T) {
	c := drawnOf(planted(accountant.AddRemove, 1, 1e-3))
	describe := func(column int) (string, []string) {
		return []string{"=sum", "b", "c"}[column], []string{"low", "or so", "high"}[:len(c.Columns[column])]
	}
	var file bytes.Buffer
	require.NoError(t, c.writeTree(&file, describe))
	text, lines := file.String(), strings.Split(strings.TrimSpace(file.String()), "\n")
	read := func(text string) ([]Pair, error) {
		r := &Counts{Columns: c.Columns, layout: c.layout}
		err := r.readTree(strings.NewReader(text), describe)
		return r.Pairs, err
	}
	require.Equal(t, c.Pairs, testkit.Must(read(text)))
	for _, wrong := range []string{"", lines[0], text + lines[1] + "\n", strings.Join(lines[:len(lines)-1], "\n"),
		strings.Replace(text, "300", "x", 1), strings.Replace(text, "b", "d", 1)} {
		require.ErrorContains(t, testkit.Err(read(wrong)), "does not have the tables", wrong)
	}
	require.ErrorIs(t, testkit.Err(read("column\nb\n")), csv.ErrFieldCount)
}
