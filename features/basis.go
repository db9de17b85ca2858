package features

import "math"

// A real Fourier basis of n points, n a multiple of four: the cosines of the
// frequencies 0 to n/2 and the sines of 1 to n/2 - 1. Real signals have real
// coefficients in it, half as many numbers as complex ones, and a filter whose
// Fourier transform is real mixes only the four coefficients that share a pair
// of frequencies.
//
// The order is such that what falls together when every other point is dropped,
// k and n/2 - k, lies together: for k = 0..n/4 a cell of cos k, cos(n/2-k), sin
// k, sin(n/2-k), those of them that exist and differ.
type basis struct {
	n     int
	cells []cell // of k = 0..n/4
}

// cell is the part of a basis that belongs to a frequency after subsampling by
// two.
type cell struct {
	at    int // of its first function
	waves []wave
}

// wave is a basis function of frequency k.
type wave struct {
	k    int
	sine bool
}

func newBasis(n int) basis {
	b := basis{n: n}
	at := 0
	for k := 0; k <= n/4; k++ {
		c := cell{at: at}
		for _, sine := range []bool{false, true} {
			for _, f := range []int{k, n/2 - k} {
				if sine && (f == 0 || f == n/2) || f == n/2-k && f == k && len(c.waves) > 0 && c.waves[len(c.waves)-1] == (wave{f, sine}) {
					continue
				}
				c.waves = append(c.waves, wave{f, sine})
			}
		}
		at += len(c.waves)
		b.cells = append(b.cells, c)
	}
	return b
}

// at returns the value of a function at point x of n.
func (w wave) at(x, n int) float64 {
	s, c := math.Sincos(2 * math.Pi * float64(w.k*x%n) / float64(n))
	if w.sine {
		return s
	}
	return c
}

// waves returns the functions in order.
func (b basis) waves() []wave {
	var all []wave
	for _, c := range b.cells {
		all = append(all, c.waves...)
	}
	return all
}

// weight makes analysis followed by the transpose of analysis the identity.
func (w wave) weight(n int) float64 {
	if w.k == 0 || w.k == n/2 {
		return 1 / float64(n)
	}
	return 2 / float64(n)
}

// coarse returns the basis of every other point, in the order of the cells it comes
// from.
func (b basis) coarse() []wave {
	var all []wave
	for k := range b.cells {
		all = append(all, wave{k: k})
		if k > 0 && k < b.n/4 {
			all = append(all, wave{k: k, sine: true})
		}
	}
	return all
}

// values returns the matrix of functions by points.
func values(waves []wave, n int) []float64 {
	out := make([]float64, len(waves)*n)
	for i, w := range waves {
		for x := range n {
			out[i*n+x] = w.at(x, n)
		}
	}
	return out
}
