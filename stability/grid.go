package stability

import "math"

// grid is the lattice on which a real-valued answer is noised: multiples of unit, a power of two, so that
// dividing by it is exact. Rounding to the grid is part of the function that is released, and of its
// sensitivity.
type grid struct{ unit float64 }

// gridFor returns a grid on which size has between 2^bits and 2^(bits+1) units.
func gridFor(size float64, bits int) grid {
	_, exponent := math.Frexp(size) // size in [2^(exponent-1), 2^exponent)
	return grid{math.Ldexp(1, exponent-1-bits)}
}

// round returns x in units, rounded to the nearest integer within 2^52. It returns 0 for NaN.
func (g grid) round(x float64) int64 {
	if math.IsNaN(x) {
		return 0
	}
	return int64(math.RoundToEven(min(max(x/g.unit, -0x1p52), 0x1p52)))
}

func (g grid) value(units int64) float64 { return float64(units) * g.unit }

// within reports whether x is in [low, high]. It reports false for NaN.
func within(x, low, high float64) bool { return x >= low && x <= high }
