package accountant

import (
	"context"
	"errors"
	"math"
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
	b := epsAt(t, r, 1e-5)
	assert.Zero(t, b.Upper, "nothing was charged by what was refused")
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
	d := deltaAt(t, r, 3.6)
	assert.InEpsilon(t, want, d.Upper, 1e-12, "beyond the pure part only the failure is left")
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
}

func TestGridEdge(t *testing.T) {
	assert.True(t, epsilonOf(t, RDPConfig{Orders: []float64{2, 3, 4}}, 1e-5, GNMax{Sigma: 100}).AtGridEdge)
	assert.True(t, epsilonOf(t, RDPConfig{Orders: []float64{8, 9}}, 1e-5, GNMax{Sigma: 1}).AtGridEdge)
	assert.False(t, epsilonOf(t, RDPConfig{}, 1e-5, GNMax{Sigma: 100}).AtGridEdge)
	assert.False(t, epsilonOf(t, RDPConfig{}, 1e-5, sgd(1e-4, 5, 1)).AtGridEdge)
}

// Every order gives a bound, so the best one must be found in spite of refinement; a dense scan finds
// nothing better by more than its tolerance.
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
	more := testkit.Must(epsilonOfEvent(t.Context(), account, event(q*(1+1e-6)), 1e-5))
	assert.Greater(t, more.Upper, 2.0)
}

// TestAnEventThatCannotBeMadeEndsACalibration checks that the search returns its error, at the first value
// and at later ones.
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
		less := newRDP(t, cfg, event(noise*(1-1e-6)))
		c = epsAt(t, less, target.Delta)
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
		exact := testkit.Must(GaussianNoise(target.Epsilon, target.Delta))
		assert.LessOrEqual(t, relErr(noise, exact), 1e-9)
		delta := testkit.Must(GaussianDelta(noise, target.Epsilon))
		assert.LessOrEqual(t, delta, target.Delta)
		assert.LessOrEqual(t, b.Upper, epsilonOf(t, RDPConfig{}, target.Delta, Gaussian{noise}).Upper*(1+1e-9), "the exact answer is the smaller")
	})
	_, _, err := CalibrateGaussian(Target{1, 0})
	assert.ErrorContains(t, err, "delta")
}
