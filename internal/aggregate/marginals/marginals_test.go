package marginals

import (
	"bytes"
	"context"
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

func mechanism(sigma float64, relation accountant.Relation, bins ...int) *Marginals {
	return testkit.Must(New(Config{Bins: bins, Sigma: sigma, Relation: relation}))
}

// units returns every row that a unit may have.
func units(bins []int) [][]int {
	all := [][]int{nil}
	for _, n := range bins {
		var longer [][]int
		for _, row := range all {
			for b := None; b < n; b++ {
				longer = append(longer, append(slices.Clone(row), b))
			}
		}
		all = longer
	}
	return all
}

// flat returns the counts of a release without noise, in one slice.
type flat func(cells [][]int) []int64

func (m *Marginals) flat(cells [][]int) []int64 {
	var columns [][]int64
	for _, n := range m.cfg.Bins {
		columns = append(columns, make([]int64, n))
	}
	add(columns, cells)
	return slices.Concat(columns...)
}

// moves returns by how much each count moves between two worlds, as the code counts.
func (counts flat) moves(from, to [][]int) (by []int64) {
	by = counts(to)
	for i, v := range counts(from) {
		by[i] -= v
	}
	return by
}

func divergence(t require.TestingT, relation accountant.Relation, order float64, e accountant.Event) float64 {
	claim, _ := testkit.Must2(accountant.Divergence(relation, order, e))
	return claim
}

// excess returns how the divergences of noisy counts that move so, in either order, stand to an event: the
// largest ratio of Rényi divergences, and the largest difference of a hockey-stick divergence from delta.
// Both laws are products over the counts that move, whose sums are taken to where the noise has no mass left.
func excess(t require.TestingT, relation accountant.Relation, e accountant.Event, sigma float64, by []int64) (renyi, delta float64) {
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	p, q := []float64{0}, []float64{0} // logarithms
	reach := int64(math.Ceil(8*sigma)) + 1
	for _, d := range by {
		if d == 0 {
			continue
		}
		var longerP, longerQ []float64
		for i := range p {
			for v := -reach; v <= reach; v++ {
				longerP, longerQ = append(longerP, p[i]+noise.LogProb(v-d)), append(longerQ, q[i]+noise.LogProb(v))
			}
		}
		p, q = longerP, longerQ
	}
	account := testkit.Must(accountant.NewAuto(accountant.AutoConfig{Relation: relation}))
	require.NoError(t, account.Compose(e, 1))
	delta = -1
	for _, pair := range [][2][]float64{{p, q}, {q, p}} {
		for _, order := range []float64{1.25, 2, 8} {
			sum := 0.0
			for i := range p {
				sum += math.Exp(order*pair[0][i] + (1-order)*pair[1][i])
			}
			renyi = math.Max(renyi, math.Log(sum)/(order-1)/divergence(t, relation, order, e))
		}
		for _, eps := range []float64{0.1, 0.5, 1.5} {
			sum := 0.0
			for i := range p {
				sum += math.Max(0, math.Exp(pair[0][i])-math.Exp(eps+pair[1][i]))
			}
			delta = math.Max(delta, sum-testkit.Must(account.Delta(context.Background(), eps)).Upper)
		}
	}
	return renyi, delta
}

// Every unit that a world may gain, lose or have replaced: the divergence of what is released is within the
// claim and reaches it, for two columns, and for the two tables of a tree of three columns. Controls: noise
// for one column or table alone (a table charged once for all, or a label in the tree that is not charged),
// and add/remove's event where a unit is replaced, are refuted by the same enumeration.
func TestWorlds(t *testing.T) {
	const sigma = 1.2
	for relation, column := range map[accountant.Relation]float64{accountant.AddRemove: 1, accountant.ReplaceOne: math.Sqrt2} {
		m, tree := mechanism(sigma, relation, 2, 3), planted(relation, 1, sigma)
		l := tree.layout(noisyColumns)
		tables := func(cells [][]int) []int64 {
			var all [2][]int64
			units := l.group(cells)
			for i, p := range [][2]int{{0, 1}, {1, 2}} {
				all[i] = make([]int64, l.sizes[p[0]]*l.sizes[p[1]])
				count(all[i], units[p[0]], units[p[1]], l.sizes[p[1]])
			}
			return slices.Concat(all[0], all[1])
		}
		worstCase(t, "columns", relation, column, sigma, m.Event(), []int{2, 3}, m.flat, [][]int{{0, 2}, {1, 1}, {None, 0}})
		worstCase(t, "tables", relation, column, sigma, tree.Events()[1], tree.cfg.Bins, tables, [][]int{{0, 2, 1}, {1, 1, None}})
	}
}

func worstCase(t *testing.T, name string, relation accountant.Relation, each, sigma float64, event accountant.Event, bins []int, counts flat, world [][]int) {
	one := accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: each}                                      // of one column
	added := accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}, Count: 2} // none replaced
	moves := map[string][]int64{}                                                                            // all counts have the same noise: which of them move makes no difference
	keep := func(by []int64) {
		slices.Sort(by)
		moves[fmt.Sprint(by)] = by
	}
	for _, unit := range units(bins) {
		with := append(slices.Clone(world), unit)
		if relation == accountant.AddRemove {
			keep(counts.moves(world, with))
			continue
		}
		for _, other := range units(bins) {
			keep(counts.moves(with, append(slices.Clone(world), other)))
		}
	}
	worst, worstDelta, oneWorst, oneDelta, addedWorst := 0.0, -1.0, 0.0, -1.0, 0.0
	for _, by := range moves {
		renyi, delta := excess(t, relation, event, sigma, by)
		worst, worstDelta = math.Max(worst, renyi), math.Max(worstDelta, delta)
		if ends := []int{slices.Index(by, 1), slices.Index(by, -1)}; relation == accountant.AddRemove || min(ends[0], ends[1]) >= 0 {
			renyi, delta = excess(t, relation, one, sigma, by)
			oneWorst, oneDelta = math.Max(oneWorst, renyi), math.Max(oneDelta, delta)
		}
		renyi, _ = excess(t, accountant.AddRemove, added, sigma, by)
		addedWorst = math.Max(addedWorst, renyi)
	}
	t.Logf("%v of %s: %d moves; of the claim %.4f, delta above it %.2g; noise of one %.2f, %.2g; of add/remove %.2f", relation, name, len(moves), worst, worstDelta, oneWorst, oneDelta, addedWorst)
	require.LessOrEqual(t, worst, 1+1e-9)
	require.Greater(t, worst, 0.99, "the worst unit reaches the claim")
	require.LessOrEqual(t, worstDelta, 1e-9)
	require.Greater(t, oneWorst, 1.9, "control: a unit stands in every column")
	require.Greater(t, oneDelta, 0.01)
	if relation == accountant.ReplaceOne {
		require.Greater(t, addedWorst, 1.9, "control: a unit that is replaced moves two counts of a column")
	}
}

