package pld

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

type kind int

const (
	pairLossless         kind = iota
	pairSampled               // Poisson-sampled Gaussian: a = q, b = noise multiplier
	pairGaussian              // a = 1, b = sigma, c = sensitivity
	pairLaplace               // a = epsilon
	pairRange                 // a = epsilon
	pairResponse              // a = epsilon
	pairDiscreteLaplace       // a = scale, b = sensitivity; on a sample a = q, b = scale, c = sensitivity
	pairDiscreteGaussian      // a = sigma, c = coordinates that change by 1; on a sample a = q, b = sigma, c = coordinates
	pairKary                  // a = epsilon, b = categories
	pairSampledResponse       // a = q, b = epsilon
	pairSampledLaplace        // a = q, b = epsilon
	pairSampledDiscreteLaplace
	pairSampledDiscreteGaussian
	pairAllocation // one random step: a = steps, b = noise multiplier
	pairSeveral    // lower bound for k random steps: a = steps, b = noise multiplier, c = k
	pairRevealing
	pairDrawn         // sample without replacement, Gaussian: a = q, b = noise multiplier
	pairDrawnResponse // a = q, b = epsilon
	pairDrawnDiscreteLaplace
	pairDrawnDiscreteGaussian
)

// A Pair is a pair of output distributions on two neighbouring data sets. The zero Pair has no loss.
type Pair struct {
	kind    kind
	a, b, c float64
}

// MaxAtoms bounds the number of losses of a discrete pair, and so its memory and time.
const MaxAtoms = 1 << 22

// Revealing returns the pair for a release of the raw data.
func Revealing() Pair { return Pair{kind: pairRevealing} }

// Gaussian returns the output distributions under Gaussian noise with standard deviation sigma at the given
// sensitivity.
func Gaussian(sigma, sensitivity float64) Pair { return Pair{pairGaussian, 1, sigma, sensitivity} }

// Laplace returns the pair of Laplace noise at sensitivity/scale = epsilon.
func Laplace(epsilon float64) Pair { return Pair{pairLaplace, epsilon, 0, 0} }

// BoundedRange returns a pair that dominates all mechanisms with log-ratios in an interval of length epsilon.
func BoundedRange(epsilon float64) Pair { return Pair{pairRange, epsilon, 0, 0} }

// Response returns the pair of randomised response, which dominates every epsilon-DP mechanism.
func Response(epsilon float64) Pair { return Pair{pairResponse, epsilon, 0, 0} }

// Kary returns the [Pair] of randomised response with at least two categories, for one replaced record.
func Kary(epsilon float64, categories int64) Pair {
	if categories == 2 {
		return Response(epsilon)
	}
	return Pair{pairKary, epsilon, float64(categories), 0}
}

// DiscreteLaplace returns the output distributions under discrete Laplace noise at the given sensitivity. The
// sensitivity must be at most MaxAtoms.
func DiscreteLaplace(scale float64, sensitivity int64) Pair {
	return Pair{pairDiscreteLaplace, scale, float64(sensitivity), 0}
}

// DiscreteGaussian returns the output distributions under discrete Gaussian noise with sensitivity 1 in each
// coordinate. The argument sigma must be at most MaxAtoms/80.
func DiscreteGaussian(sigma float64, coordinates int64) Pair {
	if coordinates == 0 {
		return Pair{}
	}
	return Pair{pairDiscreteGaussian, sigma, 0, float64(coordinates)}
}

// LeastAllocated is the least noise multiplier for which Allocation returns an exact pair. For less noise,
// Allocation returns an upper bound: the pair of one Gaussian step. The epsilon of this pair is in the
// hundreds or more.
const LeastAllocated = 0.05

// Allocation returns the pair for a record in one random step, among several steps with Gaussian noise.
func Allocation(steps int64, sigma float64) Pair {
	if steps == 1 || sigma < LeastAllocated {
		return Gaussian(sigma, 1)
	}
	return Pair{pairAllocation, float64(steps), sigma, 0}
}

// Several returns a pair for a record in k random steps with Gaussian noise. The pair bounds epsilon from
// below (proof in several.go).
func Several(steps, k int64, sigma float64) Pair {
	return Pair{pairSeveral, float64(steps), sigma, float64(k)}
}

