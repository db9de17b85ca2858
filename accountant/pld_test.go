package accountant

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

// Abadi et al. 2016: the moments accountant says 1.26, the truth is 0.946867.
func TestPLDHoldsThePublishedExample(t *testing.T) {
	b := pldEpsilon(t, PLDConfig{}, 1e-5, sgd(0.01, 4, 10000))
	assert.Less(t, b.Lower, 0.946867)
	assert.Greater(t, b.Upper, 0.946866)
	fine := pldEpsilon(t, PLDConfig{Gap: 1e-5}, 1e-5, sgd(0.01, 4, 10000))
	assert.Less(t, fine.Upper-fine.Lower, 1e-5)
	assert.Less(t, fine.Lower, 0.9468668140171367)
	assert.Greater(t, fine.Upper, 0.9468667941317558)
	assert.True(t, fine.GapReached)
}

func drawPLDEvent(t *rapid.T) Event {
	f := func(name string, lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
	switch rapid.IntRange(0, 13).Draw(t, "kind") {
	case 0:
		return Gaussian{f("sigma", 0.5, 50)}
	case 1:
		return Laplace{f("b", 0.5, 50)}
	case 2:
		return RandomizedResponse{f("eps", 0, 2)}
	case 3:
		return PureDP{f("eps", 0, 2)}
	case 4:
		return ExponentialMechanism{f("eps", 0, 2)}
	case 5:
		return DiscreteGaussian{f("sigma", 0.5, 20), f("sensitivity", 0.5, 1.9)}
	case 6:
		return DiscreteLaplace{f("scale", 0.5, 20), rapid.Int64Range(1, 5).Draw(t, "s")}
	case 7:
		return GNMax{Sigma: f("sigma", 2, 100)}
	case 8:
		return Threshold{Sigma: f("sigma", 2, 100)}
	case 9:
		return LNMax{Scale: f("scale", 2, 100)}
	case 10:
		return MStab{f("eps", 0.1, 2), f("threshold", 5, 40)}
	case 11:
		return AboveThreshold{f("e1", 0.1, 1), f("e2", 0.1, 1), rapid.Int64Range(1, 3).Draw(t, "answers")}
	case 12:
		return WithFailure{PureDP{f("eps", 0, 1)}, f("fail", 0, 1e-7)}
	}
	return PoissonSampled{f("q", 1e-4, 0.9), Gaussian{f("sigma", 0.6, 20)}}
}

func TestPLDProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cfg := PLDConfig{Relation: AddRemove, Gap: 0.02, MaxMemory: 4 << 20}
		a := newPLD(t, cfg)
		b := newPLD(t, cfg)
		r := newRDP(t, RDPConfig{Relation: AddRemove})
		for range rapid.IntRange(1, 3).Draw(t, "events") {
			e := drawPLDEvent(t)
			n := rapid.IntRange(1, 12).Draw(t, "count")
			require.NoError(t, a.Compose(Repeated{e, int64(n)}, 1))
			require.NoError(t, r.Compose(e, int64(n)))
			for range n {
				require.NoError(t, b.Compose(e, 1))
			}
		}
		delta := math.Pow(10, rapid.Float64Range(-12, -2).Draw(t, "log delta"))
		x := epsAt(t, a, delta)
		require.Equal(t, x, epsAt(t, b, delta), "Repeated(n) is n compositions")
		require.Equal(t, x, epsAt(t, a, delta), "asking changes nothing")
		require.LessOrEqual(t, x.Upper, epsAt(t, r, delta).Upper)
		require.LessOrEqual(t, 0.0, x.Lower)
		require.LessOrEqual(t, x.Lower, x.Upper)
		require.LessOrEqual(t, x.Floor, x.Upper)
		require.GreaterOrEqual(t, epsAt(t, a, delta/10).Upper, x.Floor, "less delta costs more")
		if !math.IsInf(x.Upper, 1) && rapid.Bool().Draw(t, "ask delta") {
			d := deltaAt(t, a, x.Upper)
			require.LessOrEqual(t, d.Lower, delta*(1+1e-9), "delta at the claim")
			require.LessOrEqual(t, d.Lower, d.Upper)
		}
	})
}

