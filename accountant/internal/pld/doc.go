// Package pld composes privacy loss distributions. Its input is pairs of distributions with counts, not
// mechanisms.
//
// The privacy loss of a pair (P, Q) at an output y is log P(y)/Q(y), with y drawn from P. A [Sum] lists pairs
// and counts. A [Composer] returns intervals that contain the epsilon and the delta of a Sum. Every pair is
// discretised twice (cells.go, tilted.go): the upper result dominates the pair, and the pair dominates the
// lower result. Both results are composed by exponentially tilted convolution (convolve.go), in stages with
// coarser and coarser grids (compose.go). A distribution tilted by lambda has masses proportional to
// e^{lambda loss} times the original masses. Both ends of an interval are certified. Discretisation moves
// each end outwards. Bounds on all other errors (truncated tails, mass outside a window, rounding) widen the
// interval.
package pld