// The counts are those of the cells, plus noise of the law that is charged, of its own for every count.
// False-alarm rate 1e-6.
func TestNoiseHasTheLawThatIsCharged(t *testing.T) {
	const n, sigma = 20_000, 3.
	m := mechanism(sigma, accountant.AddRemove, n, n)
	cells := slices.Repeat([][]int{{7, None}}, 1000)
	counts := testkit.Must(m.Release(testledger.Reserve(t, accountant.AddRemove, m.Event()), rng.SeedKey(3), cells))
	require.InDelta(t, 1000, counts[0][7], 9*sigma)
	counts[0][7] -= 1000
	square, pairs := 0., 0.
	for b := range n {
		square += float64(counts[0][b]*counts[0][b] + counts[1][b]*counts[1][b])
		pairs += float64(counts[0][b] * counts[1][b])
	}
	require.InEpsilon(t, sigma*sigma, square/(2*n), 4.9*math.Sqrt(1./n))
	require.InDelta(t, 0, pairs/n, 4.9*sigma*sigma/math.Sqrt(n))
}

// Nothing runs that is not charged, or is charged for another relation or with another noise; a release is
// made once, the same key repeats it, and another key does not.
func TestReleaseNeedsItsReservation(t *testing.T) {
	m := mechanism(4, accountant.AddRemove, 3, 5)
	cells, key := [][]int{{1, 4}, {0, None}}, rng.SeedKey(1)
	require.Equal(t, accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: 4, Sensitivity: 1}, Count: 2}, m.Event())
	for _, other := range []*Marginals{mechanism(5, accountant.AddRemove, 3, 5), mechanism(4, accountant.AddRemove, 3), mechanism(4, accountant.ReplaceOne, 3, 5)} {
		_, err := m.Release(testledger.Reserve(t, accountant.AddRemove, other.Event()), key, cells)
		require.ErrorIs(t, err, ledger.ErrNotReserved)
	}
	_, err := m.Release(testledger.Reserve(t, accountant.ReplaceOne, m.Event()), key, cells)
	require.ErrorIs(t, err, ledger.ErrUnfit)
	_, err = m.Release(testledger.Reserve(t, accountant.AddRemove, m.Event()), rng.Key{}, cells)
	require.ErrorContains(t, err, "zero Key")
	for _, wrong := range [][][]int{{{1}}, {{3, 0}}, {{0, -2}}} {
		_, err := m.Release(testledger.Reserve(t, accountant.AddRemove, m.Event()), key, wrong)
		require.ErrorContains(t, err, "marginals: ")
	}
	release := func(key rng.Key) [][]int64 {
		r := testledger.Reserve(t, accountant.AddRemove, m.Event())
		counts := testkit.Must(m.Release(r, key, cells))
		require.ErrorIs(t, testkit.Err(m.Release(r, key, cells)), ledger.ErrNotReserved, "once")
		return counts
	}
	require.Equal(t, release(key), release(key))
	require.NotEqual(t, release(key), release(rng.SeedKey(2)))
	both := mechanism(4, accountant.ReplaceOne, 3, 5)
	testkit.Must(both.Release(testledger.Reserve(t, accountant.ReplaceOne, both.Event()), key, cells))
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]Config{
		"Bins":           {Sigma: 1, Relation: accountant.AddRemove},
		"column 1 has 0": {Bins: []int{2, 0}, Sigma: 1, Relation: accountant.AddRemove},
		"Relation":       {Bins: []int{2}, Sigma: 1},
		"Sigma":          {Bins: []int{2}, Sigma: math.NaN(), Relation: accountant.AddRemove},
	} {
		require.ErrorContains(t, testkit.Err(New(cfg)), name)
	}
}

