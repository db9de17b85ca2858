package bayes

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/opaque"
	"github.com/pate-go/pate/internal/testkit"
)

func value(f Figure) float64 { return opaque.Open(f.mu) }

func repeat(x float64, n int) []float64 { return slices.Repeat([]float64{x}, n) }

func TestEqualDistancesGiveTheMomentsAccountant(t *testing.T) {
	for _, c := range []struct{ q, noise float64 }{{0.01, 1}, {0.001, 0.7}, {0.2, 4}, {1, 20}, {0.017, 1.1}} {
		for _, e := range []Estimator{StudentT, Bernstein} {
			a := testkit.Must(New(Config{Steps: 100, Delta: 1e-6, Estimator: e, Bound: 3}))
			for range 100 {
				require.NoError(t, a.Add(Step{SamplingProbability: c.q, Noise: 3 * c.noise}, repeat(3, 50)))
			}
			event := accountant.PoissonSampled{Probability: c.q, Event: accountant.Gaussian{NoiseMultiplier: c.noise}}
			for i, lambda := range a.cfg.Orders {
				if lambda > 60 { // the account of package accountant integrates there, to 3e-13
					break
				}
				one, _, err := accountant.Divergence(accountant.AddRemove, float64(lambda)+1, event)
				require.NoError(t, err)
				want := 100 * one * float64(lambda)
				// What package accountant adds to composed divergences is 2e-12 of them.
				require.InDelta(t, 1, a.costs[i]*(1+2e-12)/want, 1e-12, "%v, %v, order %d", c, e, lambda)
				require.InDelta(t, 1, a.costs[i]/(100*LogMoment(lambda, c.q, 1/c.noise/c.noise)), 1e-12)
			}
		}
	}
}

func TestTotalsAgreeWithTheReference(t *testing.T) {
	var g mechanisms
	read(t, "mechanisms.json", &g)
	for _, e := range g.Totals {
		a := testkit.Must(New(Config{Steps: e.T, Delta: e.Delta, Failure: e.Gamma, Orders: e.Orders, Estimator: StudentT}))
		b := testkit.Must(New(Config{Steps: e.T, Delta: e.Delta, Failure: e.Gamma, Orders: e.Orders, Estimator: StudentT, Bound: 1}))
		for range e.T {
			require.NoError(t, a.Add(Step{SamplingProbability: e.Q, Noise: e.Sigma}, e.Distances))
			require.NoError(t, b.Add(Step{SamplingProbability: e.Q, Noise: e.Sigma}, e.Distances))
		}
		f := a.Figure()
		near(t, e.Eps, value(f))
		require.Equal(t, e.Lam, f.Order)
		require.Equal(t, e.T, f.Steps)
		near(t, e.Classical, opaque.Open(b.Figure().worst))
		near(t, math.Min(e.Eps, e.Classical), value(b.Figure()), "capped by the worst case")
	}
}

func TestUnionOverStepsAndOrders(t *testing.T) {
	c := testkit.Must(Config{Steps: 1000, Delta: 1e-10, Bound: 1}.complete())
	require.Len(t, c.Orders, 80)
	require.Equal(t, MaxOrder, c.Orders[79])
	require.InEpsilon(t, 1e-11/1000/80, c.Failure, 1e-12)
	require.InEpsilon(t, 1e-11, c.failures(), 1e-12)
	_, err := New(Config{Steps: 1000, Delta: 1e-10, Bound: 1, Failure: 1.3e-15})
	require.ErrorContains(t, err, "not below delta")
	testkit.Must(New(Config{Steps: 1000, Delta: 1e-10, Bound: 1, Failure: 1.2e-15}))
}

func TestNeverAboveTheWorstCase(t *testing.T) {
	for _, e := range []Estimator{StudentT, Bernstein} {
		a := testkit.Must(New(Config{Steps: 30, Delta: 1e-8, Estimator: e, Bound: 2}))
		for i := range 30 {
			require.NoError(t, a.Add(Step{SamplingProbability: 0.1, Noise: 2}, []float64{0.1, 2, float64(i) / 20}))
		}
		f := a.Figure()
		require.LessOrEqual(t, value(f), opaque.Open(f.worst))
		require.Equal(t, int64(90), f.Distances)
		require.Equal(t, 3, f.Fewest)
	}
}

func TestBernsteinGains(t *testing.T) {
	a := testkit.Must(New(Config{Steps: 100, Delta: 1e-5, Bound: 1, Orders: []int{4, 8}}))
	require.NoError(t, a.Add(Step{SamplingProbability: 0.01, Noise: 4}, repeat(0.1, 100_000)))
	require.Less(t, a.costs[0], 0.2*a.worst[0])
	require.Less(t, a.costs[1], 0.2*a.worst[1])
}

