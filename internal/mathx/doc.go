// Package mathx computes the scalar numerics of privacy accounting: sums and differences of exponentials
// in log space, tails of the normal law that stay accurate where the probability underflows, discrete
// Fourier transforms with a bound on their error, and outward rounding.
//
// All functions are deterministic float64 code without package state.
package mathx
