// Package pld composes privacy loss distributions. The input is pairs of distributions with counts, not
// mechanisms. The output is intervals that contain the epsilon and the delta of the composition.
//
// The privacy loss of a pair (P, Q) at an output y is log P(y)/Q(y), with y drawn from P. A [Sum] lists pairs
// and counts. A [Composer] bounds epsilon and delta of a Sum. Every step is discretised twice (cells.go,
// tilted.go). The upper result dominates the pair, and the pair dominates the lower result. Both are composed
// by exponentially tilted convolution (convolve.go), in stages on grids that grow coarser (compose.go). Both
// ends of an interval are certified. Discretisation errs outwards by construction. The errors from truncated
// tails, from mass outside a window and from rounding are bounded and added. Their sum widens the interval. A
// distribution tilted by lambda has masses proportional to e^{lambda loss} times the original masses.
package pld
