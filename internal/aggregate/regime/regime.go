// Package regime compares noisy argmax and stability methods by public numbers, without votes. The better
// method answers reliably at a smaller gap between the two largest counts.
package regime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/stability"
)

// Regime describes a task by public numbers.
type Regime struct {
	Teachers int
	Classes  int
	Queries  int
	Epsilon  float64
	Delta    float64
	Gap      int     // typical difference in votes between the two largest counts
	Unstable int     // number of refusals that a stability method allows; 0 means 5 % of the queries, at least 1
	Success  float64 // probability of answering a query with the needed gap; 0 means 0.95
}

// Method describes the performance of one mechanism in a regime.
type Method struct {
	Mechanism string
	Stability bool    // the method refuses unstable answers
	Noise     float64 // in votes (noisy argmax) or moved votes (stability)
	GapNeeded float64 // in votes, for probability Success; an odd integer for stability methods
	AtGap     float64 // probability of a right answer to a query with the regime's Gap
	Epsilon   float64 // for all queries, under a ledger of mode reserved, with failure probabilities
	By        accountant.Method
}

// Advice lists the methods, smallest needed gap first.
type Advice struct {
	Regime  Regime // with defaults filled in
	Methods []Method
}

func (a Advice) Winner() Method { return a.Methods[0] }

// StabilityLoses reports whether the method that needs the smallest gap is a noisy argmax.
func (a Advice) StabilityLoses() bool { return !a.Winner().Stability }

// Feasible reports whether m.GapNeeded is at most the number of teachers.
func (a Advice) Feasible(m Method) bool { return m.GapNeeded <= float64(a.Regime.Teachers) }

// Advise returns the gap that each method needs to answer a query right with probability Success. The gap
// suffices even if all classes except the winner are tied. Every answer that a stability method releases is
// right. Noisy argmax has continuous noise, and stable-svt has integer noise.
//
// The gap of noisy argmax grows like the square root of the number of queries. Stability methods need a gap
// of about 2 log(queries/delta)/epsilon. So noisy argmax is better for few queries. Noisy argmax is also
// better if many queries are unstable, because a sparse vector stops after r.Unstable refusals.
func Advise(ctx context.Context, r Regime) (Advice, error) {
	return advise(ctx, r, claims(accountant.ByAuto))
}

func advise(ctx context.Context, r Regime, account accountant.AutoConfig) (Advice, error) {
	r, err := r.withDefaults()
	if err != nil {
		return Advice{}, err
	}
	advice := Advice{Regime: r}
	methods := argmaxRegimes(mechanisms.AlwaysAnswers)
	methods = append(methods, mstabLaplaceRegime, mstabGaussianRegime,
		sparseRegime(stable.SVTPrinted), sparseRegime(stable.SVTCalibrated), sparseRegime(stable.SVT))
	for _, method := range methods {
		m, err := method(ctx, r, account)
		if errors.Is(err, accountant.ErrNoBracket) { // no noise meets the budget
			continue
		}
		if err != nil {
			return Advice{}, err
		}
		advice.Methods = append(advice.Methods, m)
	}
	if len(advice.Methods) == 0 {
		return Advice{}, fmt.Errorf("%w: epsilon %g at delta %g", plan.ErrNoPlan, r.Epsilon, r.Delta)
	}
	slices.SortStableFunc(advice.Methods, func(a, b Method) int { return cmp.Compare(a.GapNeeded, b.GapNeeded) })
	return advice, nil
}

type regimeMethod func(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error)

func argmaxRegimes(wanted func(aggregate.Description) bool) []regimeMethod {
	var methods []regimeMethod
	for _, d := range mechanisms.All() {
		if wanted(d) {
			methods = append(methods, func(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
				return r.argmaxRegime(ctx, account, d, func(noise float64) (accountant.Event, error) {
					return d.Event(d.WithNoise(aggregate.Setting{Mechanism: d.Name, Queries: r.Queries}, noise))
				})
			})
		}
	}
	return methods
}

