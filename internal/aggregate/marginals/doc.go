// Package marginals releases the noisy one-way marginals of a table: for each column, how many units are in
// each bin. It also releases noisy tables for some pairs of columns, which are the edges of a tree. If
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
// The edges of a [Tree] are chosen one after the other by the exponential mechanism. The score of an edge
// is the L1 distance between its exact table and the product of the two noisy columns, minus the distance
// expected of independent columns. The product is scaled to the noisy number of units. Given the noisy
// columns, the product and the expected distance are constants. So a score changes by at most s = 1 if a
// unit is added or removed, and by at most s = 2 if a unit is replaced. One score may rise while another
// falls. An edge is chosen with probability proportional to exp(score/Scale). Between neighbours, the
// changes of the log-probabilities of all edges lie in an interval of length 2s/Scale. This length is the
// Epsilon of one ExponentialMechanism. Then a table is released for each edge, with noise on each count. A
// unit is in at most one cell of each table. With d columns, the edges and the tables add two events:
//
//	edges     Repeated{ExponentialMechanism{2s/Scale}, d-1}
//	tables    Repeated{DiscreteGaussian{Sigma, sqrt s}, d-1}
//
// Each step depends on earlier steps through released numbers alone. Noisy columns determine the groups of
// bins and the products in the scores. Released edges determine which pairs of columns get a table.
//
// # Caveats
//
// Bins must be declared before any row is read. Bins that are computed from private rows would be another
// release. The number of units is public only under replace-one. Functions of the counts have no extra
// cost. Use drawn rows only as queries to teachers, not as synthetic data: a tree keeps few relations between
// columns.
package marginals
