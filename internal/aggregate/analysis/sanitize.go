package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
)

// Sanitized previews the release of a data-dependent epsilon with noise proportional to the smooth
// sensitivity. Order, beta and noise are chosen from the votes. So a [Sanitizer] must not use these values.
type Sanitized struct {
	// Published follows the procedure of Papernot et al. 2018, for comparison. For Confident-GNMax, Published
	// sanitises the expected cost, as if the probabilities of answers were public. Its release cost is the
	// formula of Theorem 23. This formula is not a bound at any smoothness beta that the procedure tries. The
	// accountant charges [accountant.GNSS] by another formula. If the published smooth sensitivity does not
	// apply, Published is nil and the field Unpublished holds the error.
	Published   *Preview
	Unpublished error
	// Valid previews a release of the total cost, as if all queries were answered. Valid.Cost bounds the
	// release's cost. The smooth sensitivity is computed as in [Sanitizer.Release].
	Valid Preview
}

// Preview is one sanitised epsilon, converted from the divergence at Order with [accountant.Classic].
type Preview struct {
	Order             float64
	GNSS              accountant.GNSS
	Before            Number // epsilon without noise
	SmoothSensitivity Number // smooth sensitivity of the cost at Order
	Cost              Number // divergence of the release at Order
	Mean, SD          Number // of the epsilon to publish, with release cost and margin
}

var errNoSmoothLNMax = errors.New("analysis: the smooth sensitivity of the LNMax cost is not known")

func sanitize(ctx context.Context, r *Report, groups []group, weights []float64, teachers int) (*Sanitized, error) {
	s := new(Sanitized)
	before := r.All.DataDependent
	if r.Expected != nil {
		before = r.Expected.DataDependent
	}
	l, err := newSensitivity(r.Mechanism, before.ClassicOrder, len(groups[0].tally))
	if err != nil {
		return nil, err
	}
	if s.Unpublished = l.argmax.published(); s.Unpublished == nil {
		profile, err := l.profile(ctx, groups, teachers, func(dst []float64, i int, g group) {
			l.argmax.publishedProfile(dst, g.tally, weights[i]*float64(g.queries))
		})
		if err != nil {
			return nil, err
		}
		published := publishedRelease(profile, before)
		s.Published = &published
	}
	before = r.All.DataDependent
	if l.argmax.order != before.ClassicOrder {
		if l, err = newSensitivity(r.Mechanism, before.ClassicOrder, len(groups[0].tally)); err != nil {
			return nil, err
		}
	}
	profile, err := l.worst(ctx, groups, teachers)
	if err != nil {
		return nil, err
	}
	s.Valid, err = validRelease(profile, before)
	return s, err
}

type sensitivity struct {
	mechanism Mechanism
	argmax    *localCost
}

func newSensitivity(m Mechanism, order float64, classes int) (*sensitivity, error) {
	if m.Laplace {
		return nil, errNoSmoothLNMax
	}
	l, err := newLocalCost(m.Noise, order, classes)
	return &sensitivity{m, l}, err
}

// profile bounds the local sensitivity of the total cost. Element d of the result is valid after at most d
// moved votes per query.
func (l *sensitivity) profile(ctx context.Context, groups []group, teachers int, argmax func(dst []float64, i int, g group)) ([]float64, error) {
	// The function argmax adds the local sensitivity of one query. At distance d, at most d votes of each
	// query have moved, so the sum of the queries' sensitivities is a bound.

	type parts struct{ argmax, test []float64 }
	worker := func() (func(int, group) (parts, error), error) {
		return func(i int, g group) (parts, error) {
			of := parts{argmax: make([]float64, teachers+1)}
			argmax(of.argmax, i, g)
			if m := l.mechanism; m.Tested {
				of.test = make([]float64, teachers+1)
				thresholdProfile(of.test, g.tally[0], teachers, m.Threshold, m.Sigma1, l.argmax.order)
			}
			return of, nil
		}, nil
	}
	profile := make([]float64, teachers+1)
	err := inOrder(ctx, groups, worker, func(i int, of parts) {
		for d, v := range of.argmax {
			profile[d] += v
		}
		for d, v := range of.test {
			profile[d] += v * float64(groups[i].queries)
		}
	})
	return profile, err
}

func (l *sensitivity) worst(ctx context.Context, groups []group, teachers int) ([]float64, error) {
	return l.profile(ctx, groups, teachers, func(dst []float64, _ int, g group) {
		l.argmax.cellProfile(dst, g.tally, float64(g.queries))
	})
}

