package accountant

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// oneOfEach is one of each type, the composite ones around several.
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

// Every event by every accountant under both relations: n separate composes, one compose of n, and one
// Repeated are the same account; asking in between changes nothing; a refusal is typed, gives a reason and
// charges nothing.
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
					b := epsAt(t, a, 1e-5)
					require.Zero(t, b.Upper)
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
						got := epsAt(t, other, delta)
						require.Equal(t, want, got, "%s %#v at %v", name, e, delta)
					}
				}
				held[name]++
			}
		}
	}
	t.Logf("events held, over both relations, of %d: %v", 2*len(oneOfEach()), held)
}

// What is bought by n is at least what is bought by one, at any delta, and an answer at delta is confirmed
// by the answer at that epsilon.
func TestAccountantsAreConsistent(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 1))
	all, names := oneOfEach(), []string{"basic", "advanced", "optimal"}
	for i := range 9 {
		if skipped(i/3, 3) {
			continue
		}
		rel := []Relation{AddRemove, ReplaceOne}[i%2]
		var events []Event
		for range 1 + rnd.IntN(3) {
			events = append(events, all[rnd.IntN(len(all))])
		}
		accounts := newAccounts(t, rel)
		for _, name := range []string{"rdp", "zcdp", names[i%3]} {
			a := accounts[name]
			for _, e := range events {
				_ = a.Compose(e, 1)
			}
			last := math.Inf(1)
			for _, delta := range []float64{0, 1e-300, 1e-6, 0.5} {
				b := epsAt(t, a, delta)
				require.LessOrEqual(t, b.Upper, last*(1+1e-3), "%s: epsilon falls as delta grows", name)
				last = b.Upper
			}
			b := epsAt(t, a, 1e-6)
			if math.IsInf(b.Upper, 1) {
				continue
			}
			d := deltaAt(t, a, b.Upper*(1+1e-7))
			require.LessOrEqual(t, d.Upper, 1e-6*(1+1e-5), name)
		}
	}
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

// The cost of asking does not depend on how a history was written down.
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