func (r Regime) withDefaults() (Regime, error) {
	if r.Unstable == 0 {
		r.Unstable = max(1, r.Queries/20)
	}
	if r.Success == 0 {
		r.Success = 0.95
	}
	votes := plan.Simulation{Teachers: r.Teachers, Classes: r.Classes, Queries: 1, Accuracy: 0.5}
	if err := cmp.Or(plan.Goal{Epsilon: r.Epsilon, Delta: r.Delta}.Validate(), votes.Validate()); err != nil {
		return r, err
	}
	switch {
	case r.Queries < 1 || int64(r.Queries) > 1<<40:
		return r, fmt.Errorf("plan: Queries must be in [1, 2^40], not %d", r.Queries)
	case r.Gap < 0 || r.Gap > r.Teachers:
		return r, fmt.Errorf("plan: Gap must be in [0, Teachers], not %d", r.Gap)
	case r.Unstable < 1 || r.Unstable > r.Queries:
		return r, fmt.Errorf("plan: Unstable must be in [1, Queries], not %d", r.Unstable)
	case !(r.Success > 1/float64(r.Classes) && r.Success < 1):
		return r, fmt.Errorf("plan: Success must lie strictly between 1/Classes and 1, not %v", r.Success)
	}
	return r, nil
}

func (r Regime) calibrate(ctx context.Context, account accountant.AutoConfig,
	event func(noise float64) (accountant.Event, error)) (float64, accountant.Claim, error) {
	noise, err := r.least(ctx, account)(event)
	if err != nil {
		return 0, accountant.Claim{}, fmt.Errorf("plan: %w", err)
	}
	e, err := event(noise)
	if err != nil {
		return 0, accountant.Claim{}, err
	}
	claim, err := claimed(ctx, account, e, r.Delta)
	return noise, claim, err
}

// argmaxRegime requires that the output distribution of d depends only on gap/noise. Here gap is the lead of
// the largest count.
func (r Regime) argmaxRegime(ctx context.Context, account accountant.AutoConfig, d aggregate.Description,
	event func(noise float64) (accountant.Event, error)) (Method, error) {
	noise, claim, err := r.calibrate(ctx, account, event)
	if err != nil {
		return Method{}, err
	}
	rivals := r.Classes - 1
	needed := leastAbove(func(x float64) bool { return d.Ahead(x, rivals) >= r.Success })
	return Method{Mechanism: d.Name, Noise: noise, Epsilon: claim.Upper, By: claim.By, GapNeeded: noise * needed,
		AtGap: d.Ahead(float64(r.Gap)/noise, rivals)}, nil
}

// leastAbove returns the least x >= 0 for which enough(x) is true. For larger x, enough must stay true.
func leastAbove(enough func(x float64) bool) float64 {
	lo, hi := 0.0, 1.0
	for !enough(hi) && hi < 1e6 {
		lo, hi = hi, 2*hi
	}
	return mathx.Bisect(enough, lo, hi)
}

// StabilityWinsFrom returns the least number of queries for which stable-svt has a smaller GapNeeded than
// GNMax and the exponential mechanism. For more than 2^40 queries, the result is 0. The result may be 20 %
// too large. The search varies r.Queries, but not r.Unstable.
func StabilityWinsFrom(ctx context.Context, r Regime) (int, error) {
	r, err := r.withDefaults()
	if err != nil {
		return 0, err
	}
	// Rényi accounting is fast. It requires more noise for noisy argmax, but not less noise for stable-svt.
	// So the search starts at the number of queries at which stable-svt wins by Rényi accounting.
	account := claims(accountant.ByRDP)
	for queries := float64(r.Unstable); queries < 1<<40; {
		r.Queries = int(queries)
		svt, err := sparseRegime(stable.SVT)(ctx, r, account)
		if err != nil {
			return 0, err
		}
		wins := true
		for _, noisy := range argmaxRegimes(func(d aggregate.Description) bool { return d.Name == "gnmax" || d.Name == "exponential" }) {
			m, err := noisy(ctx, r, account)
			if errors.Is(err, accountant.ErrNoBracket) {
				continue
			}
			if err != nil {
				return 0, err
			}
			wins = wins && svt.GapNeeded < m.GapNeeded
		}
		switch {
		case wins && account.Method == accountant.ByAuto:
			return r.Queries, nil
		case wins:
			account = claims(accountant.ByAuto)
		default:
			queries = math.Ceil(queries * 1.2)
		}
	}
	return 0, nil
}

func claims(by accountant.Method) accountant.AutoConfig {
	return accountant.AutoConfig{Relation: accountant.AddRemove, Method: by}
}

func claimed(ctx context.Context, cfg accountant.AutoConfig, e accountant.Event, delta float64) (claim accountant.Claim, err error) {
	account, err := accountant.NewAuto(cfg)
	if err == nil {
		err = account.Compose(e, 1)
	}
	if err == nil {
		claim, err = account.Claim(ctx, delta)
	}
	if err != nil {
		return accountant.Claim{}, fmt.Errorf("plan: %w", err)
	}
	return claim, nil
}

