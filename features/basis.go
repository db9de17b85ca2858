package features

import "math"

// A real Fourier basis of n points, n a multiple of four: the cosines of the
// frequencies 0 to n/2 and the sines of 1 to n/2 - 1. Real signals have real
// coefficients in it, half as many numbers as complex ones, and a filter whose
// Fourier transform is real mixes only the four coefficients that share a pair
// of frequencies.
//
// Points are counted from a centre, on a circle: point i is i behind it, and
// point n-i as far in front of it. Cosines are even about the centre and sines
// are odd. So a signal is a sum of two parts that half of the points determine,
// and products with them take half of the operations: see [kernel.Mirror].
type basis struct{ n int }

// wave is a basis function of frequency k.
type wave struct {
	k    int
	sine bool
}

// waves returns the functions in order: cosines, then sines.
func (b basis) waves() []wave {
	var all []wave
	for k := range b.n/2 + 1 {
		all = append(all, wave{k: k})
	}
	for k := 1; k < b.n/2; k++ {
		all = append(all, wave{k: k, sine: true})
	}
	return all
}

// place returns the place of a function in that order, and whether it exists.
func (b basis) place(w wave) (int, bool) {
	if !w.sine {
		return w.k, true
	}
	return b.n/2 + w.k, w.k > 0 && w.k < b.n/2
}

// at returns the value of a function at point i of n.
func (w wave) at(i, n int) float64 {
	s, c := math.Sincos(2 * math.Pi * float64(w.k*i%n) / float64(n))
	if w.sine {
		return s
	}
	return c
}

// weight makes analysis followed by the transpose of analysis the identity.
func (w wave) weight(n int) float64 {
	if w.k == 0 || w.k == n/2 {
		return 1 / float64(n)
	}
	return 2 / float64(n)
}
