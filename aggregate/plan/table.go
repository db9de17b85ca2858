package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

// Outcome is the expected result of a mechanism. Each query is an independent draw from the examples.
type Outcome struct {
	Mechanism string
	Stability bool
	Epsilon   float64 // as in Alternative
	By        accountant.Method
	Noise     float64 // in votes (noisy argmax) or moved votes (stability: noise on a distance, threshold or query)
	Failures  int     // sparse vectors: number of refusals that are charged
	Asked     float64 // Asked, Released and Right are expected numbers, out of one query per example
	Released  float64
	Right     float64
	// Approximate is set for the sparse vector mechanism m-svec. Its outcome has a relative error of about
	// 1e-3. All other outcomes are exact sums.
	Approximate bool
}

// Accuracy returns the expected fraction of correct labels among the released labels, or 0 without labels.
func (o Outcome) Accuracy() float64 {
	if o.Released == 0 {
		return 0
	}
	return o.Right / o.Released
}

// Outcomes evaluates noisy argmax and stability methods on one query per example. The noisy argmax methods
// are GNMax, Exponential and the best setting of Confident-GNMax. The stability methods are [stable.MStab],
// [stable.SVTPrinted], [stable.SVTCalibrated] and [stable.SVT]. For each sparse vector (SVT), Outcomes
// chooses the number of refusals that gives the most correct labels. Without goal.MinAccuracy, GNMax and
// Exponential answer all queries. With it, they answer the largest number of queries that reaches this
// accuracy. Methods that cannot meet the goal are omitted.
func Outcomes(ctx context.Context, examples []Example, goal Goal) ([]Outcome, error) {
	if err := goal.Validate(); err != nil {
		return nil, err
	}
	c, err := newCases(examples)
	if err != nil {
		return nil, err
	}
	same, fits, err := goal.equivalent(len(examples), goal.least(ctx))
	if err != nil {
		return nil, err
	}
	var out []Outcome
	for _, mechanism := range []string{GNMax, exponential, Confident} {
		if !fits {
			break
		}
		o, found, err := c.argmaxOutcome(ctx, mechanism, goal, same)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, o)
		}
	}
	d, err := c.distances()
	if err != nil {
		return nil, err
	}
	for _, method := range []string{stable.MStab, stable.SVTPrinted, stable.SVTCalibrated, stable.SVT} {
		o, found, err := d.outcome(ctx, method, goal)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, o)
		}
	}
	return out, nil
}

func (c cases) argmaxOutcome(ctx context.Context, mechanism string, goal, same Goal) (Outcome, bool, error) {
	most := len(c.counts)
	d := known(mechanism)
	var settings []aggregate.Setting
	var err error
	switch {
	case mechanism == Confident:
		if settings, err = c.thinned(maxSearched).confidentSettings(ctx, same, most); err != nil {
			return Outcome{}, false, err
		}
	case goal.MinAccuracy > 0:
		s, found, err := c.thinned(maxSearched).bestQueries(ctx, mechanism, same, most)
		if err != nil {
			return Outcome{}, false, err
		}
		if found {
			settings = append(settings, s)
		}
	default:
		s, err := calibrated(ctx, mechanism, most, same)
		if err != nil {
			return Outcome{}, false, err
		}
		settings = append(settings, s)
	}
	settings = slices.DeleteFunc(settings, func(s aggregate.Setting) bool { return d.MostNoise(s) > maxPlannedNoise })
	found, err := c.meeting(ctx, settings, goal)
	if err != nil || len(found) == 0 {
		return Outcome{}, false, err
	}
	best, noise := found[0], 0.0 // noise of the answers
	for _, p := range d.Noise() {
		noise = best.Values[p.Name]
	}
	return Outcome{Mechanism: mechanism, Epsilon: best.Epsilon, By: best.By, Noise: noise, Asked: float64(best.Queries),
		Released: best.ExpectedAnswers, Right: best.ExpectedCorrect}, true, nil
}

