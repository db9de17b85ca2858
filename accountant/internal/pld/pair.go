package pld

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// kind names the family of a pair.
type kind int

const (
	pairLossless         kind = iota
	pairSampled               // Poisson-sampled Gaussian: a = q, b = noise multiplier
	pairGaussian              // a = 1, b = sigma, c = sensitivity
	pairLaplace               // a = epsilon
	pairRange                 // a = epsilon
	pairResponse              // a = epsilon
	pairDiscreteLaplace       // a = scale, b = sensitivity; on a sample a = q, b = scale, c = sensitivity
	pairDiscreteGaussian      // a = sigma, c = coordinates that move by one; on a sample a = q, b = sigma, c = coordinates
	pairKary                  // a = epsilon, b = categories
	pairSampledResponse       // a = q, b = epsilon
	pairSampledLaplace        // a = q, b = epsilon
	pairSampledDiscreteLaplace
	pairSampledDiscreteGaussian
	pairAllocation // one step of many: a = steps, b = noise multiplier
	pairSeveral    // what k steps of many show at least: a = steps, b = noise multiplier, c = k
	pairRevealing
	pairDrawn         // a sample without replacement, Gaussian: a = q, b = noise multiplier
	pairDrawnResponse // a = q, b = epsilon
	pairDrawnDiscreteLaplace
	pairDrawnDiscreteGaussian
)

// A Pair is a pair of laws of the outputs on two neighbouring data sets. Equal pairs are merged. The zero
// Pair has no loss.
type Pair struct {
	kind    kind
	a, b, c float64
}

// MaxAtoms bounds the losses of a discrete pair: memory and time.
const MaxAtoms = 1 << 22

// Revealing is the pair of a release of the data themselves.
func Revealing() Pair { return Pair{kind: pairRevealing} }

// Gaussian is noise of standard deviation sigma on a number that moves by the sensitivity.
func Gaussian(sigma, sensitivity float64) Pair { return Pair{pairGaussian, 1, sigma, sensitivity} }

// Laplace is noise at sensitivity/scale = epsilon.
func Laplace(epsilon float64) Pair { return Pair{pairLaplace, epsilon, 0, 0} }

// BoundedRange dominates mechanisms whose log-ratios lie in an interval of length epsilon.
func BoundedRange(epsilon float64) Pair { return Pair{pairRange, epsilon, 0, 0} }

// Response is randomised response, which dominates every mechanism of pure epsilon.
func Response(epsilon float64) Pair { return Pair{pairResponse, epsilon, 0, 0} }

// Kary is randomised response among categories, two at least, when the answer is replaced.
func Kary(epsilon float64, categories int64) Pair {
	if categories == 2 {
		return Response(epsilon)
	}
	return Pair{pairKary, epsilon, float64(categories), 0}
}

// DiscreteLaplace is integer noise on an integer that moves by the sensitivity, at most MaxAtoms.
func DiscreteLaplace(scale float64, sensitivity int64) Pair {
	return Pair{pairDiscreteLaplace, scale, float64(sensitivity), 0}
}

// DiscreteGaussian is integer noise on coordinates that move by one each; 80 sigma is at most MaxAtoms.
func DiscreteGaussian(sigma float64, coordinates int64) Pair {
	if coordinates == 0 {
		return Pair{}
	}
	return Pair{pairDiscreteGaussian, sigma, 0, float64(coordinates)}
}

// LeastAllocated is the least noise multiplier whose allocation is computed. With less noise the pair is of
// a record in the step for certain, whose losses are larger; its epsilon is in the hundreds.
const LeastAllocated = 0.05

// Allocation is Gaussian noise on steps, in one of which, a random one, the record is.
func Allocation(steps int64, sigma float64) Pair {
	if steps == 1 || sigma < LeastAllocated {
		return Gaussian(sigma, 1)
	}
	return Pair{pairAllocation, float64(steps), sigma, 0}
}

// Several is attained by a record in k of the steps, chosen at random: what a sum over the steps shows.
func Several(steps, k int64, sigma float64) Pair {
	return Pair{pairSeveral, float64(steps), sigma, float64(k)}
}

// plain is what the sum of the outputs themselves shows of several steps, one Gaussian of k shifts with the
// noise of all. Which sum shows more depends on the noise.
func (p Pair) plain() Pair { return Gaussian(p.b, p.c/math.Sqrt(p.a)) }

// tooPlain reports whether several steps are shown by the plain sum only: the other one would be rounded
// too much.
func (p Pair) tooPlain() bool {
	return p.b < LeastAllocated || p.b > maxSeveralNoise || p.a > maxSeveral
}

// OnPoissonSample returns ((1-q)Q + qP, Q) for the pair (P, Q) of one run without sampling, which is noise
// or a response (Zhu, Dong, Wang 2022, Theorem 11).
func (p Pair) OnPoissonSample(q float64) Pair {
	if p.kind == pairLaplace {
		return Pair{pairSampledLaplace, q, p.a, 0}
	}
	return p.onSample(q, pairSampled, pairSampledResponse, pairSampledDiscreteLaplace, pairSampledDiscreteGaussian)
}