// plain returns the pair of a Gaussian release of the summed step outputs. For p from Several, this pair
// bounds epsilon from below.
func (p Pair) plain() Pair { return Gaussian(p.b, p.c/math.Sqrt(p.a)) }

func (p Pair) tooPlain() bool {
	return p.b < LeastAllocated || p.b > maxSeveralNoise || p.a > maxSeveral
}

// OnPoissonSample returns ((1-q)Q + qP, Q), where p is the pair (P, Q) without sampling (Zhu, Dong, Wang
// 2022, Theorem 11). The pair p must belong to additive noise or a randomised response.
func (p Pair) OnPoissonSample(q float64) Pair {
	if p.kind == pairLaplace {
		return Pair{pairSampledLaplace, q, p.a, 0}
	}
	return p.onSample(q, pairSampled, pairSampledResponse, pairSampledDiscreteLaplace, pairSampledDiscreteGaussian)
}

// OnFixedSample returns the pair of a mechanism that runs on a sample of the records. The sample is a
// fraction q of the records, drawn without replacement. The mechanism's pair (P, Q) must be symmetric. The
// proof is in mixture.go.
func (p Pair) OnFixedSample(q float64) Pair {
	if p.kind == pairLaplace {
		return Pair{pairDrawnResponse, q, mathx.Up(p.a), 0}
	}
	return p.onSample(q, pairDrawn, pairDrawnResponse, pairDrawnDiscreteLaplace, pairDrawnDiscreteGaussian)
}

func (p Pair) onSample(q float64, gaussian, response, discreteLaplace, discreteGaussian kind) Pair {
	switch p.kind {
	case pairGaussian:
		return Pair{gaussian, q, p.b / p.c, 0}
	case pairResponse:
		return Pair{response, q, p.a, 0}
	case pairDiscreteLaplace:
		if p.b == 1 { // one coin decides between the two sides
			return Pair{response, q, 1 / p.a, 0}
		}
		return Pair{discreteLaplace, q, p.a, p.b}
	case pairDiscreteGaussian:
		return Pair{discreteGaussian, q, p.a, p.c}
	}
	return Pair{}
}

func (p Pair) drawn() bool { return p.kind >= pairDrawn }

func (p Pair) unsampled() float64 {
	switch p.kind {
	case pairSampledResponse, pairSampledLaplace, pairDrawnResponse:
		return p.b
	case pairSampledDiscreteLaplace, pairDrawnDiscreteLaplace:
		return p.c / p.b
	}
	return math.Inf(1)
}

func (p Pair) asymmetric() bool {
	switch p.kind {
	case pairSampled, pairSampledResponse, pairSampledLaplace, pairSampledDiscreteLaplace, pairSampledDiscreteGaussian, pairAllocation, pairSeveral:
		return true
	}
	return false
}

// pure returns the largest loss of n runs in one direction, or +Inf if the loss is unbounded.
func (p Pair) pure(n float64, reverse bool) float64 {
	switch p.kind {
	case pairLaplace, pairRange, pairResponse, pairKary:
		return n * p.a
	case pairSampledResponse, pairSampledLaplace, pairSampledDiscreteLaplace:
		if reverse {
			return -n * mathx.LogMix(p.a, -p.unsampled())
		}
		return n * mathx.LogMix(p.a, p.unsampled())
	case pairDrawnResponse, pairDrawnDiscreteLaplace:
		return n * mathx.LogMix(p.a, p.unsampled())
	case pairDiscreteLaplace:
		return n * p.b / p.a
	case pairSampled, pairSampledDiscreteGaussian:
		if reverse {
			return -n * math.Log1p(-p.a)
		}
	}
	return math.Inf(1)
}

// A Sum lists the pairs of a composition and their counts. All Gaussian pairs are merged into one.
type Sum struct {
	// If Plain is set, Add replaces pairs from [Several] by Gaussian pairs. These describe the sum of all
	// steps' outputs.
	Plain bool

	mu2     float64 // sum of n (sensitivity/sigma)^2 of unsampled Gaussians
	pairs   mathx.Multiset[Pair]
	reveals bool
	full    bool
	about   float64 // log of the approximate delta of the query
}