func (d distances) outcome(ctx context.Context, method string, goal Goal) (Outcome, bool, error) {
	if method == stable.MStab {
		cfg, err := stable.Fit(stable.Task{Mechanism: stable.MStab, Queries: d.queries, Delta: goal.Delta / 2}, goal.least(ctx))
		if errors.Is(err, stable.ErrNoFit) {
			return Outcome{}, false, nil
		}
		if err != nil {
			return Outcome{}, false, fmt.Errorf("plan: %w", err)
		}
		o, err := d.evaluate(ctx, method, cfg, goal)
		return o, err == nil, err
	}
	var best Outcome
	worse := 0
	for _, failures := range failureLadder(d.queries) {
		if err := ctx.Err(); err != nil {
			return Outcome{}, false, err
		}
		task := stable.Task{Queries: d.queries, Failures: failures, Delta: goal.Delta}
		refusal := math.Min(0.05, float64(failures)/(2*float64(d.queries)))
		cfg, err := stable.Sparse(method, goal.Epsilon, task, refusal, goal.least(ctx))
		if errors.Is(err, accountant.ErrNoBracket) {
			continue
		}
		if err != nil {
			return Outcome{}, false, err
		}
		o, err := d.evaluate(ctx, method, cfg, goal)
		if err != nil {
			return Outcome{}, false, err
		}
		if best.Mechanism != "" && o.Right <= best.Right*1.001+1e-3 { // more refusals gain nothing
			if worse++; worse == 3 {
				break
			}
			continue
		}
		best, worse = o, 0
	}
	return best, best.Mechanism != "", nil
}

func failureLadder(n int) []int {
	var out []int
	for unit := 1; unit <= n; unit *= 10 {
		for _, k := range []int{1, 2, 5} {
			if k*unit <= n {
				out = append(out, k*unit)
			}
		}
	}
	return out
}

func (d distances) evaluate(ctx context.Context, method string, cfg stable.Config, goal Goal) (Outcome, error) {
	m, err := stable.New(cfg)
	if err != nil {
		return Outcome{}, fmt.Errorf("plan: %w", err)
	}
	o := Outcome{Mechanism: method, Stability: true, Noise: cfg.Scale + cfg.Sigma + cfg.Lambda + cfg.B2, Failures: cfg.Failures}
	switch cfg.Mechanism {
	case stable.MStab:
		o.Asked = float64(d.queries)
		for distance, share := range d.share {
			released, _ := m.LawAt(int64(distance))
			o.Released += o.Asked * share * math.Exp(released)
			o.Right += o.Asked * d.right[distance] * math.Exp(released)
		}
	case stable.SVT:
		err = d.oneThreshold(&o, cfg)
	default:
		o.Approximate = true
		err = d.manyThresholds(&o, cfg)
	}
	if err != nil {
		return Outcome{}, err
	}
	claim, err := accountant.Epsilon(ctx, goal.Accountant, accountant.AddRemove, goal.Delta, m.Event())
	if err != nil {
		return Outcome{}, fmt.Errorf("plan: %w", err)
	}
	o.Epsilon, o.By = claim.Upper, claim.By
	return o, nil
}

type distances struct {
	queries      int
	share, right []float64 // by distance; fractions of all queries
}

func (c cases) distances() (distances, error) {
	d := distances{queries: len(c.counts), share: make([]float64, c.teachers/2+2), right: make([]float64, c.teachers/2+2)}
	each := 1 / float64(len(c.counts))
	votes := make([]int, len(c.counts[0]))
	for i, counts := range c.counts {
		for j, n := range counts {
			votes[j] = int(n)
		}
		winner, distance, err := stability.Plurality(votes, stability.VoteMoves, stability.LowestIndex)
		if err != nil {
			return d, fmt.Errorf("plan: %w", err)
		}
		d.share[distance] += each
		if winner == c.labels[i] {
			d.right[distance] += each
		}
	}
	return d, nil
}

const noiseReach = 32

func laplaceMasses(scale float64) (rng.Masses, error) {
	noise, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return rng.Masses{}, fmt.Errorf("plan: %w", err)
	}
	return rng.NewMasses(noise.LogProb, int64(math.Ceil(noiseReach*scale))+1), nil
}

func (d distances) refusal(noise rng.Masses, threshold, z int64) (refused, right float64) {
	for distance, share := range d.share {
		if share == 0 {
			continue
		}
		released := noise.AtMost(z + int64(distance) - threshold - 1)
		refused += share * (1 - released)
		right += d.right[distance] * released
	}
	return refused, right
}

