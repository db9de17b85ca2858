package accountant

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func logUniform(lo, hi float64) *rapid.Generator[float64] {
	return rapid.Custom(func(t *rapid.T) float64 {
		return math.Exp(rapid.Float64Range(math.Log(lo), math.Log(hi)).Draw(t, "log"))
	})
}

func leaves() *rapid.Generator[Event] {
	return rapid.Custom(func(t *rapid.T) Event {
		x := logUniform(0.05, 500).Draw(t, "x")
		y := logUniform(0.05, 50).Draw(t, "y")
		n := rapid.Int64Range(1, 50).Draw(t, "n")
		q := logUniform(1e-5, 1).Draw(t, "q")
		return rapid.SampledFrom([]Event{
			Gaussian{x}, Laplace{x}, DiscreteGaussian{x, y}, DiscreteLaplace{x, n}, ExponentialMechanism{1 / x},
			PureDP{1 / x}, RandomizedResponse{1 / x}, ZCDP{1 / x}, GNMax{Sigma: x}, Threshold{Sigma: x}, LNMax{Scale: x},
			MStab{1 / y, 60 * y}, AboveThreshold{1 / x, 1 / y, n}, StableSVT{x, y, 40 * n, n},
			PoissonSampled{q, Gaussian{x}}, GNSS{1 / y, x, 1 / x}, NonPrivate{},
		}).Draw(t, "leaf")
	})
}

func trees(depth int) *rapid.Generator[Event] {
	if depth == 0 {
		return leaves()
	}
	return rapid.Custom(func(t *rapid.T) Event {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return Composed{rapid.SliceOfN(trees(depth-1), 0, 3).Draw(t, "events")}
		case 1:
			return Repeated{trees(depth-1).Draw(t, "event"), rapid.Int64Range(0, 1000).Draw(t, "count")}
		case 2:
			return WithFailure{trees(depth-1).Draw(t, "event"), logUniform(1e-12, 1e-3).Draw(t, "delta")}
		case 3:
			return PoissonSampled{rapid.SampledFrom([]float64{0, 1}).Draw(t, "all or none"), trees(depth-1).Draw(t, "event")}
		}
		return leaves().Draw(t, "leaf")
	})
}

// Refinement stops at different points, so comparisons allow its tolerance.
const refineSlack = 1 + 1e-8

func TestMonotone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := logUniform(1e-6, 1).Draw(t, "q")
		sigma := logUniform(0.05, 100).Draw(t, "sigma")
		steps := rapid.Int64Range(1, 1_000_000).Draw(t, "steps")
		delta := logUniform(1e-15, 0.1).Draw(t, "delta")
		more := rapid.Float64Range(1, 3).Draw(t, "more")
		eps := func(q, sigma float64, steps int64, delta float64) float64 {
			return epsilonOf(t, RDPConfig{}, delta, sgd(q, sigma, steps)).Upper
		}
		base := eps(q, sigma, steps, delta)
		assert.LessOrEqual(t, base, eps(math.Min(1, q*more), sigma, steps, delta)*refineSlack, "q")
		assert.LessOrEqual(t, base, eps(q, sigma, int64(float64(steps)*more)+1, delta)*refineSlack, "steps")
		assert.LessOrEqual(t, eps(q, sigma*more, steps, delta), base*refineSlack, "sigma")
		assert.LessOrEqual(t, eps(q, sigma, steps, math.Min(0.5, delta*more)), base*refineSlack, "delta")
	})
}

func TestDeltaInvertsEpsilon(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRDP(t, RDPConfig{Orders: DefaultOrders()}, trees(2).Draw(t, "event"))
		delta := logUniform(1e-12, 0.1).Draw(t, "delta")
		b := epsAt(t, r, delta)
		if math.IsInf(b.Upper, 1) {
			return
		}
		assert.LessOrEqual(t, deltaAt(t, r, b.Upper).Upper, delta*(1+1e-6))
		require.NoError(t, r.Compose(leaves().Draw(t, "another"), 1))
		assert.LessOrEqual(t, b.Upper, epsAt(t, r, delta).Upper)
	})
}

func TestEveryCurveGrowsWithItsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values, _, err := newRDP(t, RDPConfig{}, leaves().Draw(t, "leaf")).RDP(DefaultOrders())
		require.NoError(t, err)
		for i, v := range values {
			require.False(t, math.IsNaN(v) || v < 0)
			if i > 0 {
				require.GreaterOrEqual(t, v*(1+1e-9), values[i-1], "order %v", DefaultOrders()[i])
			}
		}
	})
}

