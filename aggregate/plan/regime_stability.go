package plan

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
)

// Stability methods look at d, how many votes must move before the winner changes:
// floor((gap-1)/2) whatever the tie rule, so d needs a gap of 2d+1.
func gapOf(distance float64) float64 { return 2*math.Ceil(distance-1e-9) + 1 }

func distanceOf(gap int) float64 { return float64(max(0, (gap-1)/2)) }

// mstabLaplaceRegime releases each query by itself if d + Lap(1/e) > T. Half of
// delta pays for releases at d = 0, e^{-eT}/2 for each query.
func mstabLaplaceRegime(ctx context.Context, r Regime, account accountant.Config) (Method, error) {
	threshold := func(b float64) float64 { return b * math.Log(float64(r.Queries)/r.Delta) }
	noise, eps, err := r.calibrate(ctx, account, func(b float64) accountant.Event {
		return accountant.Repeated{Event: accountant.MStab{Epsilon: 1 / b, Threshold: threshold(b)}, Count: int64(r.Queries)}
	})
	if err != nil {
		return Method{}, err
	}
	return Method{Mechanism: MStabLaplace, Stability: true, Noise: noise, Epsilon: eps,
		GapNeeded: gapOf(threshold(noise) - noise*laplaceQuantile(1-r.Success)),
		AtGap:     laplaceTail((threshold(noise) - distanceOf(r.Gap)) / noise)}, nil
}

// mstabGaussianRegime is the same with Gaussian noise, and the share of delta for
// releases at d = 0 that needs the smallest gap.
func mstabGaussianRegime(ctx context.Context, r Regime, account accountant.Config) (Method, error) {
	best := Method{GapNeeded: math.Inf(1)}
	needed := func(share float64) (Method, float64, error) {
		each := r.Delta * share / float64(r.Queries)
		cut := -distuv.UnitNormal.Quantile(each)
		noise, eps, err := r.calibrate(ctx, account, func(sigma float64) accountant.Event {
			return accountant.Repeated{Count: int64(r.Queries),
				Event: accountant.WithFailure{Event: accountant.Gaussian{NoiseMultiplier: sigma}, Delta: each}}
		})
		if err != nil {
			return Method{}, 0, err
		}
		distance := noise * (cut + distuv.UnitNormal.Quantile(r.Success))
		return Method{Mechanism: MStabGaussian, Stability: true, Noise: noise, Epsilon: eps, GapNeeded: gapOf(distance),
			AtGap: math.Erfc((cut-distanceOf(r.Gap)/noise)/math.Sqrt2) / 2}, distance, nil
	}
	least := math.Inf(1)
	for share := 0.04; share < 0.99; share += 0.02 {
		m, distance, err := needed(share)
		if err != nil {
			return Method{}, err
		}
		if distance < least {
			least, best = distance, m
		}
	}
	return best, nil
}

// svtPrintedRegime is the sparse vector over stable queries as lecture notes
// calibrate it: lambda = sqrt(32 Q log(2/delta))/epsilon for the threshold, twice that
// for queries, w = 2 lambda log(2 m/delta).
func svtPrintedRegime(_ context.Context, r Regime, account accountant.Config) (Method, error) {
	lambda := math.Sqrt(32*float64(r.Unstable)*math.Log(2/r.Delta)) / r.Epsilon
	w := 2 * lambda * math.Log(2*float64(r.Queries)/r.Delta)
	return r.svtRegime(account, SVTPrinted, lambda, w)
}

// svtCalibratedRegime is the same mechanism at the noise it needs: every epoch, one
// noisy threshold until the first failure, is 2/lambda-DP, and half of delta pays
// for releases at d = 0, the same for each query.
func svtCalibratedRegime(ctx context.Context, r Regime, account accountant.Config) (Method, error) {
	lambda, _, err := r.calibrate(ctx, account, r.svtEvent(r.Delta/2))
	if err != nil {
		return Method{}, err
	}
	return r.svtRegime(account, SVTCalibrated, lambda, 2*lambda*twoLaplaceQuantile(r.Delta/2/float64(r.Queries)))
}

func (r Regime) svtEvent(failure float64) func(lambda float64) accountant.Event {
	return func(lambda float64) accountant.Event {
		return accountant.WithFailure{Delta: failure, Event: accountant.Repeated{
			Event: accountant.PureDP{Epsilon: 2 / lambda}, Count: int64(r.Unstable)}}
	}
}

