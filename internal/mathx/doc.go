// Package mathx has the scalar numerics of privacy accounting, in deterministic float64 code. It has sums and
// differences of exponentials in log space, and accurate tails of the normal distribution. It also has
// discrete Fourier transforms with an error bound, and outward rounding.
package mathx
