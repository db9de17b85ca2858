package tune

import (
	"math"

	"github.com/pate-go/pate/rng"
)

// Draw returns a number of runs. It has the law exactly, for the parameters as float64: every decision
// compares random bits with a ratio of integers or with the binary digits of a parameter.
func (l Law) Draw(s *rng.Stream) int64 {
	switch {
	case l.Mean != 0:
		return poisson(s, l.Mean)
	case l.Eta < 0:
		return heavy(s, -l.Eta, l.Gamma)
	}
	return geometric(s, l.Eta, l.Gamma)
}

// poisson adds numbers of mean 1, one for each whole part of the mean, and thins one more to the rest: a
// sum of independent Poisson numbers is Poisson, and so is a thinned one.
func poisson(s *rng.Stream, mean float64) int64 {
	whole, rest := math.Modf(mean)
	n := int64(0)
	for range int64(whole) {
		n += poissonOne(s)
	}
	for range poissonOne(s) {
		if bernoulli(s, rest) {
			n++
		}
	}
	return n
}

// poissonOne returns a number of mean 1: k is proposed with probability 2^-(k+1) and accepted with
// 2^(k-1)/k!, a product of 1/2 at k = 0 and of 2/j for j from 3 to k.
func poissonOne(s *rng.Stream) int64 {
	for {
		k := int64(0)
		for s.Uint64N(2) == 1 {
			k++
		}
		accept := k > 0 || s.Uint64N(2) == 0
		for j := int64(3); j <= k && accept; j++ {
			accept = s.Uint64N(uint64(j)) < 2
		}
		if accept {
			return k
		}
	}
}

// geometric returns k with probability proportional to
//
//	gamma (1-gamma)^(k-1) prod_{j=1}^{k-1} (j+eta)/(j+1),   0 <= eta <= 1:
//
// the next number is tried unless gamma stops, and kept with the factor of the product; else all begins
// again.
func geometric(s *rng.Stream, eta, gamma float64) int64 {
	for k := uint64(1); ; k++ {
		if bernoulli(s, gamma) {
			return int64(k)
		}
		if u := s.Uint64N(k + 1); u == k && !bernoulli(s, eta) {
			k = 0
		}
	}
}

// heavy returns k with probability proportional to
//
//	(1-gamma)^k (alpha/k) prod_{j=1}^{k-1} (1 - alpha/j),   alpha = -eta in (0, 1):
//
// Sibuya's law, whose k-th trial ends with probability alpha/k, where gamma in each trial restarts. Without
// the first factor geometric would hardly ever end.
func heavy(s *rng.Stream, alpha, gamma float64) int64 {
	for k := uint64(1); ; k++ {
		if bernoulli(s, gamma) {
			k = 0
			continue
		}
		if s.Uint64N(k) == 0 && bernoulli(s, alpha) {
			return int64(k)
		}
	}
}

// bernoulli is true with probability p exactly, for p in [0, 1]: uniform bits are below the digits of p.
func bernoulli(s *rng.Stream, p float64) bool {
	if p == 1 {
		return true
	}
	frac, exponent := math.Frexp(p)
	for zeros := -exponent; zeros > 0; zeros -= 64 {
		if s.Uint64()>>(64-min(zeros, 64)) != 0 {
			return false
		}
	}
	return s.Uint64()>>11 < uint64(math.Ldexp(frac, 53))
}