func (r Regime) svtRegime(account accountant.Config, name string, lambda, w float64) (Method, error) {
	failure := math.Min(r.Delta/2, float64(r.Queries)*twoLaplaceTail(w/(2*lambda)))
	eps, err := accounted(account, r.svtEvent(failure)(lambda), r.Delta)
	if err != nil {
		return Method{}, err
	}
	at := (w - distanceOf(r.Gap)) / (2 * lambda)
	released := twoLaplaceTail(at)
	if at < 0 {
		released = 1 - twoLaplaceTail(-at)
	}
	return Method{Mechanism: name, Stability: true, Noise: lambda, Epsilon: eps, AtGap: released,
		GapNeeded: gapOf(w + 2*lambda*twoLaplaceQuantile(1-r.Success))}, nil
}

// stableSVTRegime is the stable sparse vector with one-sided integer noise: one
// threshold noise of scale b1, query noise of scale b2, in total
// (1/b1 + 2Q/b2, e^{-(w+1)/b1})-DP for any number of queries. The split between
// the two is searched. A stable query fails with probability beta and then uses up
// one of the Q failures too, so beta is at most Q/(2m).
func stableSVTRegime(_ context.Context, r Regime, account accountant.Config) (Method, error) {
	budget := r.Epsilon * (1 - 1e-9) // the claim is rounded up
	beta := math.Min(1-r.Success, float64(r.Unstable)/(2*float64(r.Queries)))
	best := Method{GapNeeded: math.Inf(1)}
	var event accountant.StableSVT
	for k := 1; k < 1000; k++ {
		b1 := 1000 / (float64(k) * budget)
		b2 := 2 * float64(r.Unstable) * 1000 / (float64(1000-k) * budget)
		w := math.Max(0, math.Ceil(b1*math.Log(1/r.Delta)*(1+1e-12)-1))
		gap := gapOf(w + math.Max(0, b2*math.Log(oneSidedMiss(b1, b2)/beta)))
		if gap < best.GapNeeded {
			event = accountant.StableSVT{B1: b1, B2: b2, Threshold: int64(w), Failures: int64(r.Unstable)}
			best = Method{Mechanism: StableSVT, Stability: true, Noise: b2, GapNeeded: gap}
		}
	}
	best.AtGap = stableSVTReleases(event, distanceOf(r.Gap))
	var err error
	best.Epsilon, err = accounted(account, event, r.Delta)
	return best, err
}

// oneSidedMiss is P[fail] at d = w, (1-r1)/(1-r1 r2) with r = e^{-1/b}; each
// further vote moved lowers it by r2.
func oneSidedMiss(b1, b2 float64) float64 {
	return math.Expm1(-1/b1) / math.Expm1(-1/b1-1/b2)
}

// stableSVTReleases is P[d - nu > w - rho]: for d < w the threshold noise must make
// up w-d first.
func stableSVTReleases(e accountant.StableSVT, d float64) float64 {
	w := float64(e.Threshold)
	if d >= w {
		return 1 - math.Exp(-(d-w)/e.B2)*oneSidedMiss(e.B1, e.B2)
	}
	return math.Exp(-(w-d)/e.B1) * (1 - oneSidedMiss(e.B1, e.B2))
}

// laplaceTail is P[Z > x] for Laplace noise of scale 1, laplaceQuantile where the
// distribution function reaches p <= 1/2.
func laplaceTail(x float64) float64 {
	if x < 0 {
		return 1 - math.Exp(x)/2
	}
	return math.Exp(-x) / 2
}

func laplaceQuantile(p float64) float64 {
	if p <= 0.5 {
		return math.Log(2 * p)
	}
	return -math.Log(2 * (1 - p))
}

// twoLaplaceTail is P[Z1 + Z2 > x], x >= 0, for scales 1 and 1/2:
// (2/3) e^-x - (1/6) e^-2x. twoLaplaceQuantile is its inverse, below 0 where p is
// above a half.
func twoLaplaceTail(x float64) float64 { return math.Exp(-x)*2/3 - math.Exp(-2*x)/6 }

func twoLaplaceQuantile(p float64) float64 {
	if p > 0.5 {
		return -twoLaplaceQuantile(1 - p)
	}
	return -math.Log(6 * p / (2 + math.Sqrt(4-6*p))) // the root y of (2/3) y - y^2/6 = p
}