// Add adds n copies of p to s. If a count overflows, Add adds nothing and Full returns true.
func (s *Sum) Add(p Pair, n int64) {
	switch p.kind {
	case pairLossless:
		return
	case pairRevealing:
		s.reveals = true
		return
	case pairSeveral:
		if s.Plain || p.tooPlain() {
			p = p.plain()
		}
	}
	switch {
	case p.kind == pairGaussian:
		ratio := p.c / p.b
		s.mu2 += float64(n) * ratio * ratio
		return
	case p.kind != pairSampled && p.a == 0 || p.unsampled() == 0: // no loss at all
		return
	case p.kind == pairDiscreteGaussian: // coordinates become runs of one coordinate
		var ok bool
		if n, ok = mathx.MulCounts(n, int64(p.c)); !ok {
			s.full = true
			return
		}
		p.c = 0
	}
	if !s.pairs.Add(p, n) {
		s.full = true
	}
}

// AddOdds adds n randomised responses with the given log odds, rounded down. Infinite log odds are ignored.
func (s *Sum) AddOdds(logOdds float64, n int64) {
	if mathx.IsFinite(logOdds) {
		s.Add(Response(math.Max(0, logOdds*(1-0x1p-40))), n)
	}
}

// About sets the approximate delta of later queries. Bounds from [Several] are best near this delta.
func (s *Sum) About(delta float64) { s.about = mathx.Log(delta) }

// Full reports whether a count overflowed in Add.
func (s *Sum) Full() bool { return s.full }

// Fits reports whether Merge(u) does not overflow a count.
func (s *Sum) Fits(u *Sum) bool { return s.pairs.Fits(&u.pairs) }

// Merge adds all pairs of u except Gaussians. Fits(u) must be true.
func (s *Sum) Merge(u *Sum) { s.pairs.Merge(&u.pairs) }

// Different returns the number of distinct pairs in s and u together, without Gaussians.
func (s *Sum) Different(u *Sum) int { return s.pairs.Union(&u.pairs) }

// Reveals reports whether the data themselves are released.
func (s *Sum) Reveals() bool { return s.reveals }

// variation bounds the total variation distance, which is delta at epsilon 0, or returns 1. The distance is
// at most the sum of the distances of all runs, and at most half the root of the chi-square divergence.
func (s *Sum) variation() float64 {
	sum, chi := math.Erf(math.Sqrt(s.mu2/8)), s.mu2
	for i, p := range s.pairs.Keys {
		if p.kind != pairSampled {
			return 1
		}
		n := float64(s.pairs.Counts[i])
		sum += n * p.a * math.Erf(math.Sqrt2/4/p.b)
		chi += n * math.Log1p(p.a*math.Expm1(1/(p.b*p.b))*p.a)
	}
	return math.Max(math.Min(sum, math.Sqrt(math.Expm1(chi))/2)*(1+0x1p-30), 1e-100) // more than what underflows
}

// HasSeveral reports whether s contains a pair made by [Several].
func (s *Sum) HasSeveral() bool {
	return slices.ContainsFunc(s.pairs.Keys, func(p Pair) bool { return p.kind == pairSeveral })
}

// Gaussian returns sensitivity/sigma if the whole sum is one Gaussian release, and otherwise 0.
func (s *Sum) Gaussian() float64 {
	if len(s.pairs.Keys) > 0 || s.reveals {
		return 0
	}
	return math.Sqrt(s.mu2)
}

// Asymmetric reports whether a pair in s has different losses in its two directions.
func (s *Sum) Asymmetric() bool { return slices.ContainsFunc(s.pairs.Keys, Pair.asymmetric) }

// Pure returns the sum of all pairs' largest privacy losses in one direction, or +Inf if a loss is unbounded.
func (s *Sum) Pure(reverse bool) float64 {
	if s.mu2 > 0 || s.reveals {
		return math.Inf(1)
	}
	sum := 0.0
	for i, p := range s.pairs.Keys {
		sum += p.pure(float64(s.pairs.Counts[i]), reverse)
	}
	return sum
}
