package features

import (
	"cmp"
	"slices"

	"github.com/pate-go/pate/internal/kernel"
)

// bank applies the Fourier transforms of the eight filters of one scale to signals in the real basis. Each
// result is the coefficients of the real and of the imaginary part of a complex signal, in the fine basis
// or, after dropping every other point in both directions, in the coarse one, and with the weights of the
// way back.
//
// With P the four parts of a real filter that are even or odd in each frequency (ee, oo, eo, oe; rows
// first) and X the coefficients of a real signal (cc, ss, cs, sc), the real and the imaginary part of the
// filtered signal have
//
//	R.cc =  Pee Xcc - Poo Xss    I.cc = -Peo Xcs - Poe Xsc
//	R.ss = -Poo Xcc + Pee Xss    I.ss =  Poe Xcs + Peo Xsc
//	R.cs =  Pee Xcs + Poo Xsc    I.cs =  Peo Xcc - Poe Xss
//	R.sc =  Poo Xcs + Pee Xsc    I.sc =  Poe Xcc - Peo Xss
//
// so a coefficient depends on the two of one class, cc and ss or cs and sc, of its frequency and of the
// frequencies that fall on it.
//
// A filter at an angle theta is the filter at -theta with columns the other way round, where Poo and Peo
// have the other sign. So a coefficient is a sum of the contributions of cosines and of sines along
// columns, and their difference is a coefficient of the mirror image of the signal filtered at -theta.
//
// A bank has one such pair of filters for each pair of angles, but two for the last pair, whose filters are
// their own mirror images. Of these the sum alone is wanted: the inputs of sines are negated, so that it is
// the difference, which stays where both go to one place.
type bank [len(turns)][]*kernel.Groups

// turns lists the angles in pairs, theta and -theta but for the last.
var turns = [angles / 2][2]int{{0, 6}, {1, 5}, {2, 4}, {3, 7}}

// spectrum is the Fourier transforms of the eight filters of a scale.
type spectrum struct {
	rows, cols int
	hat        [angles][]float64
}

func newSpectrum(rows, cols, scale int) spectrum {
	s := spectrum{rows: rows, cols: cols}
	for angle := range angles {
		s.hat[angle] = morlet(rows, cols, scale, angle)
	}
	return s
}

// parts returns Pee, Poo, Peo and Poe of a filter at frequency (k, l).
func (s spectrum) parts(angle, k, l int) (ee, oo, eo, oe float64) {
	at := func(k, l int) float64 {
		return s.hat[angle][(k+s.rows)%s.rows*s.cols+(l+s.cols)%s.cols]
	}
	pp, pm, mp, mm := at(k, l), at(k, -l), at(-k, l), at(-k, -l)
	return (pp + pm + mp + mm) / 4, (pp - pm - mp + mm) / 4, (pp - pm + mp - mm) / 4, (pp + pm - mp - mm) / 4
}

// coefficient returns the weight of input coefficient (a, b) in output coefficient (sineRow, sineCol, part)
// of the same frequency: the table of [bank]. The part of the filter is odd where the kinds of input and
// output differ, in the imaginary part where they agree.
func (s spectrum) coefficient(angle int, a, b wave, sineRow, sineCol bool, part int) float64 {
	ee, oo, eo, oe := s.parts(angle, a.k, b.k)
	sameRow := a.sine == sineRow
	if part == 0 {
		switch {
		case sameRow:
			return ee
		case a.sine == b.sine:
			return -oo
		}
		return oo
	}
	w := oe
	if sameRow {
		w = eo
	}
	if !sineRow && !sineCol || a.sine && b.sine {
		return -w
	}
	return w
}

// meeting lists, for every frequency of a bank that keeps one of so many points, the functions that have
// this frequency on the points kept. With every other point a cosine of frequency n/2-k is one of k there,
// and a sine minus one.
func (b basis) meeting(step int) [][]wave {
	all := make([][]wave, b.n/2/step+1)
	for _, w := range b.waves() {
		k := w.k
		if step == 2 {
			k = min(k, b.n/2-k)
		}
		all[k] = append(all[k], w)
	}
	return all
}

