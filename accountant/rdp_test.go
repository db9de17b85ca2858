package accountant

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func BenchmarkEpsilon(b *testing.B) {
	for _, orders := range []int{156, 0} {
		b.Run(map[int]string{156: "orders=156", 0: "default-refined"}[orders], func(b *testing.B) {
			cfg := RDPConfig{Relation: AddRemove}
			if orders > 0 {
				cfg.Orders = DefaultOrders()[:orders]
			}
			r := testkit.Must(NewRDP(cfg))
			require.NoError(b, r.Compose(sgd(0.01, 1, 1000), 1))
			for b.Loop() {
				if _, err := r.Epsilon(context.Background(), 1e-5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	_, err := NewRDP(RDPConfig{})
	assert.ErrorContains(t, err, "Relation")
	for _, bad := range []float64{1, 0, math.NaN(), -3} {
		_, err = NewRDP(RDPConfig{Relation: AddRemove, Orders: []float64{2, bad}})
		assert.ErrorContains(t, err, "Orders")
	}
	r := newRDP(t, RDPConfig{})
	for _, bad := range []float64{-1e-9, 1, 2, math.NaN(), math.Inf(1)} {
		_, err := r.Epsilon(context.Background(), bad)
		assert.Error(t, err)
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := r.Delta(context.Background(), bad)
		assert.Error(t, err)
	}
	assert.ErrorIs(t, r.Compose(nil, 1), ErrInvalidEvent)
	assert.ErrorIs(t, r.Compose(GNMax{Sigma: 40}, -1), ErrInvalidEvent)
	assert.ErrorIs(t, r.Compose(Gaussian{math.NaN()}, 1), ErrInvalidEvent)
	assert.ErrorIs(t, r.Compose(Repeated{Repeated{GNMax{Sigma: 1}, math.MaxInt64}, 2}, 1), ErrInvalidEvent)
	assert.ErrorIs(t, r.Compose(PoissonSampled{0.1, nil}, 1), ErrInvalidEvent)
	assert.Zero(t, epsAt(t, r, 1e-5).Upper, "nothing was charged by what was refused")
}

func TestUnsupportedIsSaidNotGuessed(t *testing.T) {
	both := []Relation{AddRemove, ReplaceOne}
	for name, c := range map[string]struct {
		event     Event
		relations []Relation
	}{
		"sampling under replace-one":   {PoissonSampled{0.1, Gaussian{1}}, []Relation{ReplaceOne}},
		"sampled zCDP":                 {PoissonSampled{0.1, ZCDP{1}}, both},
		"sampled mixture":              {PoissonSampled{0.1, Composed{[]Event{Gaussian{1}, PureDP{1}}}}, both},
		"sampled integer noises":       {PoissonSampled{0.1, Repeated{GNMax{Sigma: 1, Discrete: true}, 2}}, both},
		"selection among failures":     {Selection{1, 0.1, WithFailure{PureDP{1}, 1e-9}}, both},
		"sampled failure":              {PoissonSampled{0.1, WithFailure{PureDP{1}, 0.1}}, both},
		"sampled vote, never drawn":    {PoissonSampled{0, PoissonSampled{0.5, ZCDP{1}}}, both},
		"hidden in a tree, after good": {Composed{[]Event{GNMax{Sigma: 1}, Repeated{PoissonSampled{0.1, ZCDP{1}}, 3}}}, both},
	} {
		for _, rel := range c.relations {
			r := newRDP(t, RDPConfig{Relation: rel})
			err := r.Compose(c.event, 1)
			var unsupported *UnsupportedEventError
			require.ErrorAs(t, err, &unsupported, name)
			assert.ErrorIs(t, err, ErrUnsupportedEvent)
			assert.NotEmpty(t, unsupported.Reason)
			b := epsAt(t, r, 1e-5)
			assert.Zero(t, b.Upper, "%s: the whole tree is checked before any of it is charged", name)
		}
	}
}

func TestFailureProbability(t *testing.T) {
	r := newRDP(t, RDPConfig{}, Repeated{WithFailure{PureDP{0.1}, 1e-7}, 30}, MStab{0.5, 40})
	want := 30e-7 + 0.5*math.Exp(-20)
	b := epsAt(t, r, 1e-5)
	assert.InEpsilon(t, want, b.FailureDelta, 1e-12)
	assert.GreaterOrEqual(t, b.FailureDelta, want*(1-1e-15))
	assert.Less(t, b.Upper, 3.5)
	b = epsAt(t, r, want/2)
	assert.Equal(t, math.Inf(1), b.Upper)
	assert.InEpsilon(t, want, deltaAt(t, r, 3.6).Upper, 1e-12, "beyond the pure part only the failure is left")
}

func TestPureBoundAndNonPrivate(t *testing.T) {
	b := epsilonOf(t, RDPConfig{}, 0, PureDP{0.5}, LNMax{Scale: 8})
	assert.InEpsilon(t, 0.75, b.Upper, 1e-11)
	assert.GreaterOrEqual(t, b.Upper, 0.75)
	assert.Equal(t, math.Inf(1), b.Order)
	assert.Equal(t, math.Inf(1), epsilonOf(t, RDPConfig{}, 0, GNMax{Sigma: 40}).Upper, "Gaussian noise has no pure bound")
	assert.Equal(t, math.Inf(1), epsilonOf(t, RDPConfig{}, 0.1, NonPrivate{}).Upper)
	assert.Zero(t, epsilonOf(t, RDPConfig{}, 0.1, Repeated{NonPrivate{}, 0}).Upper)
	assert.Zero(t, epsilonOf(t, RDPConfig{}, 0.5, GNMax{Sigma: 1000}).Upper, "a large delta alone covers a small divergence")
	assert.Positive(t, epsilonOf(t, RDPConfig{}, 0.4, RandomizedResponse{1}).Upper, "the total variation is 0.46")
}

func TestGridEdge(t *testing.T) {
	assert.True(t, epsilonOf(t, RDPConfig{Orders: []float64{2, 3, 4}}, 1e-5, GNMax{Sigma: 100}).AtGridEdge)
	assert.True(t, epsilonOf(t, RDPConfig{Orders: []float64{8, 9}}, 1e-5, GNMax{Sigma: 1}).AtGridEdge)
	assert.False(t, epsilonOf(t, RDPConfig{}, 1e-5, GNMax{Sigma: 100}).AtGridEdge)
	assert.False(t, epsilonOf(t, RDPConfig{}, 1e-5, sgd(1e-4, 5, 1)).AtGridEdge)
}

func TestRefinementAgainstDenseScan(t *testing.T) {
	var dense []float64
	for a := 1.005; a < 3000; a *= 1.002 {
		dense = append(dense, a)
	}
	for _, events := range [][]Event{
		{sgd(0.01, 1, 1000)}, {sgd(1e-3, 0.5, 10)}, {Repeated{GNMax{Sigma: 40}, 500}, Repeated{Threshold{Sigma: 150}, 1000}},
		{LNMax{Scale: 20}, ExponentialMechanism{0.1}, sgd(0.02, 2, 500)}, {Repeated{Laplace{1}, 100}},
	} {
		got, scan := epsilonOf(t, RDPConfig{}, 1e-6, events...), epsilonOf(t, RDPConfig{Orders: dense}, 1e-6, events...)
		assert.LessOrEqual(t, got.Upper, scan.Upper*(1+1e-9), "%v", events)
	}
}

func TestCalibrationHasNoBracket(t *testing.T) {
	cfg := RDPConfig{Relation: AddRemove}
	_, _, err := CalibrateNoise(t.Context(), cfg.NewAccount, Target{1, 1e-5}, func(float64) (Event, error) { return NonPrivate{}, nil })
	var e *NoBracketError
	require.ErrorAs(t, err, &e)
	assert.ErrorIs(t, err, ErrNoBracket)
	_, _, err = CalibrateNoise(t.Context(), cfg.NewAccount, Target{1, 1e-5}, func(n float64) (Event, error) { return Repeated{GNMax{Sigma: n}, 0}, nil })
	assert.ErrorIs(t, err, ErrNoBracket)
	_, _, err = CalibrateCount(t.Context(), cfg.NewAccount, Target{1, 1e-5}, func(n int64) (Event, error) { return Repeated{GNMax{Sigma: 0.1}, n}, nil })
	assert.ErrorIs(t, err, ErrNoBracket)
	_, _, err = CalibrateCount(t.Context(), cfg.NewAccount, Target{1, 1e-5}, func(n int64) (Event, error) { return PureDP{0}, nil })
	assert.ErrorIs(t, err, ErrNoBracket)
	for epsilon, most := range map[float64]int64{0: maxCount, 0.25: 4, 1.5: 0} {
		n, err := Affordable(t.Context(), cfg.NewAccount, Target{1, 1e-5}, func(n int64) (Event, error) { return Repeated{PureDP{epsilon}, n}, nil })
		require.NoError(t, err)
		assert.Equal(t, most, n, epsilon)
	}
	_, _, err = CalibrateNoise(t.Context(), cfg.NewAccount, Target{0, 1e-5}, func(n float64) (Event, error) { return GNMax{Sigma: n}, nil })
	assert.ErrorContains(t, err, "Epsilon")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = CalibrateNoise(ctx, cfg.NewAccount, Target{1, 1e-5}, func(n float64) (Event, error) { return GNMax{Sigma: n}, nil })
	assert.ErrorIs(t, err, context.Canceled)
}

func TestCalibrateProbability(t *testing.T) {
	account := RDPConfig{Relation: AddRemove}.NewAccount
	event := func(q float64) Event { return sgd(q, 1, 1000) }
	q, b, err := CalibrateProbability(t.Context(), account, Target{1000, 1e-5}, func(float64) (Event, error) { return Gaussian{1}, nil })
	require.NoError(t, err)
	assert.Equal(t, 1.0, q, "all of the data is within the budget")
	assert.LessOrEqual(t, b.Upper, 1000.0)
	_, _, err = CalibrateProbability(t.Context(), account, Target{1e-9, 1e-300}, func(float64) (Event, error) { return PureDP{1}, nil })
	var none *NoBracketError
	require.ErrorAs(t, err, &none)
	assert.Equal(t, "probability", none.Parameter)
	q, b, err = CalibrateProbability(t.Context(), account, Target{2, 1e-5}, func(q float64) (Event, error) { return event(q), nil })
	require.NoError(t, err)
	again := testkit.Must(epsilonOfEvent(t.Context(), account, event(q), 1e-5))
	assert.Equal(t, b, again, "recomputed from what is returned")
	assert.Greater(t, testkit.Must(epsilonOfEvent(t.Context(), account, event(q*(1+1e-6)), 1e-5)).Upper, 2.0)
}

func TestAnEventThatCannotBeMadeEndsACalibration(t *testing.T) {
	wrong := errors.New("no such event")
	for tries := range 3 {
		left := tries
		event := func(x float64) (Event, error) {
			if left--; left < 0 {
				return nil, wrong
			}
			return GNMax{Sigma: max(x, 1e-3)}, nil
		}
		account, target := RDPConfig{Relation: AddRemove}.NewAccount, Target{1e-2, 1e-5}
		noise, b, err := CalibrateNoise(t.Context(), account, target, event)
		require.True(t, err == wrong && noise == 0 && b == Bound{}, "%v", err)
		left = tries
		count, _, err := CalibrateCount(t.Context(), account, Target{100, 1e-5}, func(n int64) (Event, error) { return event(1e6) })
		require.True(t, err == wrong && count == 0, "%v", err)
		left = tries
		_, _, err = CalibrateProbability(t.Context(), account, target, event)
		require.ErrorIs(t, err, wrong)
	}
}

func TestCalibrationNeverOvershoots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := Target{logUniform(0.01, 50).Draw(t, "epsilon"), logUniform(1e-12, 1e-2).Draw(t, "delta")}
		n := rapid.Int64Range(1, 5000).Draw(t, "queries")
		cfg := RDPConfig{Relation: AddRemove}
		event := func(noise float64) Event { return Repeated{GNMax{Sigma: noise}, n} }
		noise, b, err := CalibrateNoise(t.Context(), cfg.NewAccount, target, func(noise float64) (Event, error) { return event(noise), nil })
		require.NoError(t, err)
		c := epsilonOf(t, cfg, target.Delta, event(noise))
		assert.Equal(t, b, c)
		assert.LessOrEqual(t, c.Upper, target.Epsilon)
		c = epsAt(t, newRDP(t, cfg, event(noise*(1-1e-6))), target.Delta)
		assert.Greater(t, c.Upper, target.Epsilon, "and wastes nothing")
	})
}

func TestCalibrateGaussian(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		target := Target{logUniform(1e-3, 100).Draw(t, "epsilon"), logUniform(1e-15, 0.1).Draw(t, "delta")}
		noise, b, err := CalibrateGaussian(target)
		require.NoError(t, err)
		assert.LessOrEqual(t, b.Upper, target.Epsilon)
		assert.LessOrEqual(t, relErr(noise, testkit.Must(GaussianNoise(target.Epsilon, target.Delta))), 1e-9)
		assert.LessOrEqual(t, testkit.Must(GaussianDelta(noise, target.Epsilon)), target.Delta)
		assert.LessOrEqual(t, b.Upper, epsilonOf(t, RDPConfig{}, target.Delta, Gaussian{noise}).Upper*(1+1e-9), "the exact answer is the smaller")
	})
	_, _, err := CalibrateGaussian(Target{1, 0})
	assert.ErrorContains(t, err, "delta")
}

