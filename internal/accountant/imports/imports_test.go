package imports

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// everyClass was printed by dp_accounting 0.6.0, but for the classes that came after it.
const everyClass = `ComposedDpEvent(events=[SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(noise_multiplier=1.0)), count=1000), LaplaceDpEvent(noise_multiplier=2.0), NoOpDpEvent(), ZCDpEvent(rho=0.5, xi=0.0), DiscreteLaplaceDpEvent(noise_parameter=0.5, sensitivity=1), DiscreteGaussianDpEvent(sigma=10.0, sensitivity=1.0, dimension=None), EpsilonDeltaDpEvent(epsilon=0.5, delta=1e-06), ExponentialMechanismDpEvent(epsilon=0.1)])`

func dpAccounting(text string) (accountant.Schedule, error) {
	return DPAccounting(strings.NewReader(text))
}

func opacus(text string) (accountant.Schedule, error) { return Opacus(strings.NewReader(text)) }

func TestSameNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		read func(string) (accountant.Schedule, error)
		text string
		json string
	}{
		"every class under add_remove": {dpAccounting, everyClass, `{"relation":"add_remove","events":[
			{"type":"repeated","count":1000,"event":{"type":"poisson_sampled","probability":0.01,"event":{"type":"gaussian","noise_multiplier":1}}},
			{"type":"laplace","noise_multiplier":2},{"type":"composed","events":[]},{"type":"zcdp","rho":0.5},
			{"type":"discrete_laplace","scale":2,"sensitivity":1},{"type":"discrete_gaussian","sigma":10,"sensitivity":1},
			{"type":"with_failure","delta":1e-6,"event":{"type":"pure","epsilon":0.5}},{"type":"exponential","epsilon":0.1}]}`},
		"under replace_one": {dpAccounting,
			`(SampledWithoutReplacementDpEvent(event=ZCDpEvent(rho=0.5), sample_size=100, source_dataset_size=10000), DiscreteGaussianDpEvent(sigma=4, dimension=3),)`,
			`{"relation":"replace_one","events":[{"type":"sampled_without_replacement","size":100,"population":10000,"event":{"type":"zcdp","rho":0.5}},
			{"type":"discrete_gaussian","sigma":4,"sensitivity":1}]}`},
		"modules, numpy, any order, commas": {dpAccounting,
			"dp_accounting.SelfComposedDpEvent(\n count=500.0, event=dp_accounting.dp_event.GaussianDpEvent(noise_multiplier=np.float64(40.0)),)",
			`{"relation":"add_remove","events":[{"type":"repeated","count":500,"event":{"type":"gaussian","noise_multiplier":40}}]}`},
		"without noise": {dpAccounting, "[NonPrivateDpEvent(), GaussianDpEvent(noise_multiplier=0), LaplaceDpEvent(noise_multiplier=0.0), EpsilonDeltaDpEvent(epsilon=inf, delta=0.0), EpsilonDeltaDpEvent(epsilon=1, delta=1)]",
			`{"relation":"add_remove","events":[{"type":"non_private"},{"type":"non_private"},{"type":"non_private"},{"type":"non_private"},{"type":"non_private"}]}`},
		"pure": {dpAccounting, "EpsilonDeltaDpEvent(epsilon=0.25, delta=0)", `{"relation":"add_remove","events":[{"type":"pure","epsilon":0.25}]}`},
		"responses without choice or truth": {dpAccounting,
			"[RandomizedResponseDpEvent(noise_parameter=0.0, num_buckets=1), RandomizedResponseDpEvent(noise_parameter=1.0, num_buckets=3), RandomizedResponseDpEvent(noise_parameter=0.0, num_buckets=2)]",
			`{"relation":"replace_one","events":[{"type":"composed","events":[]},{"type":"k_randomized_response","epsilon":0,"categories":3},{"type":"non_private"}]}`},
		"history": {opacus, "[(1.1, 0.004, 14062), (np.float64(0.9), 0.004, 100)]",
			`{"relation":"add_remove","events":[{"type":"repeated","count":14062,"event":{"type":"poisson_sampled","probability":0.004,"event":{"type":"gaussian","noise_multiplier":1.1}}},
			{"type":"repeated","count":100,"event":{"type":"poisson_sampled","probability":0.004,"event":{"type":"gaussian","noise_multiplier":0.9}}}]}`},
		"history in JSON": {opacus, "[[1.1, 4e-3, 14062]]\n",
			`{"relation":"add_remove","events":[{"type":"repeated","count":14062,"event":{"type":"poisson_sampled","probability":0.004,"event":{"type":"gaussian","noise_multiplier":1.1}}}]}`},
		"nothing": {opacus, "[]", `{"relation":"add_remove","events":[]}`},
	} {
		got := testkit.Must(c.read(c.text))
		want := testkit.Must(accountant.ParseSchedule([]byte(c.json)))
		require.Equal(t, want, got, name)
		g, w := epsilon(t, got), epsilon(t, want)
		assert.Equal(t, w, g, name)
	}
}

