package analysis

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// tally is the counts of one query, largest first. Continuous noise and every
// bound here treat classes alike, so histograms with equal tallies cost the same.
type tally []int

func newTally(counts []int) tally {
	t := slices.Clone(counts)
	slices.SortFunc(t, func(a, b int) int { return cmp.Compare(b, a) })
	return t
}

// key returns a text that only equal tallies share.
func (t tally) key() string {
	b := make([]byte, 0, 4*len(t))
	for _, n := range t {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return string(b)
}

// logFlip returns a bound of log P[noisy argmax != argmax], from the probability that
// a class overtakes the largest count, as a function of its distance, summed over
// the other classes and capped by 1 - 1/K (noise that forgets the counts).
func (t tally) logFlip(overtakes func(gap float64) float64) float64 {
	terms := make([]float64, len(t)-1)
	for j := range terms {
		terms[j] = overtakes(float64(t[0] - t[j+1]))
	}
	return math.Min(mathx.LogSumExp(terms), math.Log1p(-1/float64(len(t))))
}

// logFlipGaussian returns the bound for Gaussian noise: the difference of two counts has noise of
// standard deviation sqrt(2) sigma (Papernot et al. 2018, Proposition 7).
func (t tally) logFlipGaussian(sigma float64) float64 {
	return t.logFlip(func(gap float64) float64 { return mathx.LogNormalCDF(-gap / (math.Sqrt2 * sigma)) })
}

// logFlipLaplace returns the bound for Laplace noise: at distance g the probability is
// (2 + g/b) e^{-g/b} / 4 (Papernot et al. 2017, Lemma 4).
func (t tally) logFlipLaplace(scale float64) float64 {
	return t.logFlip(func(gap float64) float64 { return math.Log((2+gap/scale)/4) - gap/scale })
}