func TestQuadratureAgainstBinomialSum(t *testing.T) {
	worst := 0.0
	for _, q := range []float64{1e-7, 1e-4, 0.004, 0.05, 0.3, 0.9, 0.999} {
		for _, sigma := range []float64{0.04, 0.06, 0.1, 0.17, 0.3, 0.5, 0.8, 1.2, 2, 4, 10, 60, 1000} {
			g := newSampledGaussian(q, sigma)
			for _, n := range []int{2, 3, 5, 9, 17, 40, 64, 91, 150, 256, 400, 700, 1000} {
				want, got := g.binomial(n), g.quadrature(float64(n))
				e := relErr(got, want)
				worst = math.Max(worst, e)
				require.LessOrEqual(t, e, 1e-11, "q=%v sigma=%v order=%d: %v, want %v", q, sigma, n, got, want)
			}
		}
	}
	t.Logf("worst relative error %.2g", worst)
}

func TestSubnormalDelta(t *testing.T) {
	account := newRDP(t, RDPConfig{Relation: AddRemove}, Gaussian{1})
	last := 0.0
	for _, delta := range []float64{1e-300, 1e-307, 1e-310, 1e-320, 5e-324} {
		b := epsAt(t, account, delta)
		require.Greater(t, b.Upper, last*(1+1e-4), "delta %v", delta)
		last = b.Upper
	}
}

func oneOfEach() []Event {
	return []Event{
		Gaussian{3}, Laplace{8}, DiscreteGaussian{20, 2}, DiscreteLaplace{9, 2}, ExponentialMechanism{0.2}, PureDP{0.1},
		RandomizedResponse{0.3}, KaryResponse{0.4, 5}, ZCDP{0.01}, GNMax{Sigma: 40}, Threshold{Sigma: 100}, LNMax{Scale: 30}, MStab{0.5, 60},
		AboveThreshold{0.2, 0.3, 1}, AboveThreshold{0.2, 0.3, 4}, StableSVT{20, 400, 900, 20},
		PoissonSampled{0.01, Gaussian{2}}, PoissonSampled{0.1, PureDP{0.3}}, PoissonSampled{0.1, WithFailure{PureDP{0.3}, 1e-9}},
		PoissonSampled{0, Gaussian{2}}, PoissonSampled{1, Repeated{GNMax{Sigma: 50}, 2}},
		SampledWithoutReplacement{10, 1000, Gaussian{2}}, SampledWithoutReplacement{10, 1000, Laplace{2}},
		SampledWithoutReplacement{0, 10, PureDP{1}}, SampledWithoutReplacement{10, 10, Composed{[]Event{PureDP{0.1}}}},
		TruncatedPoisson{0.01, 200, 10000, Gaussian{2}}, TruncatedPoisson{0.01, 200, 10000, PureDP{0.2}},
		Selection{1, 0.1, PureDP{0.05}}, Selection{0, 0.1, Repeated{PoissonSampled{0.01, Gaussian{4}}, 30}},
		Selection{0.5, 0.1, Composed{[]Event{Gaussian{30}, Laplace{30}}}}, PoissonSelection{3, Gaussian{20}},
		Group{3, Composed{[]Event{GNMax{Sigma: 100}, MStab{0.1, 300}}}}, Group{2, PoissonSampled{0.01, Gaussian{4}}},
		Composed{[]Event{PureDP{0.1}, GNMax{Sigma: 50}}}, Composed{}, Repeated{LNMax{Scale: 60}, 3}, WithFailure{Gaussian{5}, 1e-8},
		WithFailure{LNMax{Scale: 60}, 1e-8}, NonPrivate{},
	}
}

