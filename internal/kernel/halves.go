package kernel

// Halves is a product of inputs that are mirrored about their middle: input Last - i has the coefficient of
// input i in results 0, 2, 4, ..., and minus that coefficient in results 1, 3, 5, ... Even and Odd hold the
// coefficients of inputs 0 to Last/2 for either. An input in the middle counts twice in even results, and
// not at all in odd ones.
type Halves struct {
	Even, Odd []float32 // (M+1)/2 x Last/2+1 and M/2 x Last/2+1
	M, Last   int
}

// MulStrips sets M rows of strips of dst to the product with Last + 1 rows of strips of src. They must not
// overlap.
func (h Halves) MulStrips(dst []float32, to Strips, src []float32, from Strips, strips int) {
	if strips == 0 {
		return
	}
	k := h.Last/2 + 1
	match(h.M >= 1 && h.Last >= 0 && len(h.Even) == (h.M+1)/2*k && len(h.Odd) == h.M/2*k)
	to.fits(dst, h.M, strips, strip)
	from.fits(src, h.Last+1, strips, strip)
	if pathOf[float32]() > portable {
		halves32(&dst[to.At], 4*to.Row, 4*to.Step, &h.Even[0], first(h.Odd), h.M/2, h.M%2, k,
			&src[from.At], &src[from.At+h.Last*from.Row], 4*from.Row, 4*from.Step, strips)
		return
	}
	for s := range strips {
		for r := range h.M {
			coefficients, sign := h.Even[r/2*k:], float32(1)
			if r%2 == 1 {
				coefficients, sign = h.Odd[r/2*k:], -1
			}
			result := to.row(dst, r, s)[:strip]
			clear(result)
			for i, w := range coefficients[:k] {
				front, back := from.row(src, i, s), from.row(src, h.Last-i, s)
				for j := range result {
					result[j] += float32(w * (front[j] + sign*back[j]))
				}
			}
		}
	}
}
