package kernel

import "math"

// Gaussian replaces the inner products xz of a row x with others by the Gaussian kernel exp(-gamma |x-z|²),
// given the squared norms. The squared distance |x|² + |z|² - 2xz counts as 0 where rounding makes it
// negative. The relative error of the exponential is below 1e-7; below e^-87, and of NaN, it is 0. All
// paths have the same bits.
func Gaussian(products []float32, norm float32, norms []float32, gamma float32) {
	match(len(norms) == len(products))
	if pathOf[float32]() > portable {
		const lanes = 8
		done := whole[float32](len(products), lanes)
		if done > 0 {
			gaussian32(&products[0], &norms[0], done, norm, -gamma, &roots[0])
		}
		if done < len(products) {
			var last, lastNorms [lanes]float32
			copy(last[:], products[done:])
			copy(lastNorms[:], norms[done:])
			gaussian32(&last[0], &lastNorms[0], lanes, norm, -gamma, &roots[0])
			copy(products[done:], last[:])
		}
		return
	}
	for j, dot := range products {
		products[j] = exp32(-gamma * max(0, norm+norms[j]-2*dot))
	}
}

// exp32 returns eˣ for x <= 0 with a relative error below 1e-7 (a test goes over the domain). Below -87,
// and of NaN, it returns 0. It writes x = (n + r) ln 2 / 64 with
// |r| <= 1/2, in float64. So eˣ is 2^(n/64), a power of 2 times a root from a table, times a
// factor whose Taylor polynomial of degree 2 has a remainder below (ln 2/128)³/6 = 2.7e-8.
// Products are rounded before they are added, on every machine.
func exp32(x float32) float32 {
	if !(x > -87) {
		return 0
	}
	const (
		magic = 3 << 51 // a float64 near it is an integer: its last bits are n
		unit  = math.Ln2 / 64
	)
	t := float64(float64(x) * (1 / unit))
	rounded := t + magic
	n := math.Float64bits(rounded)
	r := t - (rounded - magic)
	power := math.Float64frombits(roots[n%64] + n>>6<<52)
	return float32(power + float64(power*float64(r*(unit+float64(r*(unit*unit/2))))))
}

// roots are the bits of 2^(i/64).
var roots = func() (bits [64]uint64) {
	for i := range bits {
		bits[i] = math.Float64bits(math.Exp2(float64(i) / 64))
	}
	return bits
}()
