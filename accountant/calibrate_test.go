package accountant

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/testkit"
)

func gnmaxVotes(sigma float64, n int64) Event {
	return Repeated{GNMax{Sigma: sigma, Discrete: true}, n}
}

// The README's row: 270 answers at sigma 49.9 are 2.0018 by Rényi divergences.
func TestTightestClaimsByLossDistributions(t *testing.T) {
	t.Parallel()
	c := testkit.Must(Epsilon(t.Context(), ByAuto, AddRemove, 1e-5, gnmaxVotes(49.9, 270)))
	assert.Equal(t, ByPLD, c.By)
	require.NoError(t, c.Lack)
	assert.LessOrEqual(t, c.Upper, 1.85)
	// The pair of a vote is that of two Gaussians, near enough at this noise.
	floor := testkit.Must(GaussianEpsilon(49.9/math.Sqrt(2*270), 1e-5))
	assert.InDelta(t, floor, c.Upper, 2e-3)
	assert.GreaterOrEqual(t, c.Upper, floor-1e-6)

	rdp := testkit.Must(Epsilon(t.Context(), ByRDP, AddRemove, 1e-5, gnmaxVotes(49.9, 270)))
	want := testkit.Must(newRDP(t, RDPConfig{}, gnmaxVotes(49.9, 270)).Epsilon(t.Context(), 1e-5))
	assert.Equal(t, Claim{Bound: want, By: ByRDP}, rdp)
}

func TestTightestIsTheLeastOfItsAccountants(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]Event{
		"nothing":      nil,
		"votes":        {gnmaxVotes(20, 40)},
		"one":          {gnmaxVotes(3, 1)},
		"threshold":    {Repeated{Threshold{Sigma: 150, Discrete: true}, 1000}, gnmaxVotes(40, 100)},
		"pure":         {PureDP{0.5}},
		"failure":      {WithFailure{PureDP{0.5}, 1e-6}, gnmaxVotes(40, 20)},
		"laplace":      {Repeated{LNMax{Scale: 100}, 100}},
		"sampled":      {Repeated{PoissonSampled{0.01, Gaussian{1}}, 100}, gnmaxVotes(40, 20)},
		"too fine":     {gnmaxVotes(1e5, 20)},
		"no pair":      {ZCDP{0.01}, gnmaxVotes(40, 20)},
		"no guarantee": {WithFailure{PureDP{0.5}, 1e-3}},
	} {
		t.Run(name, func(t *testing.T) {
			auto := testkit.Must(Epsilon(t.Context(), ByAuto, AddRemove, 1e-5, events...))
			rdp := testkit.Must(Epsilon(t.Context(), ByRDP, AddRemove, 1e-5, events...))
			least := rdp.Upper
			pld, err := Epsilon(t.Context(), ByPLD, AddRemove, 1e-5, events...)
			if err == nil {
				least = math.Min(least, pld.Upper)
				require.NoError(t, auto.Lack)
			} else {
				require.ErrorIs(t, err, ErrUnsupportedEvent)
				require.ErrorIs(t, auto.Lack, ErrUnsupportedEvent, "why it is Rényi is said")
				require.Equal(t, ByRDP, auto.By)
			}
			require.Equal(t, least, auto.Upper)
			if auto.By == ByPLD {
				require.Less(t, auto.Upper, rdp.Upper)
			}
			d := testkit.Must(newAuto(t, AutoConfig{Relation: AddRemove}, events...).Delta(context.Background(), 1))
			r := testkit.Must(newRDP(t, RDPConfig{}, events...).Delta(context.Background(), 1))
			require.LessOrEqual(t, d.Upper, r.Upper)
		})
	}
}

