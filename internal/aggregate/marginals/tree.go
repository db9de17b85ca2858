package marginals

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// TreeConfig holds the parameters of a Tree. Only Ordered has a default.
type TreeConfig struct {
	Bins     []int   // number of bins of each column; at least 2 columns
	Ordered  []int   // number of leading bins of each column that are in order, such as intervals; nil: none
	Scale    float64 // difference of scores that changes the odds of an edge by a factor e, in units
	Sigma    float64 // standard deviation of the noise on each count of a pair, in units
	Relation accountant.Relation
}

// Tree releases pairs of columns and a noisy table for each pair. The pairs are the edges of a tree.
type Tree struct {
	cfg       TreeConfig
	distances *rng.DiscreteLaplace // of scores
	noise     *rng.DiscreteGaussian
}

// Pair is an edge of the tree with its noisy table.
type Pair struct {
	Columns [2]int
	Counts  []int64 // by group of the first column, then of the second
}

// scoreUnit is the number of integer steps per unit of a score. Integer scores have an exact sensitivity.
const scoreUnit = 1024

func NewTree(cfg TreeConfig) (*Tree, error) {
	if len(cfg.Bins) < 2 || len(cfg.Bins) > maxTree {
		return nil, &fault.Error{What: fmt.Sprintf("a tree of %d columns cannot be made", len(cfg.Bins)),
			Why: fmt.Sprintf("a tree pairs 2 to %d columns; nothing was charged", maxTree), Fix: "choose --pool marginals"}
	}
	columns, err := New(Config{Bins: cfg.Bins, Sigma: cfg.Sigma, Relation: cfg.Relation})
	if err != nil {
		return nil, err
	}
	distances, err := rng.NewDiscreteLaplace(cfg.Scale * scoreUnit)
	if err != nil {
		return nil, fmt.Errorf("marginals: Scale: %w", err)
	}
	return &Tree{cfg, distances, columns.noise}, nil
}

const maxTree = 200

// moved returns how many counts of a table can change between neighbours, each by one.
func moved(relation accountant.Relation) float64 {
	if relation == accountant.ReplaceOne { // one count falls and one count rises
		return 2
	}
	return 1
}

// Events returns the event of all edges and the event of all tables.
func (t *Tree) Events() []accountant.Event {
	// Between neighbours, one count of a pair's table changes by one, or two counts if a unit is replaced. A
	// score is the L1 distance of the table to a constant, so the score changes by at most s = 1 or 2. Scores
	// of different edges may change in different directions, so all log-ratios lie in an interval of length
	// 2s/Scale, not s/Scale.
	moves, edges := moved(t.cfg.Relation), int64(len(t.cfg.Bins)-1)
	return []accountant.Event{
		accountant.Repeated{Event: accountant.ExponentialMechanism{Epsilon: mathx.Up(2 * moves / t.cfg.Scale)}, Count: edges},
		accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: t.cfg.Sigma, Sensitivity: math.Sqrt(moves)}, Count: edges},
	}
}

// Release chooses the edges of the tree and returns their noisy tables. The argument `columns` holds the
// released noisy counts of all columns. The argument `cells` has one row per unit, as for
// [Marginals.Release]. Release fails unless the reservations are unused, charge t.Events(), and have the
// relation of the configuration. Equal arguments and ledger entries give equal pairs.
func (t *Tree) Release(edges, tables *ledger.Reservation, key rng.Key, columns [][]int64, cells [][]int) ([]Pair, error) {
	if err := check(t.cfg.Bins, cells); err != nil {
		return nil, err
	}
	if key.IsZero() {
		return nil, errors.New("marginals: zero Key: make one with rng.NewKey or rng.SeedKey")
	}
	use := ledger.Use{Relation: t.cfg.Relation, Secret: key.Releasable()}
	for i, r := range []*ledger.Reservation{edges, tables} {
		if err := r.Begin(t.Events()[i], use); err != nil {
			return nil, fmt.Errorf("marginals: %w", err)
		}
	}
	key = key.Derive("tree", uint64(edges.Entry()), uint64(tables.Entry()), math.Float64bits(t.cfg.Scale), math.Float64bits(t.cfg.Sigma))
	l := t.layout(columns)
	units := l.group(cells)
	pairs := t.choose(l.scores(units), key)
	for i := range pairs {
		a, b := pairs[i].Columns[0], pairs[i].Columns[1]
		pairs[i].Counts = make([]int64, l.sizes[a]*l.sizes[b])
		t.noise.Fill(pairs[i].Counts, key.Derive("pair", uint64(i)).Stream())
		count(pairs[i].Counts, units[a], units[b], l.sizes[b])
	}
	return pairs, nil
}

func count[N int64 | int](table []N, a, b []int16, width int) {
	for i, group := range a {
		if group != None && b[i] != None {
			table[int(group)*width+int(b[i])]++
		}
	}
}

func edges(columns int) (all [][2]int) {
	for a := range columns {
		for b := a + 1; b < columns; b++ {
			all = append(all, [2]int{a, b})
		}
	}
	return all
}

func (l layout) scores(units [][]int16) []int64 {
	// Private rows affect only the tables.
	var scores []int64
	for _, e := range edges(len(units)) {
		a, b := e[0], e[1]
		table := make([]int64, l.sizes[a]*l.sizes[b])
		count(table, units[a], units[b], l.sizes[b])
		score, usual := int64(0), 0.0
		for i, n := range table {
			expected := l.expected(a, b, i)
			usual += math.Sqrt(expected * 2 / math.Pi)
			distance := n*scoreUnit - int64(math.Round(expected*scoreUnit))
			score += max(distance, -distance)
		}
		scores = append(scores, score-int64(math.Round(usual*scoreUnit)))
	}
	return scores
}

func (t *Tree) choose(scores []int64, key rng.Key) []Pair {
	// Every round chooses an edge that joins two parts, with probability proportional to exp(score/Scale). As
	// in aggregate.Exponential, edges have turns in a random order, and the first accepted turn is the
	// choice. The turns are drawn independently of the scores.
	all, parts := edges(len(t.cfg.Bins)), make([]int, len(t.cfg.Bins))
	for i := range parts {
		parts[i] = i
	}
	pairs := make([]Pair, len(parts)-1)
	for round := range pairs {
		joins, high := make([]bool, len(all)), int64(math.MinInt64)
		for e, ends := range all {
			if joins[e] = parts[ends[0]] != parts[ends[1]]; joins[e] {
				high = max(high, scores[e])
			}
		}
		s, had, chosen := key.Derive("edge", uint64(round)).Stream(), make([]bool, len(all)), -1
		for left := len(all); left > 0; {
			e := int(s.Uint64N(uint64(len(all))))
			distance := t.distances.Geometric(s)
			if !had[e] {
				had[e] = true
				left--
			}
			if chosen < 0 && joins[e] && distance >= high-scores[e] {
				chosen = e
			}
		}
		pairs[round].Columns = all[chosen]
		joined, gone := parts[all[chosen][0]], parts[all[chosen][1]]
		for i, p := range parts {
			if p == gone {
				parts[i] = joined
			}
		}
	}
	return pairs
}
