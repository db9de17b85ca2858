package accountant

import (
	"context"
	"math"
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

// TestPLDProperties: below RDP, lower below upper, monotone in delta and in the events, Repeated(n)
// equal to n single compositions.
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
		y := epsAt(t, b, delta)
		require.Equal(t, x, y, "Repeated(n) is n compositions")
		again := epsAt(t, a, delta)
		require.Equal(t, x, again, "asking changes nothing")
		rb := epsAt(t, r, delta)
		require.LessOrEqual(t, x.Upper, rb.Upper)
		require.LessOrEqual(t, 0.0, x.Lower)
		require.LessOrEqual(t, x.Lower, x.Upper)
		require.LessOrEqual(t, x.Floor, x.Upper)
		smaller := epsAt(t, a, delta/10)
		require.GreaterOrEqual(t, smaller.Upper, x.Floor, "less delta costs more")
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
		b := epsAt(t, p, 1e-5)
		assert.Zero(t, b.Upper, "nothing was added")
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
	whole := testkit.Must(GaussianEpsilon(1, 6e-6))
	assert.InDelta(t, whole, part.Upper, 1e-6)
	// One release by the exponential mechanism: delta <= (e^{eps/2}-1)^2/(e^eps-1) at 0.
	p := newPLD(t, PLDConfig{}, ExponentialMechanism{1})
	d := deltaAt(t, p, 0)
	assert.InEpsilon(t, math.Tanh(0.25), d.Upper, 1e-3)
	assert.LessOrEqual(t, d.Lower, math.Tanh(0.25)*(1+1e-12))
	assert.GreaterOrEqual(t, d.Upper, math.Tanh(0.25))
	// A repeated one is cheaper than pure privacy says.
	exp := pldEpsilon(t, PLDConfig{}, 1e-6, Repeated{ExponentialMechanism{0.1}, 100})
	pure := pldEpsilon(t, PLDConfig{}, 1e-6, Repeated{PureDP{0.1}, 100})
	assert.Less(t, exp.Upper, 0.62*pure.Lower)
	// GNMax: the claim is the Gaussian's, the lower bound is honest.
	g := pldEpsilon(t, PLDConfig{}, 1e-5, Repeated{GNMax{Sigma: 40}, 100})
	want := testkit.Must(GaussianEpsilon(40/math.Sqrt(200), 1e-5))
	assert.InDelta(t, want, g.Upper, 1e-9)
	assert.InDelta(t, want, g.Floor, 1e-9)
	assert.Less(t, g.Lower, 0.9*want)
	assert.Greater(t, g.Lower, 0.5*want)
}