func TestTightestDoesNotTakeLong(t *testing.T) {
	t.Parallel()
	many := newAuto(t, AutoConfig{Relation: AddRemove})
	for i := range maxTightPairs {
		require.NoError(t, many.Compose(LNMax{Scale: 100 + float64(i)}, 1))
		require.NotNil(t, many.pld)
	}
	require.NoError(t, many.Compose(LNMax{Scale: 100}, 1), "no new one")
	require.NotNil(t, many.pld)
	require.NoError(t, many.Compose(LNMax{Scale: 99}, 1))
	require.Nil(t, many.pld)
	c := testkit.Must(many.Claim(t.Context(), 1e-5))
	require.Equal(t, ByRDP, c.By)
	require.ErrorContains(t, c.Lack, "more than 64 different releases")

	slow := newAuto(t, AutoConfig{Relation: AddRemove}, gnmaxVotes(40, 100))
	slow.pld.composer.MaxWork = 1 << 10
	c = testkit.Must(slow.Claim(t.Context(), 1e-5))
	require.Equal(t, ByRDP, c.By)
	require.ErrorIs(t, c.Lack, pld.ErrTooMuchWork)
	require.Positive(t, deltaAt(t, slow, 1).Upper)
	asked := newAuto(t, AutoConfig{Relation: AddRemove, Method: ByPLD}, gnmaxVotes(40, 100))
	asked.pld.composer.MaxWork = 1 << 10
	_, err := asked.Claim(t.Context(), 1e-5)
	require.ErrorIs(t, err, pld.ErrTooMuchWork, "PLD that was asked for by name is not replaced")
}

func TestTightComposesAllOrNothing(t *testing.T) {
	t.Parallel()
	a := newAuto(t, AutoConfig{Relation: AddRemove, Method: ByPLD}, gnmaxVotes(40, 100))
	before := testkit.Must(a.Claim(t.Context(), 1e-5))
	require.Error(t, a.Compose(ZCDP{0.1}, 1))
	require.Error(t, a.Compose(nil, 1))
	require.Error(t, a.Compose(PureDP{1}, -1))
	require.Equal(t, before, testkit.Must(a.Claim(t.Context(), 1e-5)))
	_, err := NewAuto(AutoConfig{Relation: AddRemove, Method: "moments"})
	require.Error(t, err)
	_, err = NewAuto(AutoConfig{})
	require.Error(t, err)
}

func TestCalibrationBeginsRoughly(t *testing.T) {
	t.Parallel()
	tight := AutoConfig{Relation: AddRemove}.NewAccount
	target := Target{Epsilon: 2, Delta: 1e-5}
	tries := 0
	noise, b, err := CalibrateNoise(t.Context(), tight, target, func(noise float64) (Event, error) {
		tries++
		return gnmaxVotes(noise, 200), nil
	})
	require.NoError(t, err)
	require.LessOrEqual(t, b.Upper, 2.0)
	rough, _, err := CalibrateNoise(t.Context(), RDPConfig{Relation: AddRemove}.NewAccount, target, func(noise float64) (Event, error) { return gnmaxVotes(noise, 200), nil })
	require.NoError(t, err)
	require.Less(t, noise, 0.95*rough)
	require.InEpsilon(t, testkit.Must(GaussianNoise(2, 1e-5))*math.Sqrt(400), noise, 2e-3)

	// What is gained over Rényi divergences falls with epsilon: at 8 it is 12.9 % of many answers, which is
	// all that Gaussian noise allows.
	for _, c := range []struct{ epsilon, sigma float64 }{{1, 40}, {2, 40}, {8, 20}} {
		target.Epsilon = c.epsilon
		n, b, err := CalibrateCount(t.Context(), tight, target, func(n int64) (Event, error) { return gnmaxVotes(c.sigma, n), nil })
		require.NoError(t, err)
		require.LessOrEqual(t, b.Upper, c.epsilon)
		before, _, err := CalibrateCount(t.Context(), RDPConfig{Relation: AddRemove}.NewAccount, target, func(n int64) (Event, error) { return gnmaxVotes(c.sigma, n), nil })
		require.NoError(t, err)
		require.GreaterOrEqual(t, float64(n), 1.13*float64(before), "answers at epsilon %v", c.epsilon)
		least := testkit.Must(GaussianNoise(c.epsilon, 1e-5))
		require.InDelta(t, c.sigma*c.sigma/(2*least*least), float64(n), 1, "all that fit")
	}
	_, _, err = CalibrateCount(t.Context(), tight, Target{Epsilon: 0.01, Delta: 1e-5}, func(n int64) (Event, error) { return gnmaxVotes(1, n), nil })
	require.ErrorIs(t, err, ErrNoBracket)
}