func epsilon(t *testing.T, s accountant.Schedule) accountant.Bound {
	a := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: s.Relation}))
	for _, e := range s.Events {
		require.NoError(t, a.Compose(e, 1))
	}
	return testkit.Must(a.Epsilon(context.Background(), 1e-5))
}

func TestResponseIsNotCheaperThanItsLaw(t *testing.T) {
	for _, k := range []int64{2, 3, 4, 1000, 1 << 40} {
		for _, p := range []float64{math.SmallestNonzeroFloat64, 1e-300, 1e-9, 0.1, 0.25, 0.5, 0.9, 1 - 1e-16} {
			s := testkit.Must(dpAccounting(fmt.Sprintf("RandomizedResponseDpEvent(noise_parameter=%v, num_buckets=%d)", p, k)))
			require.Equal(t, accountant.ReplaceOne, s.Relation)
			e := s.Events[0].(accountant.KaryResponse)
			require.Equal(t, k, e.Categories)
			// the ratio of the true answer to another, exactly
			q := new(big.Rat).SetFloat64(p)
			other := new(big.Rat).Quo(q, new(big.Rat).SetInt64(k))
			truth := new(big.Rat).Add(new(big.Rat).Sub(big.NewRat(1, 1), q), other)
			want := logRat(new(big.Rat).Quo(truth, other))
			assert.GreaterOrEqual(t, e.Epsilon, want*(1-3e-16), "%v %v", p, k)
			assert.InEpsilon(t, want, e.Epsilon, 1e-14, "%v %v", p, k)
		}
	}
	s := testkit.Must(dpAccounting("RandomizedResponseDpEvent(noise_parameter=0.25, num_buckets=4)"))
	assert.InEpsilon(t, math.Log(13), s.Events[0].(accountant.KaryResponse).Epsilon, 1e-14)
}

func logRat(r *big.Rat) float64 {
	excess := new(big.Rat).Sub(r, big.NewRat(1, 1))
	if x, _ := excess.Float64(); !math.IsInf(x, 0) {
		return math.Log1p(x)
	}
	f := new(big.Float).SetRat(r)
	mantissa := new(big.Float)
	exp := f.MantExp(mantissa)
	m, _ := mantissa.Float64()
	return math.Log(m) + float64(exp)*math.Ln2
}

func TestDiscreteLaplaceScaleIsRoundedDown(t *testing.T) {
	for _, a := range []float64{0.1, 0.3, 0.7, 3, 49, 1e-9} {
		s := testkit.Must(dpAccounting(fmt.Sprintf("DiscreteLaplaceDpEvent(noise_parameter=%v, sensitivity=1)", a)))
		scale := s.Events[0].(accountant.DiscreteLaplace).Scale
		product := new(big.Rat).Mul(new(big.Rat).SetFloat64(scale), new(big.Rat).SetFloat64(a))
		assert.LessOrEqual(t, product.Cmp(big.NewRat(1, 1)), 0, "%v", a)
		assert.InEpsilon(t, 1/a, scale, 1e-15)
	}
}

