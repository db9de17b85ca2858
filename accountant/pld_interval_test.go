package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// sampledGaussianDelta is the exact delta of one Poisson-sampled Gaussian step, the larger of both
// directions, by quadrature of positive integrands from where the loss equals epsilon.
func sampledGaussianDelta(q, sigma, epsilon float64) float64 {
	density := func(x float64) float64 {
		return math.Exp(-x*x/(2*sigma*sigma)) / (sigma * math.Sqrt(2*math.Pi))
	}
	loss := func(x float64) float64 { return math.Log1p(q * math.Expm1((2*x-1)/(2*sigma*sigma))) }
	where := func(l float64) float64 { // loss(where(l)) = l
		return 0.5 + sigma*sigma*math.Log((math.Exp(l)-(1-q))/q)
	}
	z := where(epsilon)
	remove := simpson(func(x float64) float64 { return density(x) * math.Exp(epsilon) * math.Expm1(loss(x)-epsilon) },
		z, math.Max(z, 0)+40*sigma+40/sigma)
	add := 0.0
	if z := where(-epsilon); !math.IsNaN(z) && !math.IsInf(z, 0) {
		add = simpson(func(x float64) float64 { return -density(x) * math.Expm1(epsilon+loss(x)) }, math.Min(z, 0)-40*sigma, z)
	}
	return math.Max(remove, add)
}

// TestPLDContainsOneStep compares with a computation that shares nothing with the accountant: no cells, no
// transform.
func TestPLDContainsOneStep(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, 9))
	checked, tightest := 0, math.Inf(1)
	for i := range 150 {
		if skipped(i, 3) {
			continue
		}
		q, sigma := math.Pow(10, -4*rnd.Float64()), math.Pow(10, 1.5*rnd.Float64()-0.3)
		epsilon := math.Pow(10, -3+3.3*rnd.Float64()) * math.Min(1, 20*q/sigma+1e-3)
		want := sampledGaussianDelta(q, sigma, epsilon)
		if want < 1e-200 {
			continue
		}
		account := newPLD(t, PLDConfig{Relation: AddRemove}, PoissonSampled{q, Gaussian{sigma}})
		delta := deltaAt(t, account, epsilon)
		require.GreaterOrEqual(t, delta.Upper, want*(1-1e-6), "q=%v sigma=%v epsilon=%v", q, sigma, epsilon)
		require.LessOrEqual(t, delta.Lower, want*(1+1e-6), "q=%v sigma=%v epsilon=%v", q, sigma, epsilon)
		checked, tightest = checked+1, math.Min(tightest, delta.Upper/want)
		if want > 0.5 {
			continue
		}
		back := epsAt(t, account, want)
		require.GreaterOrEqual(t, back.Upper, epsilon*(1-1e-6), "q=%v sigma=%v delta=%v", q, sigma, want)
		require.LessOrEqual(t, back.Lower, epsilon*(1+1e-6), "q=%v sigma=%v delta=%v", q, sigma, want)
	}
	t.Logf("%d settings, upper bound over truth at least %.7f", checked, tightest)
	require.Greater(t, checked, 33)
}

// TestPLDIntervalsMeet: intervals of different widths hold one truth, so any two of them meet, and none
// lies above the Rényi bound.
func TestPLDIntervalsMeet(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(19, 9))
	for i := range 16 {
		if skipped(i, 3) {
			continue
		}
		q, sigma, steps := math.Pow(10, -4*rnd.Float64()), math.Pow(10, 1.3*rnd.Float64()-0.3), int64(math.Pow(10, 4.5*rnd.Float64()))
		delta := math.Pow(10, -1-14*rnd.Float64())
		events := []Event{
			Repeated{PoissonSampled{q, Gaussian{sigma}}, steps},
			Repeated{GNMax{Sigma: 20 + 100*rnd.Float64()}, int64(rnd.IntN(50))},
			Repeated{Laplace{0.5 + 10*rnd.Float64()}, int64(rnd.IntN(2))},
			Repeated{PoissonSampled{q / 2, Gaussian{sigma * 1.7}}, steps / 3},
		}
		ask := func(account Accountant, err error) Bound {
			require.NoError(t, err)
			for _, e := range events {
				require.NoError(t, account.Compose(e, 1))
			}
			return epsAt(t, account, delta)
		}
		var all []Bound
		for _, gap := range []float64{1e-2, 1e-3, 2e-4} {
			all = append(all, ask(NewPLD(PLDConfig{Relation: AddRemove, Gap: gap})))
		}
		renyi := ask(NewRDP(RDPConfig{Relation: AddRemove}))
		for _, a := range all {
			require.LessOrEqual(t, a.Lower, renyi.Upper*(1+1e-9), "%v delta %v", events, delta)
			for _, b := range all {
				require.LessOrEqual(t, a.Lower, b.Upper+1e-12, "%v delta %v", events, delta)
			}
		}
	}
}

// Where a few rare steps make up all of the loss, the answer is far above the tilted mean: grids follow the
// answer, so windows stay short and the interval is narrow beside it.
func TestPLDGridsFollowRareLosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q, sigma, delta float64
		steps           int64
	}{{1.76e-7, 0.796, 4.86e-13, 16}, {1.41e-7, 1.005, 7.54e-13, 53}, {7.16e-7, 0.793, 1.06e-10, 41}, {1.77e-8, 0.501, 5.28e-14, 11}} {
		b := pldEpsilon(t, PLDConfig{}, c.delta, sgd(c.q, c.sigma, c.steps))
		require.LessOrEqual(t, b.Points, 150_000, "%+v", c)
		require.LessOrEqual(t, b.Upper, 1.15*b.Lower, "%+v", c)
	}
}