// At most 3 in 100 found at 1 % false alarms: two normal laws that are Phi^-1(0.03) - Phi^-1(0.01)
// deviations apart, the most that Gaussian noise may leave.
func TestCalibrateRiskOfGaussians(t *testing.T) {
	t.Parallel()
	target := RiskTarget{Found: 0.03, FalseAlarms: 0.01}
	mu := math.Sqrt2 * (math.Erfinv(2*0.03-1) - math.Erfinv(2*0.01-1))
	cfg := AutoConfig{Relation: AddRemove}
	for name, c := range map[string]struct {
		event func(noise float64) Event
		least float64
	}{
		"one":   {func(x float64) Event { return Gaussian{x} }, 1 / mu},
		"votes": {func(x float64) Event { return gnmaxVotes(x, 100) }, math.Sqrt(200) / mu},
	} {
		noise, found, err := CalibrateRisk(t.Context(), cfg, target, func(x float64) (Event, error) { return c.event(x), nil })
		require.NoError(t, err, name)
		assert.LessOrEqual(t, found.Upper, target.Found, name)
		assert.GreaterOrEqual(t, noise, c.least*(1-1e-9), name)
		assert.InEpsilon(t, c.least, noise, 3e-3, name)
		again := testkit.Must(riskOf(t, c.event(noise)).TPR(target.FalseAlarms))
		assert.Equal(t, found, again, "recomputed from the noise that is returned")
	}
	// Where Rényi divergences alone hold, the bound is theirs and holds too.
	noise, found, err := CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove, Method: ByRDP}, target, func(x float64) (Event, error) { return Gaussian{x}, nil })
	require.NoError(t, err)
	assert.LessOrEqual(t, found.Upper, target.Found)
	assert.Greater(t, noise, 1/mu)
	// The Rényi curve ends at epsilon 16, so the noise that one pair allows is too little here.
	target = RiskTarget{Found: 0.5, FalseAlarms: 1e-12}
	_, found, err = CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove, Method: ByRDP}, target, func(x float64) (Event, error) { return Gaussian{x}, nil })
	require.NoError(t, err)
	assert.LessOrEqual(t, found.Upper, target.Found)
}

func TestCalibrateRiskRefuses(t *testing.T) {
	t.Parallel()
	event := func(x float64) (Event, error) { return Gaussian{x}, nil }
	for _, target := range []RiskTarget{{0.01, 0.01}, {0.03, 0}, {1, 0.01}, {0.005, 0.01}, {math.NaN(), 0.01}, {0.03, math.NaN()}} {
		_, _, err := CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove}, target, event)
		require.ErrorContains(t, err, "RiskTarget", "%v", target)
	}
	_, _, err := CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove}, RiskTarget{0.03, 0.01}, func(float64) (Event, error) { return ZCDP{10}, nil })
	require.ErrorIs(t, err, ErrNoBracket)
}

