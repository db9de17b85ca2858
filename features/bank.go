package features

import "github.com/pate-go/pate/internal/kernel"

// bank applies the Fourier transforms of the eight filters of one scale to
// signals in the real basis. What comes out are the coefficients of the real and
// of the imaginary part of eight complex signals, in the fine basis or, after
// dropping every other point in both directions, in the coarse one, and with
// the weights of the way back.
//
// With P the four parts of a real filter that are even or odd in each frequency
// (ee, oo, eo, oe; rows first) and X the coefficients of a real signal (cc, ss,
// cs, sc), the real and the imaginary part of the filtered signal have
//
//	R.cc =  Pee Xcc - Poo Xss    I.cc = -Peo Xcs - Poe Xsc
//	R.ss = -Poo Xcc + Pee Xss    I.ss =  Poe Xcs + Peo Xsc
//	R.cs =  Pee Xcs + Poo Xsc    I.cs =  Peo Xcc - Poe Xss
//	R.sc =  Poo Xcs + Pee Xsc    I.sc =  Poe Xcc - Peo Xss
//
// so a coefficient depends on the two of one class, cc and ss or cs and sc, of
// its frequency and of those that fall on it.
type bank []band

// band is the coefficients of at most two rows, those of one frequency.
type band struct {
	rows   []int // where its rows belong
	groups []bankGroup
}

// bankGroup is the coefficients that share inputs: in[0] those of cc and ss,
// in[1] those of cs and sc.
type bankGroup struct {
	in  [2][]place
	out []bankOutput
}

// place is that of a coefficient.
type place struct{ row, col int }

// bankOutput is one coefficient of eight filtered signals.
type bankOutput struct {
	at          place     // the row counts in the band
	part, class int       // part 0 is real, 1 imaginary
	weights     []float32 // angles x len(in[class])
}

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

// coefficient returns the weight of input coefficient (a, b) in output coefficient
// (sineRow, sineCol, part) of the same frequency: the table of [bank]. The part
// of the filter is odd where the kinds of input and output differ, in the
// imaginary part where they agree.
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

// newBank makes the bank of a scale that keeps all points.
func newBank(s spectrum) bank {
	rows, cols := newBasis(s.rows), newBasis(s.cols)
	return makeBank(s, rows.waves(), cols.waves(), rows.byFrequency(), cols.byFrequency())
}

// newCoarseBank makes the bank of a scale that drops every other point.
func newCoarseBank(s spectrum) bank {
	rows, cols := newBasis(s.rows), newBasis(s.cols)
	return makeBank(s, rows.waves(), cols.waves(), rows.folds(), cols.folds())
}

// fold is the functions along one dimension that meet in output functions of
// frequency k. Seen on every other point, a cosine of frequency n/2-k is one of
// k, and a sine minus one.
type fold struct {
	k   int
	in  []int // places in the basis
	out []foldOutput
}

type foldOutput struct {
	at   int
	sine bool
}

// byFrequency leaves every function where it is.
func (b basis) byFrequency() []fold {
	all := make([]fold, b.n/2+1)
	for i, w := range b.waves() {
		all[w.k].k = w.k
		all[w.k].in = append(all[w.k].in, i)
		all[w.k].out = append(all[w.k].out, foldOutput{at: i, sine: w.sine})
	}
	return all
}

// folds sends functions to the coarse basis.
func (b basis) folds() []fold {
	all := make([]fold, len(b.cells))
	for k, c := range b.cells {
		all[k].k = k
		for i := range c.waves {
			all[k].in = append(all[k].in, c.at+i)
		}
	}
	for i, w := range b.coarse() {
		all[w.k].out = append(all[w.k].out, foldOutput{at: i, sine: w.sine})
	}
	return all
}

func makeBank(s spectrum, rowWaves, colWaves []wave, down, across []fold) bank {
	var all bank
	for _, fr := range down {
		var b band
		for _, o := range fr.out {
			b.rows = append(b.rows, o.at)
		}
		for _, fc := range across {
			b.groups = append(b.groups, makeGroup(s, rowWaves, colWaves, fr, fc))
		}
		all = append(all, b)
	}
	return all
}

func makeGroup(s spectrum, rowWaves, colWaves []wave, fr, fc fold) bankGroup {
	var g bankGroup
	type input struct{ row, col wave }
	var inputs [2][]input
	for _, i := range fr.in {
		for _, j := range fc.in {
			a, b := rowWaves[i], colWaves[j]
			class := 0
			if a.sine != b.sine {
				class = 1
			}
			g.in[class] = append(g.in[class], place{i, j})
			inputs[class] = append(inputs[class], input{a, b})
		}
	}
	for row, r := range fr.out {
		for _, c := range fc.out {
			for part := range 2 {
				o := bankOutput{at: place{row, c.at}, part: part, class: part}
				if r.sine != c.sine {
					o.class = 1 - part
				}
				for angle := range angles {
					for _, in := range inputs[o.class] {
						w := s.coefficient(angle, in.row, in.col, r.sine, c.sine, part) * in.row.weight(s.rows) * in.col.weight(s.cols)
						if (r.sine && in.row.k != fr.k) != (c.sine && in.col.k != fc.k) {
							w = -w
						}
						o.weights = append(o.weights, float32(w))
					}
				}
				g.out = append(g.out, o)
			}
		}
	}
	return g
}

// apply sets the rows of dst, with signals [part][angle][signal], to the
// coefficients of filtered signals: n numbers a point from the given one on.
func (b band) apply(dst, src tensor, from, n int, gathered []float32) {
	for _, g := range b.groups {
		var in [2][]float32
		rest := gathered
		for class, places := range g.in {
			in[class], rest = rest[:len(places)*n], rest[len(places)*n:]
			for i, p := range places {
				copy(in[class][i*n:(i+1)*n], src.at(p.row, p.col)[from:])
			}
		}
		for _, o := range g.out {
			k := len(g.in[o.class])
			to := dst.at(o.at.row, o.at.col)[o.part*angles*n : (o.part+1)*angles*n]
			kernel.MulAB(to, n, o.weights, k, in[o.class], n, angles, n, k)
		}
	}
}
