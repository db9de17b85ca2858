// Package mathx computes the scalar numerics of privacy accounting: sums and differences of exponentials in
// log space, tails of the normal distribution that stay accurate where the probability underflows, discrete
// Fourier transforms with an error bound, and outward rounding.
//
// All functions are deterministic float64 code without package state.
package mathx
