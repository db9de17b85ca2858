package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
)

// Outcome is what a mechanism is expected to do with queries drawn independently from examples.
type Outcome struct {
	Mechanism string
	Stability bool
	Epsilon   float64 // as of an Alternative
	By        accountant.Method
	Noise     float64 // votes (argmax), votes that move (stability: of a distance, threshold or query)
	Failures  int     // sparse vectors: refusals that were paid for
	Asked     float64 // expected, of as many queries as there are examples
	Released  float64
	Right     float64
	// Approximate: summed over the noise of m-svec's threshold in steps of a 32nd of
	// its scale, right to about 1e-3 of itself. All others are sums over exact laws.
	Approximate bool
}

// Accuracy returns the expected share of right labels among those released, 0 if there are none.
func (o Outcome) Accuracy() float64 {
	if o.Released == 0 {
		return 0
	}
	return o.Right / o.Released
}

// Outcomes returns the outcomes of noisy argmax and of stability methods on one query for each example:
// GNMax, exponential, Confident, the best of its settings, [stable.MStab], and the sparse vectors
// [stable.SVTPrinted], [stable.SVTCalibrated] and [stable.SVT], each with the number of paid refusals that
// releases most right labels, from a ladder. Without MinAccuracy noisy argmax answers all queries, with it as
// many as it can that right; stability methods release the plurality. A method that cannot be had at the goal
// is left out.
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

// argmaxOutcome returns the outcome of a noisy argmax, found by the same goal in Rényi divergences.
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
	best, noise := found[0], 0.0 // of an answer
	for _, p := range d.Noise() {
		noise = best.Values[p.Name]
	}
	return Outcome{Mechanism: mechanism, Epsilon: best.Epsilon, By: best.By, Noise: noise, Asked: float64(best.Queries),
		Released: best.ExpectedAnswers, Right: best.ExpectedCorrect}, true, nil
}

// outcome returns the outcome of a stability method.
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
		if best.Mechanism != "" && o.Right <= best.Right*1.001+1e-3 { // not worth more refusals
			if worse++; worse == 3 {
				break
			}
			continue
		}
		best, worse = o, 0
	}
	return best, best.Mechanism != "", nil
}

// failureLadder returns 1, 2, 5, 10, 20, ... up to n.
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

// evaluate returns what a mechanism does, and what its Event costs.
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
