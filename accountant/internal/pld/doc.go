// Package pld composes privacy loss distributions.
//
// The privacy loss of a pair (P, Q) at an output y is log P(y)/Q(y), with y drawn from P. A [Sum] lists pairs
// and counts. A [Composer] returns intervals that contain the epsilon and the delta of a Sum. Every pair is
// discretised twice (cells.go, tilted.go). The upper result dominates the pair, and the pair dominates the
// lower result. Exponentially tilted convolution composes the results (convolve.go), in stages with coarser
// and coarser grids (compose.go). Tilting by lambda multiplies masses by e^{lambda loss}, up to a constant
// factor. Discretisation can only widen the returned interval. Bounds on all other errors (truncated tails,
// mass outside a window, rounding) widen it further.
package pld