// exactEpsilon is the rule of Canonne, Kamath, Steinke 2020, or of Mironov 2017.
func exactEpsilon(c Conversion, a, r, delta float64) float64 {
	x := num(a)
	less := x.sub(num(1))
	eps := num(r).sub(num(delta).log().div(less))
	if c == Improved {
		eps = eps.add(less.div(x).log()).sub(x.log().div(less))
	}
	return math.Max(0, eps.float())
}

func exactLogDelta(c Conversion, a, r, eps float64) float64 {
	x := num(a)
	less := x.sub(num(1))
	log := less.mul(num(r).sub(num(eps)))
	if c == Improved {
		log = log.add(less.mul(less.div(x).log())).sub(x.log())
	}
	return math.Min(0, log.float())
}

func TestConversionsNeverBelowExact(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, *seed))
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	for range Cases(exactCases, 1500) {
		a, rho, delta := 1+log(1e-6, 1e7), log(1e-20, 10), log(1e-15, 0.999)
		c := Conversion(rnd.IntN(2))
		r := newRDP(t, RDPConfig{Orders: []float64{a}, Conversion: c})
		require.NoError(t, r.Compose(WithFailure{ZCDP{rho}, 1e-18}, 1)) // no zero by Bretagnolle and Huber
		divergences, failure, err := r.RDP([]float64{a})
		require.NoError(t, err)
		left := num(delta).sub(num(failure)).float() * (1 + 1e-15)
		b := epsAt(t, r, delta)
		truth := exactEpsilon(c, a, divergences[0], math.Min(left, delta))
		require.GreaterOrEqual(t, b.Upper, truth*(1-1e-15), "%v order %v rho %v delta %v", c, a, rho, delta)
		require.LessOrEqual(t, b.Upper, truth*(1+1e-12)+1e-12*(divergences[0]+30/(a-1)), "%v order %v rho %v delta %v", c, a, rho, delta)

		eps := log(1e-9, 50)
		d := deltaAt(t, r, eps)
		require.GreaterOrEqual(t, d.Upper, math.Exp(exactLogDelta(c, a, num(a).mul(num(rho)).float(), eps))*(1-1e-15), "%v order %v rho %v epsilon %v", c, a, rho, eps)

		z := testkit.Must(NewZCDP(AddRemove, Improved))
		require.NoError(t, z.Compose(ZCDP{rho}, 1))
		b = epsAt(t, z, delta)
		if b.Order > 1+1e-9 && b.Upper > 0 { // any order is valid, so the answer may be checked at its own
			require.GreaterOrEqual(t, b.Upper, exactEpsilon(Improved, b.Order, num(b.Order).mul(num(rho)).float(), delta)*(1-1e-12), "rho %v delta %v", rho, delta)
		}
	}
}