func (d distances) oneThreshold(o *Outcome, cfg stable.Config) error {
	// Given the threshold noise, queries are independent. The run stops at the last allowed refusal. By
	// Wald's identity, the expected number of queries is the expected number of refusals divided by the
	// probability of a refusal.
	threshold, failed := laplaceMasses(cfg.B1)
	query, err := laplaceMasses(cfg.B2)
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	threshold, query = threshold.OneSided(), query.OneSided()
	for z := int64(0); z <= threshold.Reach; z++ {
		weight := threshold.At(z)
		refused, right := d.refusal(query, cfg.Threshold, z)
		asked := float64(d.queries)
		if refused > 1e-15 {
			asked = untilCap(d.queries, math.Min(1, refused), cfg.Failures) / refused
		}
		o.Asked += weight * asked
		o.Released += weight * asked * (1 - refused)
		o.Right += weight * asked * right
	}
	return nil
}

// manyThresholds computes the outcome of MSvec, which draws new threshold noise after each refusal.
func (d distances) manyThresholds(o *Outcome, cfg stable.Config) error {
	// A run is a sequence of independent, identically distributed stretches, and each stretch ends with a
	// refusal. Let S(k) = P[a stretch has more than k queries], a mean of powers over the threshold noise.
	// Let a_i = P[a stretch starts after i queries], the sum over q < Failures of q-fold convolutions of the
	// distribution of the number of queries in a stretch. In m queries, the expected number of asked queries
	// is sum_i a_i (S(0) + ... + S(m-i-1)). Right answers have a similar sum.
	threshold, failed := laplaceMasses(cfg.Lambda)
	query, err := laplaceMasses(2 * cfg.Lambda)
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	// Sum over blocks of threshold noise. The middle of a block represents all values of the block.
	var weights, stays, rights []float64
	width := int64(cfg.Lambda/32) | 1
	for z := -threshold.Reach; z <= threshold.Reach; z += width {
		last := min(z+width-1, threshold.Reach)
		weight := threshold.AtMost(last) - threshold.AtMost(z-1)
		if weight < 1e-12 {
			continue
		}
		refused, right := d.refusal(query, cfg.Threshold, (z+last)/2)
		weights, stays, rights = append(weights, weight), append(stays, math.Max(0, 1-refused)), append(rights, right)
	}
	m := d.queries
	longer, correct := make([]float64, m+1), make([]float64, m+1)
	for k := range longer {
		for b, w := range weights {
			longer[k] += w
			correct[k] += w * rights[b]
			weights[b] = w * stays[b]
		}
	}
	length := make([]float64, m)
	for k := 1; k < m; k++ {
		length[k] = math.Max(0, longer[k-1]-longer[k])
	}
	starts := renewals(length, cfg.Failures)
	asked, right := 0.0, 0.0 // in a stretch with at most left queries
	for left := 1; left <= m; left++ {
		asked += longer[left-1]
		right += correct[left-1]
		a := starts[m-left]
		o.Asked += a * asked
		o.Right += a * right
		o.Released += a * (asked - (longer[0] - longer[left]))
	}
	o.Released = math.Max(o.Released, o.Right)
	return nil
}

func renewals(law []float64, n int) []float64 {
	size := 1
	for size < 2*len(law) {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	padded := make([]float64, size)
	times := func(a, b []float64) []float64 {
		clear(padded)
		copy(padded, a)
		x := fft.Coefficients(nil, padded)
		clear(padded)
		copy(padded, b)
		for i, y := range fft.Coefficients(nil, padded) {
			x[i] *= y
		}
		out := fft.Sequence(nil, x)[:len(law)]
		for i := range out {
			out[i] = math.Max(0, out[i]/float64(size))
		}
		return out
	}
	one := make([]float64, len(law))
	one[0] = 1
	sum, power := one, law // for k = 1: the sum of the first k powers, and power k
	bits := 0
	for n>>bits > 1 {
		bits++
	}
	for bits--; bits >= 0; bits-- {
		next := times(power, sum)
		for i := range next {
			next[i] += sum[i]
		}
		sum, power = next, times(power, power)
		if n>>bits&1 == 1 { // add power, then multiply power by law
			next := make([]float64, len(sum))
			for i := range next {
				next[i] = sum[i] + power[i]
			}
			sum, power = next, times(power, law)
		}
	}
	return sum
}
