// Package opaque hides numbers from users of this module. Other modules can store a Number and pass it on,
// but cannot call Open. So a value without a privacy guarantee, stored as a Number, cannot be used as an
// epsilon.
package opaque

import (
	"fmt"
	"io"
)

// Number is a number that cannot be printed, compared or used in arithmetic.
type Number struct{ x float64 }

// Of returns the Number of x.
func Of(x float64) Number { return Number{x} }

// Open returns the number. A test of internal/arch lists the packages that may call Open.
func Open(n Number) float64 { return n.x }

func (Number) String() string { return "opaque" }

func (n Number) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.String()) }