// exactNormalCDF is the Taylor series of the error function, which leaves 30 digits of the tail at -10.
func exactNormalCDF(x exact) exact {
	square := x.mul(x).div(num(2))
	term, sum := x, x
	for k := 1; k < 2000; k++ {
		term = term.mul(square).div(num(float64(k))).neg()
		next := term.div(num(float64(2*k + 1)))
		if next.v.Sign() == 0 || next.v.MantExp(nil) < -precision {
			break
		}
		sum = sum.add(next)
	}
	// sqrt(2 pi) from the value of the series at a point where the tail is nothing
	return num(0.5).add(sum.div(sqrtTwoPi))
}

// sqrtTwoPi by Machin's formula.
var sqrtTwoPi = func() exact {
	arctan := func(inverse float64) exact {
		x := num(1).div(num(inverse))
		sum, power := num(0), x
		for k := 0; k < 300; k++ {
			term := power.div(num(float64(2*k + 1)))
			if k%2 == 1 {
				term = term.neg()
			}
			sum, power = sum.add(term), power.mul(x).mul(x)
		}
		return sum
	}
	pi := num(4).mul(num(4).mul(arctan(5)).sub(arctan(239)))
	return num(2).mul(pi).log().div(num(2)).exp()
}()

func TestGaussianIntervalContainsExact(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, *seed))
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	for range Cases(exactCases, 1500) / 15 {
		noise, delta := log(0.3, 1e9), log(1e-15, 0.3)
		count := int64(math.Max(1, math.Min(9e15, log(1e-9, 40)*noise*noise)))
		p := newPLD(t, PLDConfig{Relation: AddRemove}, Repeated{Gaussian{noise}, count})
		b := epsAt(t, p, delta)
		mu := num(float64(count)).log().div(num(2)).exp().div(num(noise))
		exactDelta := func(eps float64) exact {
			c := num(eps).div(mu)
			half := mu.div(num(2))
			return exactNormalCDF(half.sub(c)).sub(num(eps).exp().mul(exactNormalCDF(half.add(c).neg())))
		}
		require.LessOrEqual(t, exactDelta(b.Upper).v.Cmp(num(delta).v), 0, "%v x %v delta %v: %v", noise, count, delta, b)
		if b.Lower > 0 {
			require.GreaterOrEqual(t, exactDelta(b.Lower).v.Cmp(num(delta).v), 0, "%v x %v delta %v: %v", noise, count, delta, b)
		}
		d := deltaAt(t, p, b.Upper)
		truth := exactDelta(b.Upper).float()
		require.GreaterOrEqual(t, d.Upper, truth, "%v x %v epsilon %v", noise, count, b.Upper)
		require.LessOrEqual(t, d.Lower, truth, "%v x %v epsilon %v", noise, count, b.Upper)
	}
}
