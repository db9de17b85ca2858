package accountant

import (
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func riskOf(t testing.TB, events ...Event) *Risk {
	t.Helper()
	return testkit.Must(newAuto(t, AutoConfig{Relation: AddRemove}, events...).Risk(t.Context()))
}

func normalTPR(mu, fpr float64) float64 {
	return 0.5 * math.Erfc((math.Sqrt2*math.Erfinv(1-2*fpr)-mu)/math.Sqrt2)
}

// The law of Gaussian differential privacy, TPR = Phi(Phi^-1(fpr) + mu).
func TestRiskOfAGaussian(t *testing.T) {
	t.Parallel()
	for i, mu := range []float64{0.1, 0.5, 1, 3} {
		if skipped(i, 2) {
			continue
		}
		r := riskOf(t, Gaussian{1 / mu})
		for _, fpr := range []float64{0.001, 0.01, 0.1, 0.5, 0.9} {
			v := testkit.Must(r.TPR(fpr))
			want := normalTPR(mu, fpr)
			require.LessOrEqual(t, v.Lower, want)
			require.GreaterOrEqual(t, v.Upper, want)
			require.InDelta(t, want, v.Upper, 1e-6)
			require.InDelta(t, want, v.Lower, 1e-6)
			require.Equal(t, Interval{1 - v.Upper, 1 - v.Lower}, testkit.Must(r.Tradeoff(fpr)))
		}
		assert.InDelta(t, math.Erf(mu/2/math.Sqrt2), r.Advantage().Upper, 1e-9)
		assert.InDelta(t, mu, r.GDP().Mu, 1e-9)
		assert.Zero(t, r.GDP().Regret)
		assert.InDelta(t, (1+math.Erf(mu/2/math.Sqrt2))/2, testkit.Must(r.Right(0.5)).Upper, 1e-9)
	}
}

func TestRiskByRenyiIsNotBelowItsDeltas(t *testing.T) {
	t.Parallel()
	for _, e := range []Event{Gaussian{0.7}, sgd(0.05, 1, 200), WithFailure{PureDP{0.4}, 1e-4}} {
		account := newAuto(t, AutoConfig{Relation: AddRemove, Method: ByRDP}, e)
		r := testkit.Must(account.Risk(t.Context()))
		for i := range 400 {
			if skipped(i, 4) {
				continue
			}
			epsilon := 20 * math.Pow(float64(i)/400, 2)
			b := deltaAt(t, account, epsilon)
			require.GreaterOrEqual(t, r.worst(epsilon).Upper, b.Upper, "%v at %v", e, epsilon)
		}
	}
	r := testkit.Must(newAuto(t, AutoConfig{Relation: AddRemove, Method: ByRDP}, Gaussian{1}).Risk(t.Context()))
	for i := range 20 {
		fpr := (float64(i) + 0.5) / 20
		require.GreaterOrEqual(t, testkit.Must(r.TPR(fpr)).Upper, normalTPR(1, fpr))
	}
}

func TestDeltaIsBelowThatOfItsMu(t *testing.T) {
	t.Parallel()
	for _, events := range [][]Event{
		{PureDP{0.3}}, {PureDP{0.11}, PureDP{0.5}}, {Laplace{3}}, {RandomizedResponse{0.7}}, {Gaussian{2}, WithFailure{Composed{}, 1e-3}},
	} {
		r := riskOf(t, events...)
		gdp := r.GDP()
		require.GreaterOrEqual(t, gdp.Delta, r.only, "%v", events)
		for i := range 8000 {
			if skipped(i, 10) {
				continue
			}
			epsilon := float64(i) / 8192
			normal := testkit.Must(GaussianDelta(1/gdp.Mu, epsilon))
			require.LessOrEqual(t, r.worst(epsilon).Upper, normal+gdp.Delta, "%v at %v", events, epsilon)
		}
	}
}

// What the issue of a statement is: votes whose (epsilon, delta) is (2, 1e-5). One pair gives 88 % right
// guesses; the curve says less than 60.
func TestRiskOfVotesAtEpsilonTwo(t *testing.T) {
	t.Parallel()
	events := gnmaxVotes(49.9, 310)
	require.InDelta(t, 2, testkit.Must(Epsilon(t.Context(), ByAuto, AddRemove, 1e-5, events)).Upper, 0.02)
	r := riskOf(t, events)
	require.Equal(t, ByPLD, r.By)
	assert.LessOrEqual(t, testkit.Must(r.Right(0.5)).Upper, 0.6)
	assert.LessOrEqual(t, testkit.Must(r.TPR(0.01)).Upper, 0.035)
	mu := math.Sqrt(2*310) / 49.9
	for _, fpr := range []float64{0.001, 0.01, 0.1, 0.5} {
		v := testkit.Must(r.TPR(fpr))
		assert.LessOrEqual(t, v.Upper-v.Lower, 1e-4)
		assert.InDelta(t, normalTPR(mu, fpr), v.Upper, 2e-4)
	}
	gdp := r.GDP()
	assert.GreaterOrEqual(t, gdp.Mu, mu-1e-6)
	assert.InDelta(t, mu, gdp.Mu, 5e-3)
	assert.Less(t, gdp.Regret, 5e-3)
}

func TestRiskIsWithinOnePoint(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]Event{
		"sampled": {sgd(0.01, 1, 1000)},
		"laplace": {Repeated{LNMax{Scale: 40}, 30}},
		"failure": {WithFailure{PureDP{0.5}, 1e-3}, gnmaxVotes(40, 20)},
		"rdp":     {ZCDP{0.05}},
	} {
		r := riskOf(t, events...)
		account := newAuto(t, AutoConfig{Relation: AddRemove}, events...)
		for _, delta := range []float64{2e-3, 0.05} {
			b := epsAt(t, account, delta)
			for _, fpr := range []float64{0.001, 0.01, 0.1, 0.5} {
				v := testkit.Must(r.TPR(fpr))
				point := math.Min(math.Exp(b.Upper)*fpr+delta, 1-math.Exp(-b.Upper)*(1-delta-fpr))
				require.LessOrEqual(t, v.Lower, v.Upper)
				require.GreaterOrEqual(t, v.Lower, fpr-1e-12)
				if name != "rdp" { // sampled at points of its own
					require.LessOrEqual(t, v.Upper, point+2e-4, "%s at %v", name, fpr)
					require.LessOrEqual(t, v.Upper-v.Lower, 2.1e-3)
				}
			}
		}
		require.GreaterOrEqual(t, r.GDP().Mu, 0.0)
	}
	// With a chance of 1e-3 who took part is told; else a response of epsilon 1/2.
	fails := testkit.Must(riskOf(t, WithFailure{PureDP{0.5}, 1e-3}).TPR(0.01))
	require.GreaterOrEqual(t, fails.Upper, 1e-3+math.Exp(0.5)*0.01-1e-12)
	require.InDelta(t, 1e-3+math.Exp(0.5)*0.01, fails.Upper, 1e-5)
	none := riskOf(t)
	v := testkit.Must(none.TPR(0.25))
	require.InDelta(t, 0.25, v.Upper, 1e-9)
	all := riskOf(t, NonPrivate{})
	v = testkit.Must(all.TPR(0.01))
	require.InDelta(t, 1, v.Upper, 1e-9)
	require.True(t, math.IsInf(all.GDP().Mu, 1))
	for _, bad := range []float64{-1, 2, math.NaN()} {
		_, err := none.TPR(bad)
		require.Error(t, err)
		_, err = none.Right(bad)
		require.Error(t, err)
	}
}

