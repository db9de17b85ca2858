package aggregate

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// The exponential mechanism and permute-and-flip both go through the classes in
// a random order and stop at the first that is accepted: class j with
// probability exp(-(max - n_j)/Scale), so a class with the largest count always.
// If D has the geometric law P[D >= d] = exp(-d/Scale), then D >= max - n_j has
// exactly that probability. So order and distances D can be drawn before the
// votes are looked at, as integers, and the votes only decide where to stop.

// turn appends a turn of a class to noise: a class accepts if its count is at
// most distance below the largest.
func turn(noise []int64, class, distance int64) []int64 { return append(noise, class, distance) }

// firstAccepted returns the class of the first turn that is accepted. It looks at
// every turn, from the last to the first, wherever the accepted ones are.
func firstAccepted(counts, turns []int64) Answer {
	high := slices.Max(counts)
	label := NoLabel
	for i := len(turns) - 2; i >= 0; i -= 2 {
		if turns[i+1] >= high-counts[turns[i]] {
			label = int(turns[i])
		}
	}
	return Answer{Label: label, Answered: true}
}

// twiceOver returns 2/scale, or the next number above where that is not a float64.
func twiceOver(scale float64) float64 {
	eps := 2 / scale
	if math.FMA(eps, scale, -2) < 0 {
		return mathx.Up(eps)
	}
	return eps
}
