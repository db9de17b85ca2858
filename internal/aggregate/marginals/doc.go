// Package marginals releases how many units have each value of each column, with noise: the one-way
// marginals of a table, from which questions can be drawn where there are no public rows to ask about.
//
//	cfg := marginals.Config{Bins: []int{32, 2, 16}, Sigma: 25, Relation: accountant.AddRemove}
//	m, err := marginals.New(cfg)
//	counts, err := m.Release(reservation, key, cells) // ledger.Reserve(m.Event())
//
// # Guarantee
//
// A unit stands in at most one bin of each column, by a row that is its own choice or none. Adding or
// removing it moves at most one count of each column by one; replacing it moves at most two counts of each
// column by one each, a Euclidean length of at most sqrt(2). All counts get independent discrete Gaussian
// noise. Columns have different counts, so the release equals as many releases of one histogram as there
// are columns:
//
//	add/remove    Repeated{DiscreteGaussian{Sigma, 1}, columns}
//	replace-one   Repeated{DiscreteGaussian{Sigma, sqrt 2}, columns}
//
// It is the same as one vector that moves by sqrt(columns), or by sqrt(2 columns): a sigma that is scaled
// to one column alone protects as many times less as there are columns.
//
// # Caveats
//
// Bins are declared before any row is seen; edges or categories that were found in private rows are a
// release of their own. The number of units is public under replace-one alone. Computing with the counts
// costs nothing more. They have no information about how columns go together, so questions drawn from them
// are no synthetic table.
package marginals
