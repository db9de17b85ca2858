package svt

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// Basis says what a bound rests on.
type Basis string

const (
	Cited  Basis = "cited"  // a published theorem
	Proved Basis = "proved" // proved beside the code and checked numerically: see docs/claims.md
)

// RDPBound is an upper bound on a Rényi divergence.
type RDPBound struct {
	Name  string
	Basis Basis
	RDP   float64
}

// LaplaceBounds returns the known bounds on the Rényi divergence of order a > 1 of a sparse
// vector with continuous Laplace noise of threshold scale b1 and query scale b2. The
// queries have sensitivity 1 and are not monotone, and the run gives the given number of
// answers. All bounds hold, so the least of them does. With e1 = 1/b1 and
// e2 = 2 answers/b2:
//
//   - "pure" (cited): the bound of any mechanism that is (e1 + e2)-private.
//   - "threshold" (cited, Zhu, Wang 2020): the curve of Laplace noise at e1, plus e2. Put
//     between the two laws the run on the one data set with the threshold of the other.
//   - "stopping time" (proved): the curve of Laplace noise at e1, plus
//     answers log S(a)/(a-1). Here S is the supremum over real x and 0 <= s <= 2 of
//     h^a h'^(1-a)/(1 - (1-h)^a (1-h')^(1-a)), with h = P[nu >= x] and h' = P[nu >= x + s].
//
// Proof of the last. Reveal the threshold noise as well, z on one side with z + 1 on the
// other. By joint convexity of u^a v^(1-a) this only increases the sum, and z contributes
// the first term. Given z, query i is above with chances h_i, h'_i, whose points differ by
// at most 2. Let G_i be the sum over all continuations from query i on. It satisfies
// G_i = f + g G_(i+1) with f = h^a h'^(1-a) and g = (1-h)^a (1-h')^(1-a). As f <= (1-g) S,
// G <= S by induction from the end, where G = 1 <= S. Every further answer multiplies by S.
// The supremum was at s = 2 wherever it was looked for.
//
// These bounds charge no mechanism, because the noise that is drawn is discrete.
func LaplaceBounds(b1, b2 float64, answers int, a float64) ([]RDPBound, error) {
	if err := checkOrder(a, b1, b2); err != nil {
		return nil, err
	}
	if err := checkStop("answers", answers); err != nil {
		return nil, err
	}
	c := float64(answers)
	e2 := 2 * c / b2
	pure, err := curve(accountant.PureDP{Epsilon: 1/b1 + e2}, a)
	if err != nil {
		return nil, err
	}
	threshold, err := curve(accountant.Laplace{NoiseMultiplier: b1}, a)
	if err != nil {
		return nil, err
	}
	return []RDPBound{
		{"pure", Cited, pure},
		{"threshold", Cited, threshold + e2},
		{"stopping time", Proved, threshold + c*logStopping(b2, a)/(a-1)},
	}, nil
}

// GaussianBound bounds the divergence of AboveThreshold, one answer, with continuous
// Gaussian noise of standard deviation sigma1 on the threshold and sigma2 on the queries.
// The sensitivity is 1, and there are at most the given number of comparisons:
//
//	a/(2 sigma1^2) + log(1 + comparisons e^((a-1) 4a/(2 sigma2^2)))/(a-1).
//
// As for [LaplaceBounds] reveal the threshold noise. Then consider the sum over where the
// run stops. It has one term for each comparison, at most e^((a-1) times the divergence of
// a Gaussian shifted by 2), because what went before contributes a factor of at most 1. It
// has one more term, at most 1, for not stopping. Zhu and Wang (2020, Theorem 8) replace
// log(comparisons) by a moment of the stopping time. The same steps hold for discrete
// Gaussian noise on integer queries. No account has an event for it yet, so it is not
// drawn.
func GaussianBound(sigma1, sigma2 float64, comparisons int64, a float64) (RDPBound, error) {
	if err := checkOrder(a, sigma1, sigma2); err != nil {
		return RDPBound{}, err
	}
	if comparisons < 1 {
		return RDPBound{}, fmt.Errorf("svt: %d is not a number of comparisons", comparisons)
	}
	x := math.Log(float64(comparisons)) + (a-1)*2*a/(sigma2*sigma2)
	log1pExp := math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
	return RDPBound{"stopping", Proved, a/(2*sigma1*sigma1) + log1pExp/(a-1)}, nil
}

func checkOrder(a, b1, b2 float64) error {
	if !(a > 1 && a <= 0x1p20 && b1 >= 0x1p-10 && b1 <= 0x1p40 && b2 >= 0x1p-10 && b2 <= 0x1p40) {
		return fmt.Errorf("svt: no bound at order %g with scales %g and %g", a, b1, b2)
	}
	return nil
}

// curve returns the divergence that an account has for an event.
func curve(e accountant.Event, a float64) (float64, error) {
	divergence, _, err := accountant.Divergence(accountant.ReplaceOne, a, e)
	return divergence, err
}

// logStopping returns log S(a) for Laplace noise of scale b. It scans over x at s = 2, and
// searches by golden sections around the best point.
func logStopping(b, a float64) float64 {
	value := func(x float64) float64 {
		h, miss := logLaplaceTails(x / b)
		h2, miss2 := logLaplaceTails((x + 2) / b)
		f := a*h + (1-a)*h2
		g := a*miss + (1-a)*miss2
		return f - math.Log(-math.Expm1(g))
	}
	low, high := -2-40*b, 40*b
	const steps = 4000
	width := (high - low) / steps
	best, at := math.Inf(-1), low
	for i := range steps + 1 {
		if v := value(low + float64(i)*width); v > best {
			best, at = v, low+float64(i)*width
		}
	}
	for _, kink := range []float64{-2, 0} {
		if v := value(kink); v > best {
			best, at = v, kink
		}
	}
	// The kinks bound the pieces on which the ratio is smooth.
	for _, piece := range [][2]float64{{at - width, at}, {at, at + width}} {
		l, r := piece[0], piece[1]
		const phi = 0.6180339887498949
		for range 60 {
			m1, m2 := r-phi*(r-l), l+phi*(r-l)
			if value(m1) < value(m2) {
				l = m1
			} else {
				r = m2
			}
		}
		best = max(best, value((l+r)/2))
	}
	return best
}

// logLaplaceTails returns log P[Lap(1) >= x] and log P[Lap(1) < x].
func logLaplaceTails(x float64) (above, below float64) {
	if x >= 0 {
		return -x - math.Ln2, math.Log1p(-math.Exp(-x) / 2)
	}
	return math.Log1p(-math.Exp(x) / 2), x - math.Ln2
}
