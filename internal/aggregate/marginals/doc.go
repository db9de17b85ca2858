// Package marginals releases noisy counts of the units with each value of each column, the one-way marginals
// of a table, and noisy tables of pairs of columns, the edges of a tree. Without public rows, queries can be
// drawn from them.
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
// Edges are chosen one after the other by the exponential mechanism. The score of an edge is the L1
// distance of its exact table to the product of the noisy columns, scaled to the noisy number of units.
// Given the noisy columns, the product is a constant. So a score changes by at most s = 1 if a unit is
// added or removed, and by s = 2 if a unit is replaced. Scores of two edges may change in different
// directions, so the log-ratios of a choice lie in an interval of length 2s/Scale, the epsilon of one
// ExponentialMechanism. The true number of units would move the product too. Each table then has noise as
// a column has, and a unit is in at most one cell of each table. With d columns, in addition to the
// columns:
//
//	edges     Repeated{ExponentialMechanism{2s/Scale}, d-1}
//	tables    Repeated{DiscreteGaussian{Sigma, sqrt s}, d-1}
//
// The second stage depends on the first stage by released numbers alone: noisy columns merge bins to groups,
// and edges choose tables.
//
// # Caveats
//
// Bins must be declared before any row is read. Edges or categories from private rows would be another
// release. The number of units is public only under replace-one. Functions of the counts have no extra cost.
// A tree has one relation for each column, so drawn rows are good as questions, and no synthetic table for
// other purposes.
package marginals
