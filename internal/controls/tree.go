package controls

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/marginals"
)

func brokenTrees() []Target {
	tree := func(columns int) []accountant.Event {
		bins := make([]int, columns)
		for j := range bins {
			bins[j] = 2
		}
		return must(marginals.NewTree(marginals.TreeConfig{Bins: bins, Scale: 1, Sigma: 1, Relation: accountant.AddRemove})).Events()
	}
	tables := onePair(noisy([]int64{1, 1}, []int64{0, 0})) // a cell of each of two tables
	charged := func(events ...accountant.Event) claimer {
		return profile(accountant.Composed{Events: events}, accountant.AddRemove)
	}
	return []Target{
		byLaw("tree-true-total", "12 or 13 rows of four columns, one edge of two", pure(accountant.ExponentialMechanism{Epsilon: 2}),
			onePair(treeEdge(12, 12), treeEdge(13, 13))).mistaken("scores of edges with the true number of rows"),
		byLaw("tree-tables-once", "two tables of three columns, a record there or not", charged(tree(2)[1]), tables).
			mistaken("the tables of all pairs charged as one"),
		byLaw("tree-label", "two columns and the label, a record there or not", charged(tree(2)...), tables).
			mistaken("the label stands in the tree and is not charged"),
	}
}

func treeEdge(rows, total float64) []float64 {
	// Products of columns are scaled to total. Assume that total is the true number of rows. Then record 13
	// adds 2 to the distance of the first edge and subtracts 1.5 from the distance of the second edge. The
	// log-ratio of the second edge is then near 3.5, but epsilon 2 is charged.
	distance := func(shares, table [4]float64) (sum float64) {
		for i, n := range table {
			sum += math.Abs(n - shares[i]*total)
		}
		return sum
	}
	more := rows - 12
	odds := distance([4]float64{1, 0, 0, 0}, [4]float64{6, 0, 0, 6 + more}) -
		distance([4]float64{.25, .25, .25, .25}, [4]float64{4, 4, 4, more})
	return []float64{-math.Log1p(math.Exp(-odds)), -math.Log1p(math.Exp(odds))}
}