func TestStepsWithoutDistances(t *testing.T) {
	step := Step{SamplingProbability: 0.1, Noise: 2}
	a := testkit.Must(New(Config{Steps: 3, Delta: 1e-8, Estimator: StudentT, Bound: 2}))
	require.NoError(t, a.Add(step, nil))
	require.NoError(t, a.Add(step, []float64{1}))
	require.NoError(t, a.AddUnseen(step))
	require.Equal(t, 3, a.Figure().Unseen)
	require.InDeltaSlice(t, a.worst, a.costs, 0)
	require.ErrorContains(t, a.AddUnseen(step), "planned")

	a = testkit.Must(New(Config{Steps: 3, Delta: 1e-8, Estimator: StudentT}))
	require.ErrorContains(t, a.Add(step, []float64{1}), "needs 2")
	require.ErrorContains(t, a.AddUnseen(step), "Bound")
}

func TestBadInputAddsNothing(t *testing.T) {
	good := Step{SamplingProbability: 0.1, Noise: 2}
	a := testkit.Must(New(Config{Steps: 3, Delta: 1e-8, Bound: 1}))
	for name, add := range map[string]func() error{
		"nan distance":      func() error { return a.Add(good, []float64{0.1, math.NaN()}) },
		"infinite distance": func() error { return a.Add(good, []float64{0.1, math.Inf(1)}) },
		"negative distance": func() error { return a.Add(good, []float64{0.1, -1}) },
		"above the bound":   func() error { return a.Add(good, []float64{0.1, 1.001}) },
		"no noise":          func() error { return a.Add(Step{SamplingProbability: 0.1}, []float64{0.1, 0.2}) },
		"nan noise":         func() error { return a.Add(Step{0.1, math.NaN()}, []float64{0.1, 0.2}) },
		"tiny noise":        func() error { return a.Add(Step{0.1, 1e-160}, []float64{0.1, 0.2}) },
		"probability 0":     func() error { return a.Add(Step{0, 1}, []float64{0.1, 0.2}) },
		"probability 2":     func() error { return a.Add(Step{2, 1}, []float64{0.1, 0.2}) },
	} {
		require.Error(t, add(), name)
	}
	require.Zero(t, a.Steps())
	for name, c := range map[string]Config{
		"no steps": {Delta: 0.1, Bound: 1}, "delta 0": {Steps: 1, Bound: 1}, "delta 1": {Steps: 1, Delta: 1, Bound: 1},
		"order 0": {Steps: 1, Delta: 0.1, Bound: 1, Orders: []int{0}}, "order 1025": {Steps: 1, Delta: 0.1, Bound: 1, Orders: []int{1025}},
		"no bound": {Steps: 1, Delta: 0.1}, "estimator": {Steps: 1, Delta: 0.1, Bound: 1, Estimator: 7},
		"failure": {Steps: 1, Delta: 0.1, Bound: 1, Failure: -1}, "bound": {Steps: 1, Delta: 0.1, Bound: math.NaN()},
	} {
		require.Error(t, testkit.Err(New(c)), name)
	}
}

func TestAttackSuccessAgreesWithTheReference(t *testing.T) {
	var g mechanisms
	read(t, "mechanisms.json", &g)
	require.NotEmpty(t, g.Attack)
	for _, e := range g.Attack {
		near(t, e.Success, success(e.Eps, e.Delta))
	}
	require.Equal(t, 1.0, success(1e6, 0))
}

func TestShareOutside(t *testing.T) {
	f := Figure{Delta: 1e-10}
	require.InEpsilon(t, 1e-5, testkit.Must(f.ShareOutside(1e-5)), 1e-12)
	require.Error(t, testkit.Err(f.ShareOutside(1e-11)))
}

func TestPrintedReverseDestroysAmplification(t *testing.T) {
	// The exact value at q = 0.01, distance = sigma, lambda = 8 is 0.0051.
	require.InDelta(t, 0.596, PrintedReverse(8, 0.01, 1), 5e-4)
	require.InDelta(t, 0.0143, LogMoment(8, 0.01, 1), 5e-5)
}

func TestRepeatedStepsAreSteps(t *testing.T) {
	for _, sample := range [][]float64{{0.1, 0.5, 0.2}, nil} { // nil: of which no distances are known
		var accounts []*Account
		for _, times := range []int{1, 5} {
			a := testkit.Must(New(Config{Steps: 10, Delta: 1e-8, Estimator: StudentT, Bound: 1}))
			for range 10 / times {
				require.NoError(t, a.AddRepeated(Step{0.1, 2}, sample, times))
			}
			require.Error(t, a.AddRepeated(Step{0.1, 2}, sample, 0))
			require.Error(t, a.AddRepeated(Step{0.1, 2}, sample, 1))
			require.Equal(t, 10, a.Figure().Steps)
			accounts = append(accounts, a)
		}
		require.InEpsilonSlice(t, accounts[0].costs, accounts[1].costs, 1e-12)
		require.InEpsilonSlice(t, accounts[0].worst, accounts[1].worst, 1e-12)
		if sample != nil {
			require.InEpsilon(t, value(accounts[0].Figure()), value(accounts[1].Figure()), 1e-12)
		}
	}
}
