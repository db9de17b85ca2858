package analysis

import (
	"context"
	"errors"
	"math"
)

// Sanitized is what releasing a data-dependent epsilon would look like: the cost at
// one order plus noise scaled by its smooth sensitivity. Nothing is released: the
// order, beta and the noise are chosen here by looking at the votes, so they are
// private too. To release, fix them in advance, charge [GNSS].RDP to the ledger
// first, and publish once.
type Sanitized struct {
	// Published follows the published procedure, for comparison. For
	// Confident-GNMax it sanitises the expected cost as if the probabilities of
	// answers were public. Its release cost is Theorem 23 of Papernot et al. 2018,
	// which is no bound at the betas the procedure chooses; see [GNSS.RDP].
	// It is nil, and Unpublished says why, where a condition of the published
	// smooth sensitivity fails.
	Published   *Release
	Unpublished error
	// Valid sanitises the cost of all queries as if they were answered, by a
	// release that costs what it says. Where the published conditions fail, the
	// smooth sensitivity is bounded cell by cell instead.
	Valid Release
}

// Release is one sanitised epsilon, at one order with the classic conversion.
type Release struct {
	Order             float64
	GNSS              GNSS
	Before            Number // epsilon before sanitising
	SmoothSensitivity Number // of the cost at this order
	Cost              Number // divergence of the release at this order
	Mean, SD          Number // of the epsilon that would be published, release and margin included
}

var errNoSmoothLNMax = errors.New("analysis: the smooth sensitivity of the LNMax cost is not known")

func sanitize(ctx context.Context, r *Report, groups []group, weights []float64, teachers int) (*Sanitized, error) {
	local := func(order float64, weight func(i int) float64) ([]float64, error, error) {
		return localProfile(ctx, r.Mechanism, groups, teachers, order, weight)
	}
	var s Sanitized
	before := r.All.DataDependent
	if r.Expected != nil {
		before = r.Expected.DataDependent
	}
	profile, unpublished, err := local(before.ClassicOrder, func(i int) float64 { return weights[i] })
	if err != nil {
		return nil, err
	}
	if s.Unpublished = unpublished; unpublished == nil {
		published := publishedRelease(profile, before)
		s.Published = &published
	}
	if r.Expected != nil {
		before = r.All.DataDependent
		if profile, _, err = local(before.ClassicOrder, func(int) float64 { return 1 }); err != nil {
			return nil, err
		}
	}
	s.Valid = validRelease(profile, before)
	return &s, nil
}

// localProfile is the local sensitivity at every distance of the cost of all
// queries at one order. A record at distance d moves at most d votes of each
// query, so the profiles of the queries add up. unpublished says whether it is the
// published one.
func localProfile(ctx context.Context, m Mechanism, groups []group, teachers int, order float64, weight func(i int) float64) (profile []float64, unpublished, err error) {
	var sigma float64
	switch m := m.(type) {
	case GNMax:
		sigma = m.Sigma
	case ConfidentGNMax:
		sigma = m.Sigma2
	default:
		return nil, nil, errNoSmoothLNMax
	}
	l, err := newLocalCost(sigma, order, len(groups[0].tally))
	if err != nil {
		return nil, nil, err
	}
	profile = make([]float64, teachers+1)
	test := make([]float64, teachers+1)
	for i, g := range groups {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		l.profile(profile, g.tally, weight(i)*float64(g.queries))
		if m, ok := m.(ConfidentGNMax); ok {
			clear(test)
			thresholdProfile(test, g.tally[0], teachers, m.Threshold, m.Sigma1, order)
			for d := range profile {
				profile[d] += test[d] * float64(g.queries)
			}
		}
	}
	return profile, l.published(), nil
}

// publishedRelease chooses beta and the noise as the code published with Papernot
// et al. 2018 does: beta from 0.3/a to 0.49/a, the noise that balances two of its
// standard deviations with the main part of the release's cost.
func publishedRelease(profile []float64, before Epsilon) Release {
	a := before.ClassicOrder
	best, least := Release{Order: a, Before: before.Classic, Mean: before.Classic}, math.Inf(1)
	for i := 30; i < 50; i++ {
		beta := float64(i) / 100 / a
		smooth := discounted(profile, beta)
		if smooth == 0 {
			return best // the cost is the same everywhere: nothing to hide
		}
		noise := math.Cbrt(a * math.Exp(2*beta) / smooth)
		cost := printedGNSS(beta, noise, a)
		if total := cost + 2*smooth*noise; total < least {
			least = total
			best = release(a, GNSS{Beta: beta, SigmaSS: noise}, before.Classic, smooth, cost)
		}
	}
	return best
}

// validRelease does the same with the cost that the release has, and a margin of
// two standard deviations: one release in 44 is too low.
func validRelease(profile []float64, before Epsilon) Release {
	a := before.ClassicOrder
	best, least := Release{Order: a, Before: before.Classic, Mean: before.Classic}, math.Inf(1)
	for i := 1; i < 50; i++ {
		beta := float64(i) / 100 / a
		smooth := discounted(profile, beta)
		if smooth == 0 {
			return best
		}
		for step := -40; step <= 40; step++ {
			g := GNSS{Beta: beta, SigmaSS: math.Cbrt(a/smooth) * math.Exp(float64(step)/20), Margin: 2}
			cost := g.RDP(a)
			if total := cost + g.Margin*smooth*g.SigmaSS; total < least {
				least = total
				best = release(a, g, before.Classic, smooth, cost)
			}
		}
	}
	return best
}

func release(order float64, g GNSS, before Number, smooth, cost float64) Release {
	sd := smooth * g.SigmaSS
	return Release{
		Order: order, GNSS: g, Before: before, SmoothSensitivity: Number{smooth}, Cost: Number{cost},
		Mean: Number{before.value + cost + g.Margin*sd}, SD: Number{sd},
	}
}
