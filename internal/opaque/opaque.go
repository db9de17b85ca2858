// Package opaque holds numbers that leave this module as text alone. A package outside can keep a Number
// and hand it on, but cannot read it, since it may not import Open. So a figure that looks like an epsilon
// and is none cannot be used as one.
package opaque

// Number is a number that has no arithmetic, no comparison by size and no text.
type Number struct{ x float64 }

// Of returns the Number of x.
func Of(x float64) Number { return Number{x} }

// Open returns the number. A test of internal/arch lists the packages that call it.
func Open(n Number) float64 { return n.x }

// String returns a redacted word.
func (Number) String() string { return "opaque" }

// GoString returns a redacted word.
func (Number) GoString() string { return "opaque" }