func TestRepeatedIsManyComposesEverywhere(t *testing.T) {
	t.Parallel()
	const n = 3
	held := map[string]int{}
	for _, rel := range []Relation{AddRemove, ReplaceOne} {
		for i, e := range oneOfEach() {
			if skipped(i+int(rel), 4) {
				continue
			}
			single, counted, repeated := newAccounts(t, rel), newAccounts(t, rel), newAccounts(t, rel)
			for name, a := range single {
				if err := a.Compose(e, 1); err != nil {
					var unsupported *UnsupportedEventError
					require.True(t, errors.As(err, &unsupported), "%s, %#v: %v", name, e, err)
					require.NotEmpty(t, unsupported.Reason)
					require.Zero(t, epsAt(t, a, 1e-5).Upper)
					continue
				}
				epsAt(t, a, 1e-5)
				for range n - 1 {
					require.NoError(t, a.Compose(e, 1))
				}
				require.NoError(t, counted[name].Compose(e, n))
				require.NoError(t, repeated[name].Compose(Repeated{e, n}, 1))
				for _, delta := range []float64{0, 1e-5} {
					want := epsAt(t, a, delta)
					require.False(t, math.IsNaN(want.Upper) || want.Upper < 0, "%s %#v", name, e)
					for _, other := range []Accountant{counted[name], repeated[name]} {
						require.Equal(t, want, epsAt(t, other, delta), "%s %#v at %v", name, e, delta)
					}
				}
				held[name]++
			}
		}
	}
	t.Logf("events held, over both relations, of %d: %v", 2*len(oneOfEach()), held)
}

func TestInvalidEvents(t *testing.T) {
	for _, bad := range []Event{
		KaryResponse{1, 1}, KaryResponse{-1, 3}, SampledWithoutReplacement{5, 4, PureDP{1}}, SampledWithoutReplacement{-1, 4, PureDP{1}},
		TruncatedPoisson{2, 1, 1, PureDP{1}}, TruncatedPoisson{0.1, 0, 1, PureDP{1}}, TruncatedPoisson{0.1, 1, 0, PureDP{1}},
		Selection{-1, 0.1, PureDP{1}}, Selection{1, 0, PureDP{1}}, Selection{1, 1, PureDP{1}}, Selection{1, 0.5, nil},
		PoissonSelection{0, PureDP{1}}, PoissonSelection{math.Inf(1), PureDP{1}}, Group{0, PureDP{1}}, Group{2, PureDP{-1}},
	} {
		assert.ErrorIs(t, Validate(bad), ErrInvalidEvent, "%#v", bad)
	}
}