func TestUnsupported(t *testing.T) {
	for text, class := range map[string]string{
		"UnsupportedDpEvent()": "UnsupportedDpEvent",
		"SampledWithReplacementDpEvent(source_dataset_size=10, sample_size=2, event=NoOpDpEvent())": "SampledWithReplacementDpEvent",
		"SingleEpochTreeAggregationDpEvent(noise_multiplier=1.0, step_counts=[1, 2])":               "SingleEpochTreeAggregationDpEvent",
		"RepeatAndSelectDpEvent(event=NoOpDpEvent(), mean=10, shape=inf)":                           "RepeatAndSelectDpEvent",
		"MixtureOfGaussiansDpEvent(standard_deviation=1, sensitivities=(1,), sampling_probs=(1,))":  "MixtureOfGaussiansDpEvent",
		"PermuteAndFlipDpEvent(epsilon=1)":                                                          "PermuteAndFlipDpEvent",
		"TruncatedSubsampledGaussianDpEvent(dataset_size=9, noise_multiplier=1)":                    "TruncatedSubsampledGaussianDpEvent",
		"ZCDpEvent(rho=0.5, xi=0.1)":                                                                "ZCDpEvent",
		"mine.ShuffledDpEvent(n=3)":                                                                 "ShuffledDpEvent",
		"SelfComposedDpEvent(event=[ShuffledDpEvent()][0], count=2)":                                "",
		"SelfComposedDpEvent(event=ShuffledDpEvent(), count=2)":                                     "ShuffledDpEvent",
		// noise relative to the clipping norm, where a record is replaced
		"SampledWithoutReplacementDpEvent(source_dataset_size=10, sample_size=2, event=GaussianDpEvent(noise_multiplier=1))":                                          "GaussianDpEvent",
		"[RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2), LaplaceDpEvent(noise_multiplier=1)]":                                                         "LaplaceDpEvent",
		"[DiscreteLaplaceDpEvent(noise_parameter=1, sensitivity=1), RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2)]":                                   "DiscreteLaplaceDpEvent",
		"[RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2), PoissonSampledDpEvent(sampling_probability=0.1, event=ZCDpEvent(rho=1))]":                    "PoissonSampledDpEvent",
		"[RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=2), PoissonSampledDpEvent(event=GaussianDpEvent(noise_multiplier=1), sampling_probability=0.1)]": "GaussianDpEvent",
	} {
		s, err := dpAccounting(text)
		require.Zero(t, s, text)
		if class == "" {
			require.ErrorIs(t, err, ErrSyntax, text)
			continue
		}
		require.ErrorIs(t, err, accountant.ErrUnsupportedEvent, text)
		var unsupported *UnsupportedError
		require.ErrorAs(t, err, &unsupported)
		assert.Equal(t, class, unsupported.Class, text)
		assert.NotEmpty(t, unsupported.Reason)
	}
}