func TestPLDUnsupported(t *testing.T) {
	for name, e := range map[string]Event{
		"zcdp":                    ZCDP{0.1},
		"sampled twice":           PoissonSampled{0.1, PoissonSampled{0.1, Gaussian{1}}},
		"sampled mixture":         PoissonSampled{0.1, Composed{[]Event{Gaussian{1}, Laplace{2}}}},
		"selection":               Selection{1, 0.1, PureDP{1}},
		"group of a sample":       Group{2, PoissonSampled{0.1, Gaussian{1}}},
		"group of integer votes":  Group{2, GNMax{Sigma: 40, Discrete: true}},
		"wide discrete gaussian":  DiscreteGaussian{10, 2},
		"hidden in a composition": Composed{[]Event{Gaussian{1}, ZCDP{1}}},
		"never taken part in":     PoissonSampled{0, ZCDP{1}},
	} {
		p := newPLD(t, PLDConfig{})
		err := p.Compose(e, 1)
		if name == "never taken part in" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrUnsupportedEvent, name)
		assert.Zero(t, epsAt(t, p, 1e-5).Upper, "nothing was added")
	}
	p := newPLD(t, PLDConfig{Relation: ReplaceOne})
	require.ErrorIs(t, p.Compose(PoissonSampled{0.1, Gaussian{1}}, 1), ErrUnsupportedEvent)
	require.ErrorIs(t, p.Compose(PoissonSampled{1, Gaussian{1}}, 1), ErrUnsupportedEvent, "of everything, too: its noise is relative to one record's presence")
	for _, cfg := range []PLDConfig{{}, {Relation: AddRemove, Gap: -1}, {Relation: AddRemove, Gap: math.NaN()}, {Relation: AddRemove, MaxMemory: 7}} {
		_, err := NewPLD(cfg)
		require.Error(t, err)
	}
	q := newPLD(t, PLDConfig{})
	require.ErrorIs(t, q.Compose(Gaussian{-1}, 1), ErrInvalidEvent)
	require.Error(t, q.Compose(Gaussian{1}, -1))
	for _, x := range []float64{-1, math.NaN(), math.Inf(1)} {
		_, err := q.Epsilon(context.Background(), x)
		require.Error(t, err)
		_, err = q.Delta(context.Background(), x)
		require.Error(t, err)
	}
}

func TestPLDFailuresAndPureEvents(t *testing.T) {
	b := pldEpsilon(t, PLDConfig{}, 0, PureDP{0.25}, Laplace{2}, ExponentialMechanism{0.5})
	assert.InDelta(t, 1.25, b.Upper, 1e-12, "pure privacy adds up at delta 0")
	assert.InDelta(t, 1.0, b.Lower, 1e-12, "two candidates of the exponential mechanism lose half")
	assert.True(t, math.IsInf(pldEpsilon(t, PLDConfig{}, 0, Gaussian{1}).Lower, 1))
	assert.True(t, math.IsInf(pldEpsilon(t, PLDConfig{}, 1e-5, NonPrivate{}).Upper, 1))
	b = pldEpsilon(t, PLDConfig{}, 1e-5, WithFailure{Gaussian{1}, 1e-4})
	assert.True(t, math.IsInf(b.Upper, 1) && math.IsInf(b.Lower, 1), "more failure than delta")
	assert.Equal(t, 1e-4, math.Round(b.FailureDelta*1e12)/1e12)
	part := pldEpsilon(t, PLDConfig{}, 1e-5, WithFailure{Gaussian{1}, 4e-6})
	assert.InDelta(t, testkit.Must(GaussianEpsilon(1, 6e-6)), part.Upper, 1e-6)
	// One release by the exponential mechanism: delta <= (e^{eps/2}-1)^2/(e^eps-1) at 0.
	d := deltaAt(t, newPLD(t, PLDConfig{}, ExponentialMechanism{1}), 0)
	assert.InEpsilon(t, math.Tanh(0.25), d.Upper, 1e-3)
	assert.LessOrEqual(t, d.Lower, math.Tanh(0.25)*(1+1e-12))
	assert.GreaterOrEqual(t, d.Upper, math.Tanh(0.25))
	exp := pldEpsilon(t, PLDConfig{}, 1e-6, Repeated{ExponentialMechanism{0.1}, 100})
	assert.Less(t, exp.Upper, 0.62*pldEpsilon(t, PLDConfig{}, 1e-6, Repeated{PureDP{0.1}, 100}).Lower)
	g := pldEpsilon(t, PLDConfig{}, 1e-5, Repeated{GNMax{Sigma: 40}, 100})
	want := testkit.Must(GaussianEpsilon(40/math.Sqrt(200), 1e-5))
	assert.InDelta(t, want, g.Upper, 1e-9)
	assert.InDelta(t, want, g.Floor, 1e-9)
	assert.Less(t, g.Lower, 0.9*want)
	assert.Greater(t, g.Lower, 0.5*want)
}

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

