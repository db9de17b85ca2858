package pld

import (
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

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
