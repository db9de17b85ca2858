// Package marginals releases, with noise, how many units have each value of each column: the one-way
// marginals of a table. Questions can be drawn from them if there are no public rows to ask about.
//
//	cfg := marginals.Config{Bins: []int{32, 2, 16}, Sigma: 25, Relation: accountant.AddRemove}
//	m, err := marginals.New(cfg)
//	counts, err := m.Release(reservation, key, cells) // ledger.Reserve(m.Event())
//
// # Guarantee
//
// A unit is in at most one bin of each column, by one row that the unit determines, or by none. Adding or
// removing a unit changes at most one count of each column by one. Replacing a unit changes at most two
// counts of each column by one each, a Euclidean length of at most sqrt(2). All counts get independent
// discrete Gaussian noise. Columns have separate counts, so the release costs as much as one release of a
// histogram per column:
//
//	add/remove    Repeated{DiscreteGaussian{Sigma, 1}, columns}
//	replace-one   Repeated{DiscreteGaussian{Sigma, sqrt 2}, columns}
//
// This equals one vector that changes by sqrt(columns), or by sqrt(2 columns): a sigma that is scaled to a
// single column costs as many times more as there are columns.
//
// # Caveats
//
// Bins must be declared before any row is read; edges or categories that were found in private rows would be
// another release. The number of units is public under replace-one alone. Computing with the counts costs
// nothing more. The counts have no information about how columns are related, so questions drawn from them
// are no synthetic table.
package marginals