func TestPLDIntervalsMeet(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(19, 9))
	for i := range 16 {
		if skipped(i, 5) {
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

func TestPLDGridsFollowRareLosses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		q, sigma, delta float64
		steps           int64
	}{{1.76e-7, 0.796, 4.86e-13, 16}, {1.41e-7, 1.005, 7.54e-13, 53}, {7.16e-7, 0.793, 1.06e-10, 41}, {1.77e-8, 0.501, 5.28e-14, 11},
		{1e-7, 0.5, 1e-7, 50}, {1e-7, 0.5, 1e-9, 50}, {1e-7, 0.7, 1e-10, 90}, {1.49e-7, 0.437, 4.13e-12, 14}} {
		b := pldEpsilon(t, PLDConfig{}, c.delta, sgd(c.q, c.sigma, c.steps))
		require.LessOrEqual(t, b.Points, 100_000, "%+v", c)
		require.LessOrEqual(t, b.Upper, 1.1*b.Lower, "%+v", c)
	}
}

func BenchmarkPLDEpsilon(b *testing.B) {
	var phases, separate []Event
	for i := range 100 {
		separate = append(separate, PoissonSampled{0.01, Gaussian{1}})
		phases = append(phases, sgd(0.01, 1+float64(i)/100, 10))
	}
	for _, c := range []struct {
		name   string
		gap    float64
		events []Event
	}{
		{"steps=1000", 1e-3, []Event{sgd(0.01, 1, 1000)}}, {"steps=10000", 1e-3, []Event{sgd(0.01, 1, 10000)}},
		{"steps=100000", 1e-3, []Event{sgd(0.01, 1, 100000)}}, {"steps=1000/gap=1e-05", 1e-5, []Event{sgd(0.01, 1, 1000)}},
		{"steps=10000/gap=1e-05", 1e-5, []Event{sgd(0.01, 1, 10000)}}, {"steps=100000/gap=1e-05", 1e-5, []Event{sgd(0.01, 1, 100000)}},
		{"steps=1e7/q=1e-4", 0, []Event{sgd(1e-4, 1, 1e7)}}, {"steps=1e7", 0, []Event{sgd(0.01, 1, 1e7)}},
		{"steps=1e9/q=1e-5", 0, []Event{sgd(1e-5, 1, 1e9)}}, {"steps=1e9/q=1e-6", 0, []Event{sgd(1e-6, 1, 1e9)}},
		{"separate=100", 0, separate}, {"phases=100", 0, phases},
	} {
		b.Run(c.name, func(b *testing.B) {
			var last Bound
			for b.Loop() {
				last = pldEpsilon(b, PLDConfig{Gap: c.gap}, 1e-5, c.events...)
			}
			b.ReportMetric(last.Upper-last.Lower, "width")
			b.ReportMetric(last.Upper, "epsilon")
		})
	}
}

func BenchmarkPLDCalibrate(b *testing.B) {
	var noise float64
	for b.Loop() {
		var err error
		noise, _, err = CalibrateNoise(context.Background(), PLDConfig{Relation: AddRemove}.NewAccount, Target{2, 1e-5},
			func(noise float64) (Event, error) { return sgd(0.01, noise, 1000), nil })
		require.NoError(b, err)
	}
	b.ReportMetric(noise, "noise")
}

func TestPLDExtremes(t *testing.T) {
	t.Parallel()
	for i, q := range []float64{1e-9, 0.01, 1 - 1e-9} {
		for j, sigma := range []float64{0.01, 1, 1e6} {
			for k, n := range []int64{1, 1e9} {
				if skipped(i+j+k, 2) {
					continue
				}
				p := newPLD(t, PLDConfig{MaxMemory: 1 << 20}, sgd(q, sigma, n))
				for _, delta := range []float64{0.5, 1e-5, 1e-300} {
					b := epsAt(t, p, delta)
					require.False(t, math.IsNaN(b.Lower) || math.IsNaN(b.Upper))
					require.LessOrEqual(t, b.Lower, b.Upper)
					require.LessOrEqual(t, 0.0, b.Lower)
					all := testkit.Must(GaussianEpsilon(sigma/math.Sqrt(float64(n)), delta))
					require.LessOrEqual(t, b.Lower, all*(1+1e-9)+1e-12, "sampling does not cost: q=%v sigma=%v n=%v delta=%v", q, sigma, n, delta)
					if q >= 1-1e-9 && b.GapReached {
						require.InDelta(t, all, b.Upper, 2e-3*math.Max(1, all))
					}
				}
			}
		}
	}
}