func TestBadText(t *testing.T) {
	deep := strings.Repeat("ComposedDpEvent(events=[", 150) + "NoOpDpEvent()" + strings.Repeat("])", 150)
	for text, want := range map[string]error{
		"":                            ErrSyntax,
		"3":                           ErrSyntax,
		"None":                        ErrSyntax,
		"[1]":                         ErrSyntax,
		"NoOpDpEvent":                 ErrSyntax,
		"NoOpDpEvent(":                ErrSyntax,
		"NoOpDpEvent() NoOpDpEvent()": ErrSyntax,
		"NoOpDpEvent()\x00":           ErrSyntax,
		"NoOpDpEvent(extra=1)":        ErrSyntax,
		"(NoOpDpEvent())":             ErrSyntax,
		"GaussianDpEvent()":           ErrSyntax,
		"GaussianDpEvent(1.0)":        ErrSyntax,
		"GaussianDpEvent(noise_multiplier=1, noise_multiplier=2)":              ErrSyntax,
		"GaussianDpEvent(noise_multiplier=nan)":                                ErrSyntax,
		"GaussianDpEvent(noise_multiplier=-nan)":                               ErrSyntax,
		"GaussianDpEvent(noise_multiplier=1e999)":                              ErrSyntax,
		"GaussianDpEvent(noise_multiplier=0x1p2)":                              ErrSyntax,
		"GaussianDpEvent(noise_multiplier=1_0)":                                ErrSyntax,
		"GaussianDpEvent(noise_multiplier=True)":                               ErrSyntax,
		"GaussianDpEvent(noise_multiplier='1')":                                ErrSyntax,
		"GaussianDpEvent(noise_multiplier=np.float16(1))":                      ErrSyntax,
		"GaussianDpEvent(noise_multiplier=inf)":                                accountant.ErrInvalidEvent,
		"GaussianDpEvent(noise_multiplier=-1)":                                 accountant.ErrInvalidEvent,
		"DiscreteLaplaceDpEvent(noise_parameter=0, sensitivity=1)":             accountant.ErrInvalidEvent,
		"DiscreteLaplaceDpEvent(noise_parameter=1, sensitivity=0)":             accountant.ErrInvalidEvent,
		"DiscreteLaplaceDpEvent(noise_parameter=1, sensitivity=1.5)":           ErrSyntax,
		"DiscreteGaussianDpEvent(sigma=1, dimension=0)":                        ErrSyntax,
		"EpsilonDeltaDpEvent(epsilon=1, delta=2)":                              accountant.ErrInvalidEvent,
		"EpsilonDeltaDpEvent(epsilon=-1, delta=1)":                             accountant.ErrInvalidEvent,
		"RandomizedResponseDpEvent(noise_parameter=1.5, num_buckets=2)":        ErrSyntax,
		"RandomizedResponseDpEvent(noise_parameter=0.5, num_buckets=0)":        ErrSyntax,
		"SelfComposedDpEvent(event=NoOpDpEvent(), count=-1)":                   accountant.ErrInvalidEvent,
		"SelfComposedDpEvent(event=NoOpDpEvent(), count=9223372036854775808)":  ErrSyntax,
		"SelfComposedDpEvent(event=NoOpDpEvent(), count=1.5)":                  ErrSyntax,
		"PoissonSampledDpEvent(event=NoOpDpEvent(), sampling_probability=1.1)": accountant.ErrInvalidEvent,
		"ComposedDpEvent(events=NoOpDpEvent())":                                ErrSyntax,
		deep:                                                                   ErrSyntax,
		deep[len("ComposedDpEvent(events=[")*70 : len(deep)-2*70]:              accountant.ErrInvalidEvent,
	} {
		s, err := dpAccounting(text)
		assert.ErrorIs(t, err, want, shorten(text))
		assert.Zero(t, s)
	}
	for text, want := range map[string]error{
		"":                        ErrSyntax,
		"{}":                      ErrSyntax,
		"(1.1, 0.004, 14062)":     ErrSyntax,
		"[(1.1, 0.004)]":          ErrSyntax,
		"[(1.1 0.004, 1)]":        ErrSyntax,
		"[(1.1, 0.004, 1.5)]":     ErrSyntax,
		"[(1.1, None, 1)]":        ErrSyntax,
		"[(NaN, 0.004, 1)]":       ErrSyntax,
		"[(nan, 0.004, 1)]":       ErrSyntax,
		"[(inf, 0.004, 1)]":       accountant.ErrInvalidEvent,
		"[(-1, 0.004, 1)]":        accountant.ErrInvalidEvent,
		"[(1, 1.004, 1)]":         accountant.ErrInvalidEvent,
		"[(1, 0.004, -1)]":        accountant.ErrInvalidEvent,
		strings.Repeat("[", 1000): ErrSyntax,
		"[" + strings.Repeat("1,", maxValues) + "]": ErrSyntax,
		strings.Repeat(" ", maxBytes+1):             ErrSyntax,
	} {
		s, err := opacus(text)
		assert.ErrorIs(t, err, want, shorten(text))
		assert.Zero(t, s)
	}
}

func TestReadErrorsPass(t *testing.T) {
	_, err := Opacus(failing{})
	assert.ErrorIs(t, err, os.ErrClosed)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, os.ErrClosed }

func fuzzSchedule(f *testing.F, read func(string) (accountant.Schedule, error)) {
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read(text)
		if err != nil {
			require.Zero(t, s)
			require.Less(t, len(err.Error()), 10_000)
			return
		}
		data := testkit.Must(json.Marshal(s)) // what was read can be written
		require.Equal(t, s, testkit.Must(accountant.ParseSchedule(data)))
	})
}

func FuzzDPAccounting(f *testing.F) {
	f.Add(everyClass)
	f.Add("[RandomizedResponseDpEvent(noise_parameter=0.25, num_buckets=4), SampledWithoutReplacementDpEvent(source_dataset_size=10, sample_size=2, event=ZCDpEvent(rho=1)),]")
	f.Add("dp_accounting.GaussianDpEvent(noise_multiplier=np.float32(1.1))")
	fuzzSchedule(f, dpAccounting)
}

func FuzzOpacus(f *testing.F) {
	f.Add("[(1.1, 0.004, 14062), (np.float64(0.9), 1e-3, 100)]")
	f.Add("[[0, 1, 0], [inf, -Infinity, None]]")
	fuzzSchedule(f, opacus)
}

// The history of an Opacus accountant, accounted again: noise multiplier, sampling rate and number of
// steps.
func ExampleOpacus() {
	schedule := testkit.Must(Opacus(strings.NewReader(`[(4.0, 0.01, 10000)]`)))
	bound := testkit.Must(accountant.Epsilon(context.Background(), accountant.ByRDP, schedule.Relation, 1e-5, schedule.Events...))
	fmt.Printf("%.4f\n", bound.Upper)
	// Output: 1.0354
}
