// Package mathx has the scalar numerics of privacy accounting: sums and differences of exponentials in log
// space, accurate tails of the normal distribution, discrete Fourier transforms with an error bound, and
// outward rounding. All functions are deterministic float64 code.
package mathx