func TestPLDAbsurdParameters(t *testing.T) {
	t.Parallel()
	for i, e := range []Event{
		ExponentialMechanism{2e-162}, ExponentialMechanism{1e-320}, ExponentialMechanism{1e9}, PureDP{1e-320}, PureDP{1e300},
		Laplace{1e300}, Laplace{1e-9}, DiscreteLaplace{1e300, 3}, DiscreteLaplace{1e-9, 3}, DiscreteGaussian{1e-3, 1}, DiscreteGaussian{3e4, 1},
		PoissonSampled{1e-300, Gaussian{1}}, PoissonSampled{0.5, Gaussian{1e200}}, PoissonSampled{0.5, Gaussian{1e-200}},
		PoissonSampled{1 - 1e-16, Gaussian{1}}, KaryResponse{1e-320, 5}, KaryResponse{1e300, math.MaxInt64}, KaryResponse{1, 3},
		PoissonSampled{1e-300, PureDP{1}}, PoissonSampled{0.5, PureDP{1e-320}}, PoissonSampled{0.5, PureDP{1e300}}, PoissonSampled{1 - 1e-16, PureDP{40}},
		GNMax{Sigma: 1e-3, Discrete: true}, Threshold{Sigma: 3e4, Discrete: true}, LNMax{Scale: 1e300, Discrete: true}, LNMax{Scale: 1e-300},
	} {
		for j, n := range []int64{1, 1000} {
			if skipped(i+j, 3) {
				continue
			}
			relation := AddRemove
			if _, ok := e.(KaryResponse); ok {
				relation = ReplaceOne
			}
			p := newPLD(t, PLDConfig{Relation: relation, MaxMemory: 8 << 20}, Repeated{e, n})
			b := epsAt(t, p, 0.01)
			require.True(t, 0 <= b.Lower && b.Lower <= b.Upper, "%T%v: %v", e, e, b)
			d := deltaAt(t, p, 0.01)
			require.True(t, 0 <= d.Lower && d.Lower <= d.Upper && d.Upper <= 1, "%T%v: %v", e, e, d)
		}
	}
}

func TestPLDStopsWithItsContext(t *testing.T) {
	p := newPLD(t, PLDConfig{Gap: 1e-5}, sgd(0.01, 1, 1e6))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Epsilon(ctx, 1e-5)
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Delta(ctx, 1)
	require.ErrorIs(t, err, context.Canceled)
	assert.Positive(t, epsAt(t, p, 1e-5).Upper)
}

func TestPLDOfLossesTooSmallToTellApart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name   string
		events []Event
		delta  float64
	}{
		{"sampled, next to no loss", []Event{PoissonSampled{0.01, Gaussian{1e20}}}, 5e-324},
		{"sampled, no loss in a float64", []Event{PoissonSampled{5e-324, Laplace{1}}}, 5e-324},
		{"beside a large loss", []Event{sgd(1e-5, 1e9, 100), ExponentialMechanism{3.7}}, 1e-5},
		{"a bin of a million", []Event{BallsInBins{1e6, 1, Gaussian{1e12}}}, 1e-5},
		{"a bin of many", []Event{BallsInBins{1 << 53, math.MaxInt64, Gaussian{1e100}}}, 1e-5},
		{"some steps of many", []Event{RandomAllocation{3, 1e6, Gaussian{1e16}}}, 1e-5},
		{"odds beyond a float64", []Event{LNMax{Scale: 1e-310}}, 1e-5},
	} {
		p := newPLD(t, PLDConfig{MaxMemory: 8 << 20}, x.events...)
		b := epsAt(t, p, x.delta)
		require.GreaterOrEqual(t, b.Lower, 0.0, x.name)
		require.LessOrEqual(t, b.Lower, b.Upper, x.name)
		if math.IsInf(b.Upper, 1) {
			continue
		}
		d := deltaAt(t, p, b.Upper)
		require.LessOrEqual(t, d.Lower, x.delta, x.name)
		require.LessOrEqual(t, d.Lower, d.Upper, x.name)
	}
}

func TestAllocationOfTooMuchNoise(t *testing.T) {
	t.Parallel()
	const steps = 1 << 30
	delta := func(sigma float64) Bound { // at epsilon 0
		return deltaAt(t, newPLD(t, PLDConfig{}, BallsInBins{steps, 1, Gaussian{sigma}}), 0)
	}
	most := math.Sqrt(1 << 72 / float64(steps)) // that is accounted
	at, beyond := delta(most), delta(1000*most)
	require.Positive(t, at.Lower)
	require.Zero(t, beyond.Lower, "the noise that is there costs less")
	require.InEpsilon(t, at.Upper, beyond.Upper, 1e-3)
}