func TestRiskSmallWorlds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(16, 2))
	for range Cases(enumerated, 500) / 2 { // 10,000 of them with -cases 20000
		type outcome struct{ p, q float64 }
		world := []outcome{{1, 1}}
		var events []Event
		for range 1 + rnd.IntN(3) {
			epsilon := rnd.Float64() * 2
			high := 1 / (1 + math.Exp(-epsilon))
			a, b := high, 1-high // of the first answer, under P and Q
			var e Event = PureDP{epsilon}
			if rnd.IntN(2) == 0 {
				share := rnd.Float64()
				a = (1-share)*b + share*a
				e = PoissonSampled{share, PureDP{epsilon}}
			}
			events = append(events, e)
			var next []outcome
			for _, o := range world {
				next = append(next, outcome{o.p * a, o.q * b}, outcome{o.p * (1 - a), o.q * (1 - b)})
			}
			world = next
		}
		r := riskOf(t, events...)
		fpr := rnd.Float64()
		if rnd.IntN(3) == 0 {
			fpr /= 100
		}
		prior := 0.01 + 0.98*rnd.Float64()
		best, guess, variation := 0.0, 0.0, 0.0
		for range 2 { // both orders
			sort.Slice(world, func(i, j int) bool { return world[i].p*world[j].q > world[j].p*world[i].q })
			left, found := fpr, 0.0
			right, apart := 0.0, 0.0
			for _, o := range world {
				take := math.Min(1, left/o.q)
				found += take * o.p
				left = math.Max(0, left-o.q)
				right += math.Max(prior*o.p, (1-prior)*o.q)
				apart += math.Max(0, o.p-o.q)
			}
			best, guess, variation = math.Max(best, found), math.Max(guess, right), math.Max(variation, apart)
			for i, o := range world {
				world[i] = outcome{o.q, o.p}
			}
		}
		inside := func(v Interval, truth float64, width float64) {
			t.Helper()
			if truth < v.Lower-1e-12 || truth > v.Upper+1e-12 || v.Upper-v.Lower > width {
				t.Fatalf("%v: %v is not in %v", events, truth, v)
			}
		}
		v := testkit.Must(r.TPR(fpr))
		inside(v, best, 1e-4)
		inside(r.Advantage(), variation, 1e-9)
		v = testkit.Must(r.Right(prior))
		inside(v, guess, 1e-9)
	}
}
