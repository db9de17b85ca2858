// Package marginals releases noisy counts of the units with each value of each column, the one-way marginals
// of a table. Without public rows, queries can be drawn from them.
//
//	cfg := marginals.Config{Bins: []int{32, 2, 16}, Sigma: 25, Relation: accountant.AddRemove}
//	m, err := marginals.New(cfg)
//	counts, err := m.Release(reservation, key, cells) // ledger.Reserve(m.Event())
//
// # Guarantee
//
// A unit is in at most one bin of each column. One row decides the bins, and the row depends only on the
// unit. Adding or removing a unit changes at most one count of each column by one. Replacing a unit changes
// at most two counts of each column by one, an L2 change of at most sqrt(2). All counts have independent
// discrete Gaussian noise. So the release costs as much as one histogram per column:
//
//	add/remove    Repeated{DiscreteGaussian{Sigma, 1}, columns}
//	replace-one   Repeated{DiscreteGaussian{Sigma, sqrt 2}, columns}
//
// This equals one vector with sensitivity sqrt(columns) or sqrt(2 columns).
//
// # Caveats
//
// Bins must be declared before any row is read. Edges or categories from private rows would be another
// release. The number of units is public only under replace-one. Functions of the counts have no extra cost.
// The counts do not show how columns are related, so queries drawn from the counts are no synthetic table.
package marginals
