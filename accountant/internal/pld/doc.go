// Package pld composes privacy loss distributions: it is given pairs of laws with counts and returns
// intervals that hold their epsilon and delta. It has no notion of mechanisms.
//
// The privacy loss of a pair of laws (P, Q) at an output y is log P(y)/Q(y), y drawn from P. A [Sum] lists
// pairs with how often each is composed; a [Composer] answers about a Sum. Every step is discretised once
// so that the result dominates the pair and once so that the pair dominates it (cells.go, tilted.go), and
// composed by exponentially tilted convolution (convolve.go), in stages on grids that grow coarser
// (compose.go). Both ends of an answer are certified: discretisation errs outwards by
// construction; truncated tails, the mass a window leaves outside, rounding of masses, losses and
// transforms are bounded and added. What cannot be certified is answered by a wider interval.
package pld
