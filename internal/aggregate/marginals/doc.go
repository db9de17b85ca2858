// Package marginals releases the noisy one-way marginals of a table: the number of units in each bin of each
// column. It also releases noisy tables for some pairs of columns. These pairs are the edges of a tree. If
// there are no public rows, queries can be drawn from these counts.
//
//	cfg := marginals.Config{Bins: []int{32, 2, 16}, Sigma: 25, Relation: accountant.AddRemove}
//	m, err := marginals.New(cfg)
//	counts, err := m.Release(reservation, key, cells) // ledger.Reserve(m.Event())
//
// # Guarantee
//
// A unit is in at most one bin of each column. The bins of a unit depend only on this unit. Adding or
// removing a unit changes at most one count of each column by one. Replacing a unit changes at most two
// counts of each column by one, an L2 change of at most sqrt(2). All counts have independent discrete
// Gaussian noise. So the release costs as much as one histogram per column:
//
//	add/remove    Repeated{DiscreteGaussian{Sigma, 1}, columns}
//	replace-one   Repeated{DiscreteGaussian{Sigma, sqrt 2}, columns}
//
// The exponential mechanism chooses the edges of a [Tree] one after the other. The score of an edge is the L1
// distance between its exact table and a reference table, minus a constant. The reference table is the
// product of the two noisy columns, scaled to the noisy number of units. The constant is the distance
// expected of independent columns. Reference table and constant depend only on the noisy columns. So adding
// or removing a unit changes a score by at most s = 1. Replacing a unit changes a score by at most s = 2.
//
// An edge is chosen with probability proportional to exp(score/Scale). One score may rise while another
// falls. So between neighbours, the changes of all log-probabilities lie in an interval of length 2s/Scale.
// This length is the Epsilon of one ExponentialMechanism. Then a table is released for each edge, with noise
// on each count. A unit is in at most one cell of each table. With d columns, the edges and the tables add
// two events:
//
//	edges     Repeated{ExponentialMechanism{2s/Scale}, d-1}
//	tables    Repeated{DiscreteGaussian{Sigma, sqrt s}, d-1}
//
// No step uses unreleased results of earlier steps. Noisy columns determine the groups of bins and the
// reference tables. Released edges determine which pairs of columns get a table.
//
// # Caveats
//
// Bins must be declared before any row is read. Bins that are computed from private rows would be another
// release. The number of units is public only under replace-one. Use drawn rows only as queries to teachers,
// not as synthetic data: a tree keeps few relations between columns.
package marginals