// newBank makes the bank of a scale that keeps one of so many points in either direction, 1 or 2, for
// spectra in one grid and results in another with room for the points kept.
func newBank(s spectrum, to, from grid, step int) bank {
	var all bank
	for i, turn := range turns {
		last := i == len(turns)-1
		for _, angle := range turn {
			if len(all[i]) == 0 || last {
				all[i] = append(all[i], makeGroups(s, angle, last, to, from, step))
			}
		}
	}
	return all
}

// makeGroups makes a filter, which is its own mirror image or is not.
func makeGroups(s spectrum, angle int, itself bool, to, from grid, step int) *kernel.Groups {
	var groups []group
	rows, cols := basis{s.rows / step}, basis{s.cols / step}
	for k, down := range (basis{s.rows}).meeting(step) {
		for l, across := range (basis{s.cols}).meeting(step) {
			for class := range 2 {
				var out [kernel.GroupOutputs]outcome
				var places [kernel.GroupOutputs]int
				for i := range out {
					// Two of the real part and two of the imaginary part depend on a class.
					o := outcome{part: i / 2, row: wave{k, i%2 > 0}}
					o.col = wave{l, o.row.sine != (o.part != class)}
					row, here := rows.place(o.row)
					col, there := cols.place(o.col)
					if o.exists = here && there; o.exists {
						places[i] = to.point(row, col) + o.part*lanes
					} else {
						places[i] = to.spare()
					}
					out[i] = o
				}
				g := group{out: places}
				g.first = s.inputs(angle, from, down, across, class, false, out)
				g.second = s.inputs(angle, from, down, across, class, true, out)
				for i := range g.second.Weights {
					if itself {
						g.second.Weights[i] *= -1
					}
				}
				groups = append(groups, g)
			}
		}
	}
	// Groups with as many inputs stand together: processors then guess when a sum ends.
	slices.SortStableFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(len(a.first.In), len(b.first.In)), cmp.Compare(len(a.second.In), len(b.second.In)))
	})
	all := new(kernel.Groups)
	for _, g := range groups {
		all.Add(g.out, g.first, g.second)
	}
	return all
}

type group struct {
	out           [kernel.GroupOutputs]int
	first, second kernel.GroupInputs
}

type outcome struct {
	row, col wave
	part     int // 0 is real, 1 imaginary
	exists   bool
}

// negligible is a weight as a share of the largest of a filter below which an input is left out: it is lost
// in float32.
const negligible = 1e-8

// inputs returns the coefficients of a class that are cosines, or sines, along columns, and their weights
// in the results.
func (s spectrum) inputs(angle int, from grid, down, across []wave, class int, sine bool, out [kernel.GroupOutputs]outcome) (in kernel.GroupInputs) {
	rows, cols := basis{s.rows}, basis{s.cols}
	least := negligible * float32(slices.Max(s.hat[angle])/float64(s.rows*s.cols))
	for _, a := range down {
		for _, b := range across {
			if b.sine != sine || (a.sine != b.sine) != (class == 1) {
				continue
			}
			weights, needed := make([]float32, len(out)), false
			for i, o := range out {
				if o.exists {
					weights[i] = s.meets(angle, a, b, o)
					needed = needed || weights[i] > least || -weights[i] > least
				}
			}
			if !needed {
				continue
			}
			i, _ := rows.place(a)
			j, _ := cols.place(b)
			in.In, in.Weights = append(in.In, from.point(i, j)), append(in.Weights, weights...)
		}
	}
	return in
}

// meets returns the weight of input (a, b) in a result of the frequency that the input has or falls on.
func (s spectrum) meets(angle int, a, b wave, o outcome) float32 {
	w := s.coefficient(angle, a, b, o.row.sine, o.col.sine, o.part) * a.weight(s.rows) * b.weight(s.cols)
	if (o.row.sine && a.k != o.row.k) != (o.col.sine && b.k != o.col.k) {
		w = -w
	}
	return float32(w)
}