func BenchmarkRunLength(b *testing.B) {
	step := PoissonSampled{0.01, Gaussian{1}}
	for _, name := range []string{"rdp", "basic", "advanced", "optimal", "moments"} {
		for form, compose := range map[string]func(a Accountant) error{
			"100000-composes": func(a Accountant) error {
				for range 100_000 {
					if err := a.Compose(step, 1); err != nil {
						return err
					}
				}
				return nil
			},
			"one-repeated": func(a Accountant) error { return a.Compose(Repeated{step, 100_000}, 1) },
		} {
			a := newAccounts(b, AddRemove)[name]
			require.NoError(b, compose(a))
			b.Run(name+"/"+form, func(b *testing.B) {
				for b.Loop() {
					if _, err := a.Epsilon(context.Background(), 1e-5); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// One step at a time, then the question: 100 of them in well under 100 ms.
func BenchmarkOneStepComposes(b *testing.B) {
	for b.Loop() {
		a := testkit.Must(NewRDP(RDPConfig{Relation: AddRemove}))
		for range 100 {
			_ = a.Compose(PoissonSampled{0.01, Gaussian{1}}, 1)
		}
		if _, err := a.Epsilon(context.Background(), 1e-5); err != nil {
			b.Fatal(err)
		}
	}
}

const everyEvent = `{"relation":"add_remove","events":[
  {"type":"repeated","count":10000,"event":{"type":"poisson_sampled","probability":0.01,"event":{"type":"gaussian","noise_multiplier":4}}},
  {"type":"repeated","count":500,"event":{"type":"gnmax","sigma":40}},
  {"type":"lnmax","scale":20},
  {"type":"threshold","sigma":150},
  {"type":"laplace","noise_multiplier":10},
  {"type":"discrete_gaussian","sigma":40,"sensitivity":1},
  {"type":"discrete_laplace","scale":20,"sensitivity":1},
  {"type":"exponential","epsilon":0.1},
  {"type":"pure","epsilon":0.1},
  {"type":"randomized_response","epsilon":1},
  {"type":"m_stab","epsilon":0.5,"threshold":23.03},
  {"type":"above_threshold","epsilon1":0.5,"epsilon2":0.5,"answers":1},
  {"type":"stable_svt","b1":20,"b2":400,"threshold":300,"failures":20},
  {"type":"with_failure","delta":1e-9,"event":{"type":"pure","epsilon":0.1}},
  {"type":"zcdp","rho":0.01},
  {"type":"composed","events":[{"type":"gnmax","sigma":40},{"type":"non_private"}]}
]}`

func TestParseEveryEvent(t *testing.T) {
	s := testkit.Must(ParseSchedule([]byte(everyEvent)))
	assert.Equal(t, AddRemove, s.Relation)
	require.Len(t, s.Events, 16)
	assert.Equal(t, sgd(0.01, 4, 10000), s.Events[0])
	assert.Equal(t, StableSVT{20, 400, 300, 20}, s.Events[12])
	assert.Equal(t, Composed{[]Event{GNMax{Sigma: 40}, NonPrivate{}}}, s.Events[15])
	for _, e := range s.Events { // each can be accounted
		require.NoError(t, newRDP(t, RDPConfig{}).Compose(e, 1))
	}
	assert.Equal(t, s, testkit.Must(ParseSchedule(testkit.Must(json.Marshal(s)))))
}

func TestStrictJSON(t *testing.T) {
	for name, doc := range map[string]string{
		"unknown type":         `{"type":"shuffled","sigma":1}`,
		"no type":              `{"sigma":1}`,
		"unknown field":        `{"type":"gnmax","sigma":1,"sigma2":1}`,
		"missing field":        `{"type":"gnmax"}`,
		"field twice":          `{"type":"gnmax","sigma":1,"sigma":100}`,
		"wrong case":           `{"type":"gnmax","Sigma":1}`,
		"number as string":     `{"type":"gnmax","sigma":"1"}`,
		"null":                 `{"type":"gnmax","sigma":null}`,
		"not a number":         `{"type":"gnmax","sigma":NaN}`,
		"overflow":             `{"type":"gnmax","sigma":1e999}`,
		"fractional count":     `{"type":"repeated","count":1.5,"event":{"type":"non_private"}}`,
		"huge count":           `{"type":"repeated","count":99999999999999999999,"event":{"type":"non_private"}}`,
		"events not a list":    `{"type":"composed","events":null}`,
		"event null":           `{"type":"repeated","count":1,"event":null}`,
		"trailing text":        `{"type":"non_private"} {}`,
		"not an object":        `[]`,
		"empty":                ``,
		"cut":                  `{"type":"gnmax","sigma":1`,
		"too deep":             strings.Repeat(`{"type":"repeated","count":1,"event":`, 70) + `{"type":"non_private"}` + strings.Repeat("}", 70),
		"too large":            `{"type":"gnmax","sigma":1` + strings.Repeat(" ", maxJSON) + `}`,
		"type is not a string": `{"type":1}`,
	} {
		_, err := UnmarshalEvent([]byte(doc))
		assert.ErrorIs(t, err, ErrBadJSON, name)
	}
	for name, doc := range map[string]string{
		"sigma 0":       `{"type":"gnmax","sigma":0}`,
		"probability 2": `{"type":"poisson_sampled","probability":2,"event":{"type":"gaussian","noise_multiplier":1}}`,
		"delta 1":       `{"type":"with_failure","delta":1,"event":{"type":"non_private"}}`,
		"negative":      `{"type":"repeated","count":-1,"event":{"type":"non_private"}}`,
		"inner":         `{"type":"composed","events":[{"type":"lnmax","scale":-1}]}`,
		"no answers":    `{"type":"above_threshold","epsilon1":1,"epsilon2":1,"answers":0}`,
	} {
		_, err := UnmarshalEvent([]byte(doc))
		assert.ErrorIs(t, err, ErrInvalidEvent, name)
	}
	for name, doc := range map[string]string{
		"no relation":    `{"events":[]}`,
		"other relation": `{"relation":"substitute","events":[]}`,
		"other schema":   `{"schema":"pate.events/2","relation":"add_remove","events":[]}`,
		"no events":      `{"relation":"add_remove"}`,
		"unknown field":  `{"relation":"add_remove","events":[],"delta":1}`,
	} {
		_, err := ParseSchedule([]byte(doc))
		assert.ErrorIs(t, err, ErrBadJSON, name)
	}
}

func FuzzParseSchedule(f *testing.F) {
	f.Add([]byte(everyEvent))
	f.Add([]byte(`{"schema":"pate.events/1","relation":"replace_one","events":[]}`))
	f.Add(testkit.Must(os.ReadFile("testdata/README.md")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSchedule(data)
		if err != nil {
			return
		}
		require.Equal(t, s, testkit.Must(ParseSchedule(testkit.Must(json.Marshal(s)))))
		for _, e := range s.Events {
			require.NoError(t, Validate(e))
		}
	})
}