// publishedRelease chooses the smoothing parameter beta and the noise like the code of Papernot et al. 2018.
func publishedRelease(profile []float64, before Epsilon) Preview {
	// The code tries values of beta from 0.3/a to 0.49/a, where a is the Rényi order. For each beta, the
	// noise minimises the cost of the release, without a part that does not depend on the noise, plus two
	// standard deviations of the released number.
	a := before.ClassicOrder
	best, least := Preview{Order: a, Before: before.Classic, Mean: before.Classic}, math.Inf(1)
	for i := 30; i < 50; i++ {
		beta := float64(i) / 100 / a
		smooth := discounted(profile, beta)
		if smooth == 0 {
			return best // the cost is constant, so no noise is needed
		}
		noise := math.Cbrt(a * math.Exp(2*beta) / smooth)
		cost := printedGNSS(beta, noise, a)
		if total := cost + 2*smooth*noise; total < least {
			least = total
			best = preview(a, accountant.GNSS{Beta: beta, Sigma: noise}, before.Classic, smooth, cost)
		}
	}
	return best
}

// validRelease chooses beta and the noise that minimise the actual cost plus the margin. The margin is two
// standard deviations of the noise. 1 in 44 released numbers is too low.
func validRelease(profile []float64, before Epsilon) (Preview, error) {
	a := before.ClassicOrder
	best, least := Preview{Order: a, Before: before.Classic, Mean: before.Classic}, math.Inf(1)
	for i := 1; i < 50; i++ {
		beta := float64(i) / 100 / a
		smooth := discounted(profile, beta)
		if smooth == 0 {
			return best, nil
		}
		for step := -40; step <= 40; step++ {
			e := accountant.GNSS{Beta: beta, Sigma: math.Cbrt(a/smooth) * math.Exp(float64(step)/20), Margin: 2}
			cost, err := releaseCost(e, a)
			if err != nil {
				return best, err
			}
			if total := cost + e.Margin*smooth*e.Sigma; total < least {
				least = total
				best = preview(a, e, before.Classic, smooth, cost)
			}
		}
	}
	return best, nil
}

func preview(order float64, e accountant.GNSS, before Number, smooth, cost float64) Preview {
	sd := smooth * e.Sigma
	return Preview{
		Order: order, GNSS: e, Before: before, SmoothSensitivity: Number{smooth}, Cost: Number{cost},
		Mean: Number{before.value + cost + e.Margin*sd}, SD: Number{sd},
	}
}

func releaseCost(e accountant.GNSS, a float64) (float64, error) {
	cost, _, err := accountant.Divergence(accountant.AddRemove, a, e)
	if err != nil {
		return 0, fmt.Errorf("analysis: %w", err)
	}
	return cost, nil
}

// printedGNSS returns the cost of a release by Theorem 23 of Papernot et al. 2018, for comparison only.
func printedGNSS(beta, sigma, a float64) float64 {
	//	a e^{2 beta}/sigma^2 + (beta a - log(1-2 a beta)/2)/(a-1),   1 < a < 1/(2 beta)
	//
	// For a above about 1/(4 beta) it is no bound, because the first term stays finite as a approaches 1/(2
	// beta). At a = 17, beta = 0.48/17, sigma = 7.7 it is 0.434. But two normal distributions that the smooth
	// sensitivity allows have divergence 2.09.
	return a*math.Exp(2*beta)/(sigma*sigma) + (beta*a-math.Log1p(-2*a*beta)/2)/(a-1)
}

func discounted(profile []float64, beta float64) float64 {
	worst := 0.0
	for d, change := range profile {
		worst = math.Max(worst, change*math.Exp(-beta*float64(d)))
	}
	return worst
}

// Number is computed from private votes and must be kept as secret as the votes. Its printed, logged and
// encoded values have the mark "private". No accountant, ledger or statement accepts a Number.
type Number struct{ value float64 }

// Reveal returns the number. Decisions that others can observe must not depend on the number.
func (n Number) Reveal() float64 { return n.value }

func (n Number) String() string { return strconv.FormatFloat(n.value, 'g', 6, 64) + " (private)" }

func (n Number) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.String()) }

func (n Number) LogValue() slog.Value {
	return slog.GroupValue(slog.Bool("private", true), slog.Float64("value", n.value))
}

func (n Number) MarshalJSON() ([]byte, error) {
	mark := struct {
		Private bool     `json:"private"`
		Value   *float64 `json:"value"`
	}{Private: true}
	if n.value-n.value == 0 {
		mark.Value = &n.value
	}
	return json.Marshal(mark)
}