func gapOf(distance int64) float64 { return 2*float64(distance) + 1 }

func distanceOf(gap int) int64 { return int64(max(0, (gap-1)/2)) }

func (r Regime) stableMethod(ctx context.Context, account accountant.AutoConfig, name string,
	noise, success float64, cfg stable.Config) (Method, error) {
	m, err := stable.New(cfg)
	if err != nil {
		return Method{}, fmt.Errorf("plan: %s: %w", name, err)
	}
	distance, err := m.DistanceFor(success)
	if err != nil {
		return Method{}, fmt.Errorf("plan: %s: %w", name, err)
	}
	released, _ := m.LawAt(distanceOf(r.Gap))
	claim, err := claimed(ctx, account, m.Event(), r.Delta) // includes failure probabilities
	return Method{Mechanism: name, Stability: true, Noise: noise, Epsilon: claim.Upper, By: claim.By,
		GapNeeded: gapOf(distance), AtGap: math.Exp(released)}, err
}

func mstabLaplaceRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	return r.mstab(ctx, account, stable.MStabLaplace, stability.Laplace, r.Delta/2)
}

func mstabGaussianRegime(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
	// A share of delta is for releases at distance 0. The best share minimises the needed distance.
	least, best := math.Inf(1), 0.0
	renyi := account
	renyi.Method = accountant.ByRDP // fast; the fraction hardly depends on the accountant
	for share := 0.04; share < 0.99; share += 0.02 {
		each := r.Delta * share / float64(r.Queries)
		sigma, _, err := r.calibrate(ctx, renyi, func(sigma float64) (accountant.Event, error) {
			return accountant.Repeated{Count: int64(r.Queries),
				Event: accountant.WithFailure{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Delta: each}}, nil
		})
		if err != nil {
			return Method{}, err
		}
		if distance := sigma * (distuv.UnitNormal.Quantile(r.Success) - distuv.UnitNormal.Quantile(each)); distance < least {
			least, best = distance, share
		}
	}
	return r.mstab(ctx, account, stable.MStabGaussian, stability.Gaussian, r.Delta*best)
}

func sparseRegime(name string) regimeMethod {
	// The argument name selects the noise: of lecture notes, the least possible, or one-sided. One-sided
	// noise has pure epsilon, so all of delta is for releases at distance 0. A stable query is refused with
	// probability beta. Each refusal uses up one of Q failures, so beta is at most Q/(2m) for m queries.
	return func(ctx context.Context, r Regime, account accountant.AutoConfig) (Method, error) {
		beta := math.Min(1-r.Success, float64(r.Unstable)/(2*float64(r.Queries)))
		task := stable.Task{Queries: r.Queries, Failures: r.Unstable, Delta: r.Delta, Success: r.Success}
		cfg, err := stable.Sparse(name, r.Epsilon, task, beta, r.least(ctx, account))
		if errors.Is(err, accountant.ErrNoBracket) {
			err = fmt.Errorf("plan: %w", err)
		}
		if err != nil {
			return Method{}, err
		}
		success := r.Success
		if name == stable.SVT {
			success = 1 - beta
		}
		return r.stableMethod(ctx, account, name, cfg.Lambda+cfg.B2, success, cfg)
	}
}

func (r Regime) least(ctx context.Context, account accountant.AutoConfig) aggregate.LeastNoise {
	return func(event func(float64) (accountant.Event, error)) (float64, error) {
		noise, _, err := accountant.CalibrateNoise(ctx, account.NewAccount, accountant.Target{Epsilon: r.Epsilon, Delta: r.Delta}, event)
		return noise, err
	}
}

func (r Regime) mstab(ctx context.Context, account accountant.AutoConfig, name string, noise stability.Noise, delta float64) (Method, error) {
	t := stable.Task{Mechanism: stable.MStab, Queries: r.Queries, Noise: noise, Delta: delta, Success: r.Success}
	cfg, err := stable.Fit(t, r.least(ctx, account))
	if errors.Is(err, stable.ErrNoFit) {
		err = fmt.Errorf("plan: %w: %w", accountant.ErrNoBracket, err)
	}
	if err != nil {
		return Method{}, err
	}
	return r.stableMethod(ctx, account, name, cfg.Scale+cfg.Sigma, r.Success, cfg)
}