// A tenth of a budget is a tenth of what the whole of it allows, as the divergence of Gaussian noise goes;
// and counts below zero weigh nothing.
func TestOfShare(t *testing.T) {
	cfg := Config{Bins: []int{3, 5}, Relation: accountant.AddRemove}
	budget := accountant.Target{Epsilon: 2, Delta: 1e-5}
	whole := testkit.Must(ofShare(t.Context(), cfg, budget, 1))
	claim := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByAuto, cfg.Relation, budget.Delta, whole.Event()))
	require.LessOrEqual(t, claim.Upper, budget.Epsilon)
	require.Greater(t, claim.Upper, 0.99*budget.Epsilon)
	tenth := testkit.Must(ofShare(t.Context(), cfg, budget, 0.1))
	for _, order := range []float64{2, 16} {
		all, part := divergence(t, cfg.Relation, order, whole.Event()), divergence(t, cfg.Relation, order, tenth.Event())
		require.InEpsilon(t, all/10, part, 1e-6)
	}
	for _, share := range []float64{0, -1, 1.5, math.NaN()} {
		require.ErrorContains(t, testkit.Err(ofShare(t.Context(), cfg, budget, share)), "share")
	}
	require.Equal(t, [][]float64{{0, 3}, {0}}, (&Counts{Columns: [][]int64{{-2, 3}, {0}}}).Weights())
	c := &Counts{Columns: [][]int64{{999, 19, -5, 20}, {500, 19, -5, 20}, {19, 19}}}
	c.trim(10)
	require.Equal(t, [][]int64{{999, 0, 0, 20}, {500, 19, -5, 20}, {19, 19}}, c.Columns, "small bins are empty, unless they are much of a column")
}

// Counts are read as they were written; a file with other bins is refused.
func TestCountsInAFile(t *testing.T) {
	counts := [][]int64{{-2, 3}, {7}}
	var file bytes.Buffer
	require.NoError(t, Write(&file, counts, func(column int) (string, []string) {
		return fmt.Sprint("c", column), []string{"low, or less", "high"}
	}))
	text := file.String()
	require.Equal(t, counts, testkit.Must(Read(&file, []int{2, 1})))
	for _, wrong := range []string{"", text[:len(text)-10], strings.Replace(text, "7", "x", 1)} {
		require.Error(t, testkit.Err(Read(strings.NewReader(wrong), []int{2, 1})), wrong)
	}
}