func TestLeastNoiseOfAnyCost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cost func(noise float64) float64
		most int // trials
	}{
		{"power", func(x float64) float64 { return 7 / x }, 6},
		{"steep", func(x float64) float64 { return 1e9 / (x * x * x) }, 12},
		{"two powers", func(x float64) float64 { return 3/x + 40/(x*x) }, 9},
		{"on top of what is there", func(x float64) float64 { return 0.9 + 1/x }, 14},
		{"free beyond some noise", func(x float64) float64 { return math.Max(0, 5-math.Log(x)) }, 14},
		{"infinite below some noise", func(x float64) float64 { return 1 / math.Max(0, x-3) }, 16},
		{"jump", func(x float64) float64 { return 2/x + math.Copysign(1e-4, 2-x) }, 60},
		{"steps", func(x float64) float64 { return 20.5 / math.Ceil(x) }, 60},
	} {
		for _, from := range []start{{parameter: 1}, {10, -1}, {minNoise, 0}, {maxNoise, 0}, {2.0001, -0.5}} {
			tries := 0
			found, b, err := leastNoise(Target{Epsilon: 1}, from, 1e-8, func(x float64) (Bound, error) {
				tries++
				return Bound{Upper: c.cost(x)}, nil
			})
			require.NoError(t, err, c.name)
			require.LessOrEqual(t, b.Upper, 1.0, c.name)
			require.Equal(t, c.cost(found.parameter), b.Upper, "%s: what is achieved is that of the noise returned", c.name)
			require.Greater(t, c.cost(found.parameter*(1-1.1*jumpTolerance)), 1.0, "%s: no noise is left over", c.name)
			if from.parameter != minNoise && from.parameter != maxNoise {
				require.LessOrEqual(t, tries, c.most, "%s from %v", c.name, from)
			}
		}
	}
	for cost, last := range map[float64]float64{2: maxNoise, 0.5: minNoise, 0: minNoise, math.Inf(1): maxNoise} {
		_, _, err := leastNoise(Target{Epsilon: 1}, start{parameter: 1}, 1e-8, func(float64) (Bound, error) { return Bound{Upper: cost}, nil })
		var none *NoBracketError
		require.ErrorAs(t, err, &none)
		require.Equal(t, last, none.Last)
	}
}

func TestMostCountOfAnyCost(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{1, 2, 3, 10, 999, 123456, 1 << 40, maxCount - 1} {
		for name, cost := range map[string]func(x float64) float64{
			"line":   func(x float64) float64 { return x },
			"root":   math.Sqrt,
			"square": func(x float64) float64 { return x * x },
			"more":   func(x float64) float64 { return math.Sqrt(x) + x/1e4 },
			"rough":  func(x float64) float64 { return x + math.Mod(x, 7)/8 },
		} {
			for _, from := range []int64{1, most, most/2 + 1, min(maxCount, 3*most)} {
				tries := 0
				target := Target{Epsilon: cost(float64(most))}
				found, b, err := mostCount(target, start{parameter: float64(from)}, func(n int64) (Bound, error) {
					tries++
					return Bound{Upper: cost(float64(n))}, nil
				})
				require.NoError(t, err, "%s %d from %d", name, most, from)
				require.Equal(t, float64(most), found.parameter, "%s %d from %d", name, most, from)
				require.Equal(t, target.Epsilon, b.Upper)
				require.LessOrEqual(t, tries, 70, "%s %d from %d", name, most, from)
			}
		}
	}
	for cost, last := range map[float64]float64{2: 1, 0.5: float64(maxCount), 0: float64(maxCount)} {
		_, _, err := mostCount(Target{Epsilon: 1}, start{parameter: 1}, func(int64) (Bound, error) { return Bound{Upper: cost}, nil })
		var none *NoBracketError
		require.ErrorAs(t, err, &none)
		require.Equal(t, last, none.Last)
	}
}

func TestCalibrationsAreCertified(t *testing.T) {
	t.Parallel()
	event := func(noise float64) (Event, error) {
		return Composed{[]Event{sgd(0.01, noise, 300), sgd(0.003, 2*noise, 50)}}, nil
	}
	for i, account := range []NewAccount{PLDConfig{Relation: AddRemove}.NewAccount,
		AutoConfig{Relation: AddRemove}.NewAccount, PLDConfig{Relation: AddRemove, Gap: 0.05}.NewAccount} {
		for j, epsilon := range []float64{0.3, 4} {
			if skipped(i+j, 2) {
				continue
			}
			t.Run(fmt.Sprint(epsilon), func(t *testing.T) {
				asked := 0
				target := Target{epsilon, 1e-6}
				noise, b, err := CalibrateNoise(context.Background(), func() (Accountant, error) {
					asked++
					return account()
				}, target, event)
				require.NoError(t, err)
				e := testkit.Must(event(noise))
				says := testkit.Must(epsilonOfEvent(context.Background(), account, e, target.Delta))
				require.Equal(t, says, b)
				require.LessOrEqual(t, says.Upper, epsilon)
				require.Greater(t, says.Upper, epsilon*(1-1e-3))
				require.Less(t, asked, 30)
			})
		}
	}
}