// OnFixedSample returns the pair of a sample without replacement of which a share q is drawn, for the
// symmetric pair (P, Q) of one run: see mixture.go.
func (p Pair) OnFixedSample(q float64) Pair {
	if p.kind == pairLaplace {
		return Pair{pairDrawnResponse, q, mathx.Up(p.a), 0}
	}
	return p.onSample(q, pairDrawn, pairDrawnResponse, pairDrawnDiscreteLaplace, pairDrawnDiscreteGaussian)
}

// onSample returns the pair of a run on a sample, of one of the given kinds.
func (p Pair) onSample(q float64, gaussian, response, discreteLaplace, discreteGaussian kind) Pair {
	switch p.kind {
	case pairGaussian:
		return Pair{gaussian, q, p.b / p.c, 0}
	case pairResponse:
		return Pair{response, q, p.a, 0}
	case pairDiscreteLaplace:
		if p.b == 1 { // one coin for the two sides
			return Pair{response, q, 1 / p.a, 0}
		}
		return Pair{discreteLaplace, q, p.a, p.b}
	case pairDiscreteGaussian:
		return Pair{discreteGaussian, q, p.a, p.c}
	}
	return Pair{}
}

// drawn reports whether the pair is of a sample without replacement.
func (p Pair) drawn() bool { return p.kind >= pairDrawn }

// unsampled returns the largest loss of all records of a pair on a sample, +Inf if there is none.
func (p Pair) unsampled() float64 {
	switch p.kind {
	case pairSampledResponse, pairSampledLaplace, pairDrawnResponse:
		return p.b
	case pairSampledDiscreteLaplace, pairDrawnDiscreteLaplace:
		return p.c / p.b
	}
	return math.Inf(1)
}

// asymmetric reports whether the order of the pair matters.
func (p Pair) asymmetric() bool {
	switch p.kind {
	case pairSampled, pairSampledResponse, pairSampledLaplace, pairSampledDiscreteLaplace, pairSampledDiscreteGaussian, pairAllocation, pairSeveral:
		return true
	}
	return false
}

// pure returns the largest loss of n in one order, +Inf if it is unbounded. In reverse a sampled Gaussian's
// loss is at most -log(1-q).
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

// A Sum lists the pairs of a composition with how often each is composed. Pairs of one Gaussian release are
// merged into one.
type Sum struct {
	// Plain makes of several steps only the sum of the outputs count: see Several.
	Plain bool

	mu2     float64 // sum of n (sensitivity/sigma)^2 of plain Gaussians
	pairs   mathx.Multiset[Pair]
	reveals bool
	full    bool
	about   float64 // log of about the delta in question
}

// Add composes n more of a pair. A count that no int64 holds adds nothing: see Full.
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
	case p.kind == pairDiscreteGaussian: // as many of one coordinate
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

// AddOdds composes n randomised responses of some log odds, which a lower bound may rest on: rounded down,
// and left out if they are too many, or odds beyond a float64.
func (s *Sum) AddOdds(logOdds float64, n int64) {
	if mathx.IsFinite(logOdds) {
		s.Add(Response(math.Max(0, logOdds*(1-0x1p-40))), n)
	}
}

// About sets the delta near which the sum will be asked; [Several] depends on it.
func (s *Sum) About(delta float64) { s.about = mathx.Log(delta) }

// Full reports whether a count was too large to be added.
func (s *Sum) Full() bool { return s.full }

// Fits reports whether adding all pairs of u would overflow no count.
func (s *Sum) Fits(u *Sum) bool { return s.pairs.Fits(&u.pairs) }

// Merge adds all pairs of u, which must fit; of Gaussians it keeps no account.
func (s *Sum) Merge(u *Sum) { s.pairs.Merge(&u.pairs) }

// Different returns how many different pairs s and u have together, Gaussians apart.
func (s *Sum) Different(u *Sum) int { return s.pairs.Union(&u.pairs) }

// Reveals reports whether the data themselves are released.
func (s *Sum) Reveals() bool { return s.reveals }

// HasSeveral reports whether a pair is what several steps of many show.
func (s *Sum) HasSeveral() bool {
	return slices.ContainsFunc(s.pairs.Keys, func(p Pair) bool { return p.kind == pairSeveral })
}

// Gaussian returns the sensitivity over sigma of the one Gaussian release that the sum is, 0 if it is
// another.
func (s *Sum) Gaussian() float64 {
	if len(s.pairs.Keys) > 0 || s.reveals {
		return 0
	}
	return math.Sqrt(s.mu2)
}

// Asymmetric reports whether the order of the pairs matters.
func (s *Sum) Asymmetric() bool { return slices.ContainsFunc(s.pairs.Keys, Pair.asymmetric) }

// Pure returns the sum of the largest losses in one order, +Inf if one is unbounded.
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
